"""Columns that look like responses and are not read as such."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from nearer._utils.text import warn
from nearer.comparisons.files import remedies
from nearer.comparisons.files.column_names import ALIASES, about_response, like_response, plain
from nearer.comparisons.files.columns import Layout
from nearer.comparisons.responses import WORDS
from nearer.comparisons.row_errors import is_missing
from nearer.errors import InputError

SAMPLE_ROWS = 1000
_MOST_CODES = 4
#: names of columns that say who won; j and k are just letters
_TELLING = {plain(name) for role in ("near", "far", "near_a", "far_b") for name in ALIASES[role]} - set(
    "ijkl"
)
_KEYS = frozenset(("f", "j", "q", "p", "z", "m", "x", "n", "s", "l", "d", "k", "arrowleft", "arrowright"))
_NUMBERS = ({"0", "1"}, {"1", "2"}, {"-1", "1"}, {"0", "1", "2"}, {"-1", "0", "1"})
_OTHER_NUMBERS = re.compile(
    r"block|session|cond|corr|acc|gender|sex|age|pract|catch|attention|list|version|phase|day|run|rep|group|trial|id$|order|no$"
)

Rows = Iterable[Sequence[Any]]


def warn_of_unused(
    layout: Layout, columns: Mapping[str, str | int] | None, rows: Callable[[], Rows], source: str
) -> None:
    """Warn where columns are said to tell who won, but another one looks like the response; `rows` are a sample."""
    if layout.response is not None or layout.odd_one_out or not layout.header:
        return
    used = set(layout.roles.values())
    unused = [at for at in range(len(layout.header)) if at not in used]
    if not unused:
        return
    sample = list(islice(rows(), SAMPLE_ROWS))
    for at in unused:
        if _looks_like_response(layout, columns or {}, sample, at):
            warn(f"{source}: {remedies.response_not_used(layout.header, layout.objects, at)}")
            return


def _looks_like_response(
    layout: Layout, columns: Collection[str], sample: Sequence[Sequence[Any]], at: int
) -> bool:
    near, far = layout.objects[1], layout.objects[-1]
    width = max(near, far, at)
    cells = [(_text(row[near]), _text(row[far]), _text(row[at])) for row in sample if len(row) > width]
    cells = [one for one in cells if one[2]]
    if len(layout.objects) == 3 and len(cells) > 1 and all(said in options for *options, said in cells):
        return any(said == loser for _, loser, said in cells)
    header = [str(layout.header[position]) for position in (near, far)]
    codes = {said.lower() for *_, said in cells}
    if {plain(name) for name in header} <= _TELLING or not 0 < len(codes) <= _MOST_CODES:
        return False
    if like_response(layout.header[at]):
        return True
    by_hand = bool({"near", "far", "near_a", "far_a"} & set(columns))
    return by_hand and len(codes) > 1 and _are_codes(codes, header, layout.header[at])


def _are_codes(codes: set[str], options: Sequence[str], name: object) -> bool:
    """Whether cells say left or right, are keys, name the options' columns, or are 0, 1 or 2 of nobody knows what."""
    words = {*WORDS, *_KEYS, *(option.lower() for option in options)}
    other = about_response(name) or _OTHER_NUMBERS.search(plain(name))
    return codes <= words or (codes in _NUMBERS and not other)


def _text(cell: Any) -> str:
    return "" if is_missing(cell) else str(cell).strip().removesuffix(".0")


def refuse_hidden_response(rows: Rows, place: str) -> None:
    """Refuse four columns without names of which the last looks like a response: they are not two pairs.

    Either it holds a few codes that are no objects, or very few different ones among many, or always one of the
    three objects before it.
    """
    sample = [[_text(cell) for cell in row] for row in islice(rows, SAMPLE_ROWS) if len(row) == 4]
    last = list(dict.fromkeys(row[3] for row in sample if row[3]))
    others = {cell for row in sample for cell in row[:3] if cell}
    foreign = len(last) <= _MOST_CODES and not others & set(last)
    foreign &= len(sample) >= 6 or {word.lower() for word in last} <= WORDS.keys()
    few = len(last) <= 3 and len(sample) >= 20 and len(others) >= 8
    chosen = len(sample) >= 4 and all(row[3] in row[:3] for row in sample if row[3])
    if last and (foreign or few or chosen):
        raise InputError(f"{place}: {remedies.fourth_column(last)}")
