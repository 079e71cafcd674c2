"""Ambiguous columns: errors with the settings that resolve it, and a warning about unused responses."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from nearer._utils.text import plain, warn
from nearer.comparisons.files.column_names import ALIASES, about_response, like_response, options_of
from nearer.comparisons.files.named_columns import listed
from nearer.comparisons.responses import WORDS
from nearer.comparisons.validation import is_missing
from nearer.errors import InputError, InputWarning, Place, Suggestion

if TYPE_CHECKING:
    from nearer.comparisons.files.columns import Layout

_WHO_IS_NEARER = "if one column holds the nearer object and another the farther one"
_WHICH_OF_TWO = "says which of two options was chosen"
_WHICH_OF_THREE = "says which of three objects is the odd one"
_QUESTION, _TRIO = ("anchor", "a", "b", "response"), ("a", "b", "c", "odd")
# a name with such characters cannot be typed as it is: its position is given instead
_UNWIELDY = re.compile(r"[,={}'\"\\\n]|^\d*$|^\s|\s$")


def columns_setting(header: Sequence[object], where: Mapping[str, int | None], purpose: str) -> Suggestion:
    """Return the setting that says where the parts are; None stands for what the user must fill in.

    >>> columns_setting(["x", "my, choice"], {"anchor": 0, "a": None, "response": 1}, "").value
    {'anchor': 'x', 'a': Ellipsis, 'response': 1}
    """
    return Suggestion("columns", {role: _entry(header, at) for role, at in where.items()}, purpose)


def _entry(header: Sequence[object], at: int | None) -> str | int | EllipsisType:
    if at is None:
        return ...
    name = header[at] if header else at
    return name if isinstance(name, str) and not _UNWIELDY.search(name) else at


def responses_among(header: Sequence[object], used: Collection[int]) -> list[int]:
    """Return the columns that may hold responses by their names: neither used already nor one of two options.

    >>> responses_among(["x", "choice1", "choice2", "my choice"], [0])
    [3]
    """
    try:
        options = options_of([plain(name) for name in header], range(len(header)), None) or ()
    except InputError:
        options = ()
    return [at for at, name in enumerate(header) if at not in (*used, *options) and like_response(name)]


def unknown_columns(header: Sequence[object], known: Mapping[str, int]) -> InputError:
    """Return the error for a header that names no comparisons; some parts of a question may be known."""
    problem = f"the columns {listed(header)} are not anchor, near, far or near_a, near_b, far_a, far_b"
    likely = responses_among(header, known.values())
    answer = likely[0] if len(likely) == 1 else None
    who = "a column" if answer is None else f"the column {header[answer]!r}"
    parts = {role: known.get(role) for role in _QUESTION[:3]}
    question = columns_setting(header, {**parts, "response": answer}, f"if {who} {_WHICH_OF_TWO}")
    trio = columns_setting(
        header,
        dict.fromkeys(_TRIO) | {"odd": answer},
        f"if {'it' if likely else 'a column'} {_WHICH_OF_THREE}",
    )
    if likely:
        return InputError(problem, [question, trio])
    nearer = columns_setting(
        header, {"anchor": known.get("anchor"), "near": None, "far": None}, _WHO_IS_NEARER
    )
    if len(header) > 3:
        return InputError(problem, [nearer, question, trio])
    pair = columns_setting(
        header, dict.fromkeys(("a", "b", "odd")), "if one holds the odd one of three objects"
    )
    return InputError(problem, [nearer, pair])


def no_names(width: int) -> InputError:
    """Return the error for a table without names that is not as wide as comparisons are."""
    problem = f"{width} columns without names, where triplets have 3 and quadruplets 4"
    if width < 3:
        return InputError(problem, "separate the cells by tabs, commas, semicolons or blanks")
    return InputError(
        f"{problem} (positions count from 0)",
        [
            "name the columns",
            columns_setting((), dict.fromkeys(("anchor", "near", "far")), _WHO_IS_NEARER),
            columns_setting((), dict.fromkeys(_QUESTION), f"if a column {_WHICH_OF_TWO}"),
            columns_setting((), dict.fromkeys(_TRIO), f"if a column {_WHICH_OF_THREE}"),
        ],
    )


def no_response(header: Sequence[object], objects: Sequence[int], unused: Sequence[int]) -> InputError:
    """Return the error for a question whose answer is in no column that is known by its name."""
    anchor, first, second = objects
    likely = [at for at in responses_among(header, objects) if at in unused]
    answer = likely[0] if len(likely) == 1 else None
    who = "another column" if answer is None else f"the column {header[answer]!r}"
    where = dict(zip(_QUESTION, (*objects, answer), strict=True))
    question = columns_setting(header, where, f"if {who} says which was chosen")
    problem, add = f"the column {header[first]!r} does not say who won", "add a column 'response'"
    if likely:
        return InputError(problem, [question, add])
    nearer = columns_setting(
        header,
        {"anchor": anchor, "near": first, "far": second},
        f"if {header[first]!r} holds the nearer one in every row",
    )
    return InputError(problem, [add, *([question] if unused else []), nearer])


def three_options(header: Sequence[object], objects: Sequence[int], response: int) -> InputError:
    """Return the error for a question with three options, of which the response may name the third."""
    anchor, *options = objects
    shown = ", ".join(repr(header[at]) for at in options)
    where = dict(zip(_QUESTION, (anchor, *options[:2], response), strict=True))
    return InputError(
        f"the columns {shown} may be three options, but a question has two",
        [
            "build such trials with Comparisons.from_choices",
            columns_setting(header, where, "if only the first two were options"),
        ],
    )


def two_that_tell(header: Sequence[object], where: Mapping[str, int], choice: int) -> InputError:
    """Return the error for a column that may be a response, next to columns that say who won."""
    *_, first, second = (where[role] for role in where if role in ("near", "far", "near_a", "far_a"))
    return InputError(
        f"the column {header[choice]!r} may say who won, but so do {header[first]!r} and {header[second]!r}",
        [
            columns_setting(
                header, {**where, "response": choice}, f"if {header[choice]!r} says which was chosen"
            ),
            columns_setting(header, where, f"if {header[first]!r} holds the nearer one in every row"),
        ],
    )


def response_not_used(header: Sequence[object], objects: Sequence[int], response: int) -> InputWarning:
    """Return the warning about a column that looks like a response, if other columns say who won."""
    roles = _QUESTION[:3] if len(objects) == 3 else ("near_a", "near_b", "far_a", "far_b")
    where = {**dict(zip(roles, objects, strict=True)), "response": response}
    return InputWarning(
        f"the column {header[response]!r} looks like a response, but it is not used: {header[objects[1]]!r} counts "
        "as nearer in every row",
        [columns_setting(header, where, f"if {header[response]!r} says which was chosen")],
    )


def fourth_column(values: Sequence[str]) -> InputError:
    """Return the error for four columns without names, the last of which looks like a response, not an object."""
    question, trio, pairs = (
        columns_setting((), dict(zip(parts, range(4), strict=True)), purpose)
        for parts, purpose in (
            (_QUESTION, f"if it {_WHICH_OF_TWO}"),
            (_TRIO, f"if it {_WHICH_OF_THREE}"),
            (("near_a", "near_b", "far_a", "far_b"), "if every row holds two pairs, the nearer one first"),
        )
    )
    some = ", ".join(values[:3]) + (", ..." if len(values) > 3 else "")
    return InputError(
        f"the last of four columns without names ({some}) looks like a response",
        [question, *([trio] if len(values) > 2 else []), pairs],
    )


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


def warn_of_unused(layout: Layout, columns: Mapping[str, str | int] | None, rows: Rows, source: str) -> None:
    """Warn if columns are said to hold the winner, but an unused one looks like the response; `rows` are a sample."""
    sample = list(islice(rows, SAMPLE_ROWS))
    for at in layout.unused:
        if _looks_like_response(layout, columns or {}, sample, at):
            warn(response_not_used(layout.header, layout.objects, at).within(source))
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
    """Return whether cells say left or right, are keys, name the options' columns, or are 0, 1 or 2."""
    words = {*WORDS, *_KEYS, *(option.lower() for option in options)}
    other = about_response(name) or _OTHER_NUMBERS.search(plain(name))
    return codes <= words or (codes in _NUMBERS and not other)


def _text(cell: Any) -> str:
    return "" if is_missing(cell) else str(cell).strip().removesuffix(".0")


def refuse_hidden_response(rows: Rows, place: Place | None) -> None:
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
        raise fourth_column(last).but(place=place)
