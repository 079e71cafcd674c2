"""What to do about columns that leave a doubt: remedies as settings to copy, each with the case that it is for."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from nearer.comparisons.files.column_names import like_response, plain
from nearer.comparisons.files.numbered import options_of
from nearer.errors import InputError

_WHO_IS_NEARER = "if one column holds the nearer object and another the farther one"
_WHICH_OF_TWO = "says which of two options was chosen"
_WHICH_OF_THREE = "says which of three objects is the odd one"
# such a name cannot be typed as it is: its position is given instead
_UNWIELDY = re.compile(r"[,={}'\"\\\n]|^\d*$|^\s|\s$")


def listed(header: Sequence[object]) -> str:
    """The names of the columns, the first dozen of them."""
    return ", ".join(repr(name) for name in header[:12]) + (", ..." if len(header) > 12 else "")


def columns_setting(header: Sequence[object], where: Mapping[str, int | None]) -> str:
    """The setting that says where the parts are; None stands for what the user must fill in.

    >>> columns_setting(["x", "my, choice"], {"anchor": 0, "a": None, "response": 1})
    "columns={'anchor': 'x', 'a': ..., 'response': 1}"
    """
    entries = (f"{role!r}: {_entry(header, at)}" for role, at in where.items())
    return f"columns={{{', '.join(entries)}}}"


def _entry(header: Sequence[object], at: int | None) -> str:
    if at is None:
        return "..."
    name = header[at] if header else at
    return repr(name) if isinstance(name, str) and not _UNWIELDY.search(name) else str(at)


def responses_among(header: Sequence[object], used: Collection[int]) -> list[int]:
    """The columns that may hold responses by their names: neither used already nor one of two options.

    >>> responses_among(["x", "choice1", "choice2", "my choice"], [0])
    [3]
    """
    try:
        options = options_of([plain(name) for name in header], range(len(header)), "") or ()
    except InputError:
        options = ()
    return [at for at, name in enumerate(header) if at not in (*used, *options) and like_response(name)]


def unknown_columns(header: Sequence[object], known: Mapping[str, int]) -> str:
    """For a header that names no comparisons; some parts of a question may be known."""
    begin = f"the columns {listed(header)} are not anchor, near, far or near_a, near_b, far_a, far_b"
    likely = responses_among(header, known.values())
    told = likely[0] if len(likely) == 1 else None
    who = "a column" if told is None else f"the column {header[told]!r}"
    question = {"anchor": known.get("anchor"), "a": known.get("a"), "b": known.get("b"), "response": told}
    as_question = f"{columns_setting(header, question)} if {who} {_WHICH_OF_TWO}"
    trio = columns_setting(header, {"a": None, "b": None, "c": None, "odd": told})
    if likely:
        return f"{begin}; pass {as_question}, or {trio} if it {_WHICH_OF_THREE}"
    nearer = columns_setting(header, {"anchor": known.get("anchor"), "near": None, "far": None})
    if len(header) > 3:
        return (
            f"{begin}; pass {nearer} {_WHO_IS_NEARER}, {as_question}, or {trio} if a column {_WHICH_OF_THREE}"
        )
    pair = columns_setting(header, {"a": None, "b": None, "odd": None})
    return f"{begin}; pass {nearer} {_WHO_IS_NEARER}, or {pair} if one holds the odd one of three objects"


def no_names(width: int) -> str:
    """For a table without names that is not as wide as comparisons are."""
    begin = f"{width} columns without names, where triplets have 3 and quadruplets 4"
    if width < 3:
        return f"{begin}; separate the cells by tabs, commas, semicolons or blanks"
    nearer, question, trio = (
        columns_setting((), dict.fromkeys(parts))
        for parts in (("anchor", "near", "far"), ("anchor", "a", "b", "response"), ("a", "b", "c", "odd"))
    )
    return (
        f"{begin}; name the columns, or give their positions from 0: pass {nearer} {_WHO_IS_NEARER}, "
        f"{question} if a column {_WHICH_OF_TWO}, or {trio} if a column {_WHICH_OF_THREE}"
    )


def no_response(header: Sequence[object], objects: Sequence[int], unused: Sequence[int]) -> str:
    """For a question whose answer is in no column that is known by its name."""
    anchor, first, second = objects
    likely = [at for at in responses_among(header, objects) if at in unused]
    told = likely[0] if len(likely) == 1 else None
    who = "another column" if told is None else f"the column {header[told]!r}"
    question = columns_setting(header, {"anchor": anchor, "a": first, "b": second, "response": told})
    begin = f"the column {header[first]!r} does not say who won"
    if likely:
        return f"{begin}; pass {question} if {who} says which was chosen, or add a column 'response'"
    nearer = columns_setting(header, {"anchor": anchor, "near": first, "far": second})
    begin += "; add a column 'response'"
    begin += f", or pass {question} if {who} says which was chosen" if unused else ""
    return f"{begin}, or pass {nearer} if {header[first]!r} holds the nearer one in every row"


def three_options(header: Sequence[object], objects: Sequence[int], response: int) -> str:
    """For a question with three options, of which the response may name the third."""
    anchor, *options = objects
    shown = ", ".join(repr(header[at]) for at in options)
    where = {"anchor": anchor, "a": options[0], "b": options[1], "response": response}
    return (
        f"the columns {shown} may be three options, but a question has two; build such trials with "
        f"Comparisons.from_choices, or pass {columns_setting(header, where)} if only the first two were options"
    )


def two_that_tell(header: Sequence[object], where: Mapping[str, int], choice: int) -> str:
    """For a column that may be a response beside columns that say who won."""
    *_, first, second = (where[role] for role in where if role in ("near", "far", "near_a", "far_a"))
    return (
        f"the column {header[choice]!r} may say who won, but so do {header[first]!r} and {header[second]!r}; "
        f"pass {columns_setting(header, {**where, 'response': choice})} if {header[choice]!r} says which was chosen, "
        f"or {columns_setting(header, where)} if {header[first]!r} holds the nearer one in every row"
    )


def response_not_used(header: Sequence[object], objects: Sequence[int], response: int) -> str:
    """For a column that looks like a response where other columns were said to tell who won."""
    roles = ("anchor", "a", "b") if len(objects) == 3 else ("near_a", "near_b", "far_a", "far_b")
    where = {**dict(zip(roles, objects, strict=True)), "response": response}
    return (
        f"the column {header[response]!r} looks like a response, but it is not used: {header[objects[1]]!r} counts "
        f"as nearer in every row; pass {columns_setting(header, where)} if {header[response]!r} says which was chosen"
    )


def fourth_column(values: Sequence[str]) -> str:
    """For four columns without names, of which the last looks like a response rather than an object."""
    four = range(4)
    question, trio, pairs = (
        columns_setting((), dict(zip(parts, four, strict=True)))
        for parts in (
            ("anchor", "a", "b", "response"),
            ("a", "b", "c", "odd"),
            ("near_a", "near_b", "far_a", "far_b"),
        )
    )
    odd_one = f"{trio} if it {_WHICH_OF_THREE}, " if len(values) > 2 else ""
    some = ", ".join(values[:3]) + (", ..." if len(values) > 3 else "")
    return (
        f"the last of four columns without names ({some}) looks like a response; pass {question} "
        f"if it {_WHICH_OF_TWO}, {odd_one}or {pairs} if every row "
        "holds two pairs, the nearer one first"
    )
