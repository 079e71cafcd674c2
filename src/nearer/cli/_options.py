"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import StrEnum
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer._utils.text import one_of
from nearer.errors import InputError, Suggestion
from nearer.registry import BY_MODEL, Registration

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons


class Invalid(StrEnum):
    """What to do with rows that are not valid comparisons."""

    error = "error"
    drop = "drop"


class Zero(StrEnum):
    """What a response of 0 means."""

    undecided = "undecided"
    second = "second"


class Coding(StrEnum):
    """What a response is."""

    signs = "signs"
    position = "position"
    object = "object"


class IdsAre(StrEnum):
    """What whole numbers in a file of pairs are."""

    indices = "indices"
    names = "names"


class Repeated(StrEnum):
    """What to do with a pair that occurs again."""

    sum = "sum"
    last = "last"
    refuse = "refuse"
    merge = "merge"


_pairs = partial(
    typer.Option, rich_help_panel="Reading pairs and posts (towers, links, tags)", show_default=False
)
_rows = partial(typer.Option, rich_help_panel="Reading rows (labels, metrics)", show_default=False)
_reading = partial(typer.Option, rich_help_panel="Reading", show_default=False)
AnswersFile = Annotated[
    Path,
    typer.Argument(
        metavar="ANSWERS",
        show_default=False,
        help="csv, tsv, parquet, jsonl or npz. Columns: anchor, near, far; near_a, near_b, far_a, far_b; "
        "anchor, a, b, response; a, b, odd; or a, b, c, odd. Objects are indices from 0, or names. "
        "For towers and links: user, item and the like, with a weight or rating and a time if there are any. "
        "For labels and metrics: a row of features each, and labels. For tags: user, item, tag.",
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", show_default=False, help="A file that `nearer fit` wrote.")
]
InvalidRows = Annotated[
    Invalid,
    _reading(
        "--invalid",
        show_default=True,
        help="Rows that compare an object with itself or lack one: refuse the file, or drop them.",
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, help="Seed of every random draw; same seed, same result.")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Without --out: replace the file of the default name if it exists.")
]
Columns = Annotated[
    str | None,
    _reading("--columns", help="Columns with other names, or positions from 0: anchor=city,near=1,far=2."),
]
Header = Annotated[
    bool | None,
    _reading(
        "--header/--no-header", help="Whether a text file starts with column names; detected by default."
    ),
]
ResponseCoding = Annotated[
    Coding | None,
    _reading(
        "--coding", help="What responses are if this is ambiguous: 1 and -1, 1 and 2, or the object itself."
    ),
]
ResponseCodes = Annotated[
    str | None,
    _reading(
        "--codes",
        help="Codes of the first and the second option, if responses are keys, buttons or numbers from 0: "
        "first=0,second=1 (also undecided=...; for odd ones out also third=...).",
    ),
]
FirstIndex = Annotated[
    int | None,
    _reading(
        "--first-index",
        min=0,
        max=1,
        help="The number of the first object in a file of indices; 0 by default.",
    ),
]
ZeroMeans = Annotated[
    Zero | None,
    _reading(
        "--zero",
        help="What a response of 0 means if all are 0 or 1: undecided, or that the second is nearer.",
    ),
]

LeftColumn = Annotated[
    str | None, _pairs("--left", metavar="<column>", help="Column of the users, or its position from 0.")
]
RightColumn = Annotated[
    str | None, _pairs("--right", metavar="<column>", help="Column of the items, or its position from 0.")
]
WeightColumn = Annotated[
    str | None, _pairs("--weight", metavar="<column>", help="Column of counts or ratings.")
]
TimeColumn = Annotated[str | None, _pairs("--time", metavar="<column>", help="Column of times.")]
WhatIds = Annotated[
    IdsAre | None, _pairs("--ids", help="Whether whole numbers are indices from 0, or names such as ids.")
]
RepeatedPairs = Annotated[
    Repeated | None,
    _pairs(
        "--duplicates",
        help="A pair given again: add its weights, keep the latest, or refuse the file. For tags: merge or refuse.",
    ),
]
AtLeast = Annotated[
    float | None, _pairs("--at-least", help="Keep only pairs with this weight or rating; each counts once.")
]
UserColumn = Annotated[
    str | None, _pairs("--user", metavar="<column>", help="Column of the users of posts, or its position.")
]
ItemColumn = Annotated[
    str | None, _pairs("--item", metavar="<column>", help="Column of the items of posts, or its position.")
]
TagColumn = Annotated[
    str | None, _pairs("--tag", metavar="<column>", help="Column of the tags of posts, or its position.")
]
LabelsIn = Annotated[
    str | None,
    _rows(
        "--labels",
        metavar="<columns>",
        help="Columns of labels: one with the label of each row, or several with 0 and 1, such as 'sad,happy,mood_*'.",
    ),
]
Separator = Annotated[
    str | None,
    _rows(
        "--separator",
        metavar="<text>",
        help="What stands between several labels in a cell; '' if each cell holds one.",
    ),
]
Ignore = Annotated[
    str | None, _rows("--ignore", metavar="<columns>", help="Columns that are neither features nor labels.")
]
FeaturesIn = Annotated[
    Path | None,
    _rows(
        "--features",
        help="Features in a file of their own, with names or indices in the first column. Text becomes categories.",
    ),
]


def typed_options(context: typer.Context) -> dict[str, str]:
    """Return the options that the user typed, by the names of their parameters."""
    return {
        parameter.name or "": parameter.opts[0]
        for parameter in context.command.params
        if getattr(context.get_parameter_source(parameter.name or ""), "name", "") == "COMMANDLINE"
    }


def refuse_idle(context: typer.Context, *rules: tuple[bool, Collection[str], str]) -> None:
    """Refuse options that were typed but would have no effect.

    A rule is: whether its options have no effect, the names of their parameters, and the advice for the error.
    """
    typed = typed_options(context)
    for idle, names, advice in rules:
        option = next((typed[name] for name in names if name in typed), None)
        if idle and option is not None:
            raise InputError(f"{option} {advice}")


def refuse_options_of_others(context: typer.Context, model: str, holder: str | None = None) -> None:
    """Refuse options that only other models have; `holder` describes a model file."""
    for option, models in models_with().items():
        advice = f"is for --model {one_of(models)}, not {holder or model}: leave it out"
        refuse_idle(context, (model not in models, [option], advice))


def models_with(reading: bool = True) -> dict[str, list[str]]:
    """Return the models that have an option, for all options that not every model has."""
    found: dict[str, list[str]] = {}
    for model, row in BY_MODEL.items():
        for option in dict.fromkeys((*row.options.values(), *(row.reading if reading else ()))):
            found.setdefault(option, []).append(model)
    return found


def own_command(row: Registration, command: str) -> Callable[..., None] | None:
    """Return what a command does with a model if it is not the usual: a function of the context and the model."""
    if row.cli is None:
        return None
    found: Callable[..., None] | None = getattr(import_module(f"nearer.cli.{row.cli}"), command, None)
    return found


def column_of(text: str | None) -> str | int | None:
    """Return the name of a column, or its position, from the text of an option.

    >>> column_of("2"), column_of("city")
    (2, 'city')
    """
    return int(text) if text is not None and text.isdecimal() else text


def parse_columns(text: str | None) -> dict[str, str | int] | None:
    """Return the `columns` of `Comparisons.read` from the text of the option.

    >>> parse_columns("anchor=city,near=1,far=2")
    {'anchor': 'city', 'near': 1, 'far': 2}
    """
    if text is None:
        return None
    mapping: dict[str, str | int] = {}
    for part in text.split(","):
        role, equals, column = part.partition("=")
        if not (role.strip() and equals and column.strip()):
            raise InputError(f"--columns {text!r}: write role=column pairs such as anchor=city,near=a,far=b")
        mapping[role.strip()] = int(column) if column.strip().isdigit() else column.strip()
    return mapping


def parse_codes(text: str | None) -> dict[str, list[str]] | None:
    """Return the `codes` of `Comparisons.read` from the text of the option; an answer may have several.

    >>> parse_codes("first=f,first=left,second=j")
    {'first': ['f', 'left'], 'second': ['j']}
    """
    if text is None:
        return None
    codes: dict[str, list[str]] = {}
    for part in text.split(","):
        answer, equals, code = part.partition("=")
        if not (answer.strip() and equals and code.strip()):
            raise InputError(f"--codes {text!r}: write answer=code pairs such as first=f,second=j")
        codes.setdefault(answer.strip(), []).append(code.strip())
    return codes


def read_answers(
    path: Path,
    columns: str | None,
    header: bool | None,
    coding: Coding | None,
    zero: Zero | None,
    codes: str | None,
    first_index: int | None,
    invalid: Invalid,
    **about: Any,
) -> Comparisons:
    """Return the comparisons of a file; `about` holds the names and the number of objects if they are known."""
    from nearer.comparisons import Comparisons

    return Comparisons.read(
        path,
        columns=parse_columns(columns),
        header=header,
        coding=None if coding is None else coding.value,
        zero=None if zero is None else zero.value,
        codes=parse_codes(codes),
        first_index=first_index,
        invalid=invalid.value,
        **about,
    )


def split_of(data: Any, share: float | None, seed: int, path: Path) -> tuple[Any, Any | None]:
    """Divide answers, pairs or posts of a file into what to learn from and what to hold out; None for nothing."""
    if share == 0:
        return data, None
    try:
        return data.split(share, random_state=seed)
    except InputError as error:
        remedy = [*error.remedy, Suggestion("test_size", 0, "to fit to all of them")]
        raise error.within(path).but(remedy=remedy) from None
