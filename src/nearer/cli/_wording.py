"""Errors and warnings of the library in terms of a command's options."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping

from nearer.errors import Explained, Suggestion

#: settings whose options have other names
_RENAMED = {
    "n_components": "dim",
    "n_init": "restarts",
    "n_jobs": "jobs",
    "max_rank": "rank",
    "random_state": "seed",
    "seconds": "search",
}
#: settings of the commands that read any table, and what stands for a value to fill in
_READING = frozenset(("columns", "codes", "coding", "zero", "first_index", "invalid", "header"))
_TO_FILL_IN = {
    **dict.fromkeys(("columns", "left", "right", "user", "item", "tag", "weight", "time"), "COLUMN"),
    **{"codes": "CODE", "at_least": "NUMBER"},
}


def in_options(message: object, options: Collection[str]) -> str:
    """Word an error or a warning for a command; leave out settings for which it has no option.

    >>> from nearer.errors import InputError
    >>> error = InputError("row 3 is empty", remedy=["correct it", Suggestion("invalid", "drop", "to leave it out")])
    >>> in_options(error, ["--invalid"])
    'row 3 is empty; correct it, or pass --invalid drop to leave it out'
    >>> in_options(error, ["--columns"])
    'row 3 is empty; correct it'
    >>> in_options(InputError("must be above 0, not 0", parameter="max_seconds"), ["--max-seconds"])
    '--max-seconds must be above 0, not 0'
    """
    if not isinstance(message, Explained):
        return str(message)
    settings = {step.name for step in message.remedy if isinstance(step, Suggestion)} | {message.parameter}
    reading = {_option(name) for name in _READING}
    if settings & _READING and not reading & set(options):
        return f"{message.sentence(_AsTyped(reading))} (options of nearer convert: convert the file first)"
    return message.sentence(_AsTyped(options))


class _AsTyped:
    """Words parameters and settings as the options of a command."""

    def __init__(self, options: Collection[str]) -> None:
        self._options = options

    def parameter(self, name: str) -> str:
        """Return the option, or the name of a parameter that has none."""
        return _option(name) if _option(name) in self._options else name

    def setting(self, setting: Suggestion) -> str | None:
        """Return the option with its value, None if there is no such option."""
        option = _option(setting.name)
        if option not in self._options:
            return None
        if isinstance(setting.value, bool):
            return option if setting.value else option.replace("--", "--no-", 1)
        return f"{option} {shlex.quote(_typed(setting))}"


def _option(name: str) -> str:
    return "--" + _RENAMED.get(name, name).replace("_", "-")


def _typed(setting: Suggestion) -> str:
    """Return the value as it is typed.

    >>> _typed(Suggestion("columns", {"anchor": 0, "response": "my choice", "a": ...}))
    'anchor=0,response=my choice,a=COLUMN'
    """
    blank = _TO_FILL_IN.get(setting.name, "...")
    if not isinstance(setting.value, Mapping):
        return blank if setting.value is ... else str(setting.value)
    return ",".join(f"{part}={blank if entry is ... else entry}" for part, entry in setting.value.items())
