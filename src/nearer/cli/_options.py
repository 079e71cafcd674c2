"""Arguments and options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer.errors import InputError

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons


class Invalid(StrEnum):
    """What to do with rows that cannot be comparisons."""

    error = "error"
    drop = "drop"


class Zero(StrEnum):
    """What a response of 0 says."""

    undecided = "undecided"
    second = "second"


READING = "Reading"
AnswersFile = Annotated[
    Path,
    typer.Argument(
        metavar="ANSWERS",
        show_default=False,
        help="csv, tsv, parquet, jsonl or npz: anchor, near, far (indices from 0, or names).",
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", show_default=False, help="A file that `nearer fit` wrote.")
]
InvalidRows = Annotated[
    Invalid,
    typer.Option(
        "--invalid",
        rich_help_panel=READING,
        help="Rows that compare an object with itself or lack one: refuse the file, or drop them.",
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, help="Seed of every random draw; same seed, same result.")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        show_default=False,
        rich_help_panel=READING,
        help="Columns with other names, or positions from 0: anchor=city,near=1,far=2.",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        show_default=False,
        rich_help_panel=READING,
        help="Whether a text file starts with column names; found out by default.",
    ),
]
ZeroMeans = Annotated[
    Zero | None,
    typer.Option(
        "--zero",
        show_default=False,
        rich_help_panel=READING,
        help="What a response of 0 says, where all are 0 or 1: nothing, or that the second is nearer.",
    ),
]


def parse_columns(text: str | None) -> dict[str, str | int] | None:
    """The mapping that `Comparisons.read` takes from what was typed.

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


def read_answers(
    path: Path, columns: str | None, header: bool | None, zero: Zero | None, invalid: Invalid, **about: Any
) -> Comparisons:
    """The comparisons of a file; `about` gives the names and the number of objects where they are known."""
    from nearer.comparisons import Comparisons

    return Comparisons.read(
        path,
        columns=parse_columns(columns),
        header=header,
        zero=None if zero is None else zero.value,
        invalid=invalid.value,
        **about,
    )
