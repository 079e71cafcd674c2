"""Rows that survey tools put between the column names and the answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from nearer._utils.text import warn

#: how many rows below the header are looked at
LOOKED_AT = 3
_IMPORT_ID = re.compile(r"""\s*\{\s*['"]ImportId['"]\s*:""")


def n_survey_rows(rows: Iterable[Sequence[Any]]) -> int:
    """How many of the first rows are Qualtrics' own: the texts of the questions, then `{"ImportId": ...}` throughout.

    >>> n_survey_rows([["Which is nearer?"], ['{"ImportId":"QID1"}'], ["left"]])
    2
    >>> n_survey_rows([["left"], ["right"]])
    0
    """
    for at, row in enumerate(rows):
        if at < LOOKED_AT and any(isinstance(cell, str) and _IMPORT_ID.match(cell) for cell in row):
            return at + 1
    return 0


def warn_of_survey_rows(source: str, n_rows: int) -> None:
    """Say that rows were left out that are no answers."""
    which = "row" if n_rows == 1 else f"{n_rows} rows"
    warn(
        f"{source}: left out the first {which} below the column names, which {'holds' if n_rows == 1 else 'hold'} "
        "the question texts and import ids of Qualtrics, not answers"
    )
