"""Errors a user can act on: what is wrong, with which parameter, where, and what to do about it."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self


@dataclass(frozen=True)
class Place:
    """Where in the data a problem is.

    Attributes
    ----------
    file : str, optional
        The file, or the words for a table in memory, such as "the frame".
    line : int, optional
        The line of a text file, from 1.
    row : int, optional
        The row of a table or an array, from 0.
    column : str or int, optional
        The name of the column, or its position from 0.

    Examples
    --------
    >>> str(Place("answers.csv", line=3, column="near"))
    "answers.csv, line 3, column 'near'"
    """

    file: str | None = None
    line: int | None = None
    row: int | None = None
    column: str | int | None = None

    def __str__(self) -> str:
        parts = [
            self.file,
            None if self.line is None else f"line {self.line}",
            None if self.row is None else f"row {self.row} (counting from 0)",
            None if self.column is None else f"column {self.column!r}",
        ]
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True)
class Suggestion:
    """A setting that solves a problem; in its value, `...` stands for what the user must fill in.

    Attributes
    ----------
    name : str
        The name of the parameter.
    value : object
        The value to pass.
    purpose : str
        When to use it, or what it does: "if 0 stands for the first option", "to leave it out".
    verb : str
        How to use it.
    """

    name: str
    value: Any
    purpose: str = ""
    verb: str = "pass"


class Wording(Protocol):
    """How parameters and settings are written: in Python, or as options of a command."""

    def parameter(self, name: str) -> str:
        """Return the words for a parameter."""
        ...

    def setting(self, setting: Suggestion) -> str | None:
        """Return the words for a setting, None if it cannot be used here."""
        ...


class InPython:
    """Words parameters and settings as keyword arguments."""

    def parameter(self, name: str) -> str:
        """Return the name as it is."""
        return name

    def setting(self, setting: Suggestion) -> str:
        """Return a keyword argument.

        >>> InPython().setting(Suggestion("codes", {"first": 0, "second": ...}))
        "codes={'first': 0, 'second': ...}"
        """
        return f"{setting.name}={_literal(setting.value)}"


Remedy = Sequence[str | Suggestion]


class Explained:
    """The fields of errors and warnings about input."""

    problem: str
    parameter: str | None
    place: Place | None
    remedy: tuple[str | Suggestion, ...]

    def __init__(
        self,
        problem: str,
        remedy: str | Remedy = (),
        *,
        parameter: str | None = None,
        place: Place | str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(problem)  # type: ignore[call-arg]
        self.problem, self.parameter = problem, parameter
        self.place = place if place is None or isinstance(place, Place) else Place(os.fspath(place))
        self.remedy = (remedy,) if isinstance(remedy, str) else tuple(remedy)

    def __str__(self) -> str:
        return self.sentence(InPython())

    def sentence(self, wording: Wording) -> str:
        """Return one sentence: the place, the parameter with its problem, and what to do."""
        words = (
            self.problem if self.parameter is None else f"{wording.parameter(self.parameter)} {self.problem}"
        )
        advice = _advice(self.remedy, wording)
        words = f"{words}; {advice}" if advice else words
        return words if self.place is None else f"{self.place}: {words}"

    def within(self, file: object) -> Self:
        """Return a copy that names the file or table, unless a place already does."""
        if self.place is not None and self.place.file is not None:
            return self
        return self.but(place=replace(self.place or Place(), file=str(file)))

    def but(self, **fields: Any) -> Self:
        """Return a copy with other fields."""
        changed = copy.copy(self)
        changed.__dict__.update(fields)
        return changed


class InputError(Explained, ValueError):
    """Data or a setting that nearer cannot use; the message says what to do about it.

    Parameters
    ----------
    problem : str
        What is wrong; it continues the sentence that the parameter's name begins, if there is one.
    remedy : str or sequence of str and Suggestion, optional
        What to do, each entry an alternative.
    parameter : str, optional
        The parameter whose value is wrong.
    place : Place or path, optional
        Where in the data the problem is.

    Examples
    --------
    >>> automatic = Suggestion("l2", "auto", "to choose it")
    >>> error = InputError("must be 0 or more, not -1", parameter="l2", remedy=[automatic])
    >>> str(error)
    "l2 must be 0 or more, not -1; pass l2='auto' to choose it"
    >>> error.parameter, error.remedy[0].value
    ('l2', 'auto')
    """


class ModelFileError(InputError):
    """A model file that cannot be read: damaged, foreign, or from a newer version."""


class LostProcessError(Explained, RuntimeError):
    """Another process of a distributed fit has ended, or does not answer; it has the fields of `InputError`."""


class InputWarning(Explained, UserWarning):
    """Data that nearer can use, but perhaps not as intended; it has the fields of `InputError`."""


def _advice(remedy: Remedy, wording: Wording) -> str:
    """Word all alternatives; "pass" is said once for settings in a row."""
    parts: list[str] = []
    verb = ""
    for step in remedy:
        if isinstance(step, str):
            parts.append(step)
            verb = ""
        elif (words := wording.setting(step)) is not None:
            used = [
                *([step.verb] if step.verb != verb else []),
                words,
                *([step.purpose] if step.purpose else []),
            ]
            parts.append(" ".join(used))
            verb = step.verb
    return either(parts)


def either(parts: Sequence[str]) -> str:
    """Join alternatives.

    >>> either(["this"]), either(["this", "that"])
    ('this', 'this, or that')
    """
    return parts[0] if len(parts) == 1 else ", or ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def _literal(value: Any) -> str:
    """Write a value as in Python, `...` for what is to be filled in.

    >>> _literal({"a": ..., "b": [...]})
    "{'a': ..., 'b': [...]}"
    """
    if value is ...:
        return "..."
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_literal(entry)}' for key, entry in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return repr(value)
