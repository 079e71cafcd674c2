"""What columns may be called: the names of each part, names that belong together, names that look like a response."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from nearer._utils.text import plain
from nearer.errors import InputError, Place, Suggestion

ALIASES: dict[str, tuple[str, ...]] = {
    "anchor": ("anchor", "i", "object", "probe", "reference", "head", "center", "centre"),
    "near": ("near", "nearer", "closer", "j", "winner", "positive"),
    "far": ("far", "farther", "further", "k", "loser", "negative"),
    "near_a": ("near_a", "i"),
    "near_b": ("near_b", "j"),
    "far_a": ("far_a", "l"),
    "far_b": ("far_b", "k"),
    # names that only say what was shown; who won is in the response
    "a": ("a", "first", "left", "option_a"),
    "b": ("b", "second", "right", "option_b"),
    "c": (),
    "odd": (
        *("odd", "odd_one", "odd_one_out", "odd_item", "odd_object", "odd_image", "odd_position"),
        *("odd_index", "odd_response", "odd_choice", "outlier"),
    ),
    "response": ("response", "responses", "answer"),
    "weight": ("weight", "weights", "count"),
    "annotator": (
        *("annotator", "annotators", "annotator_id", "worker", "worker_id", "participant", "participant_id"),
        *("subject", "subject_id"),
    ),
    "group": ("group", "groups", "screen", "screen_id", "trial", "trial_id"),
}
#: the anchor, if no column has one of the names above
MORE_ANCHORS = ("standard", "target", "sample", "query", "ref", "pivot", "cue")
#: the anchor, if it has neither: reference_image, imgtarget
ANCHOR_STEMS = ("anchor", "probe", "reference", "standard", "target", "sample", "query", "ref")
#: a response next to `a` and `b`; next to `near` and `far`, which say who won, it is ambiguous
CHOICES = ("choice", "chosen", "chose", "picked", "selected", "selection", "resp", "decision")
#: a response next to `a` and `b` only
PRESSES = (
    *("key", "keys", "key_press", "key_pressed", "keypress", "response_key", "button", "button_pressed"),
    *("button_press", "clicked", "pressed", "preferred", "preference", "judgment", "judgement", "pick"),
    *("user_response", "participant_response", "chosen_option", "chosen_image", "chosen_item", "choose"),
    *("chosen_object", "chosen_stimulus", "selected_option", "selected_image", "selected_item"),
)
#: what precedes or follows 1 and 2, a and b, left and right in the names of options
STEMS = (
    *("option", "choice", "stim", "stimulus", "image", "img", "item", "object", "obj", "alternative", "alt"),
    *(
        "candidate",
        "comparison",
        "picture",
        "pic",
        "photo",
        "word",
        "text",
        "sound",
        "audio",
        "video",
        "clip",
    ),
    *("face", "product", "card"),
)
#: names of the anchor that also say what it is: reference_image, stim_target
ANCHORS_WITH_STEMS = tuple(
    name for anchor in ANCHOR_STEMS for stem in STEMS for name in (anchor + stem, stem + anchor)
)
# `key_resp.keys` and `trial_resp_2.keys` of PsychoPy, without the signs between words
_PSYCHOPY = re.compile(r"\w*resp\w*keys|keyresp\d*|\w*clickedname")
_LIKE_RESPONSE = re.compile(
    r"resp|answer|choice|chosen|chose|choose|pick|select|decision|decid|judg|key|button|prefer|click|press|vote|verdict"
)
# `response_time`, `key_resp.rt`, `correct_response`, `ResponseId`: about a response, or something else
_ABOUT_RESPONSE = re.compile(
    r"time|rt$|^rt|latency|onset|duration|corr|acc$|id$|type|start|stop|error|count|keyword|monkey|allowed|valid"
)


def is_known(name: object) -> bool:
    """Return whether a cell is the name of some part, so that its row is a header rather than a comparison.

    >>> is_known("Near"), is_known("key_resp.keys"), is_known("coffee")
    (True, True, False)
    """
    word = plain(name)
    parts = {plain(alias) for aliases in ALIASES.values() for alias in aliases}
    return word in parts or word in MORE_ANCHORS or word in ANCHORS_WITH_STEMS or like_response(name)


def is_response(name: str, names: Sequence[str]) -> bool:
    """Return whether a plain name is one of these names of a response, or the one that PsychoPy uses.

    >>> is_response("keyresp2keys", CHOICES), is_response("keyresprt", CHOICES)
    (True, False)
    """
    return name in {plain(known) for known in names} or _PSYCHOPY.fullmatch(name) is not None


def like_response(name: object) -> bool:
    """Return whether a column may hold responses by its name; it need not.

    >>> like_response("My choice"), like_response("response_time"), like_response("date")
    (True, False, False)
    """
    return _LIKE_RESPONSE.search(plain(name)) is not None and not about_response(name)


def about_response(name: object) -> bool:
    """Return whether the name of a column speaks of times, identities, correctness and the like.

    >>> about_response("key_resp.rt"), about_response("key_resp.keys")
    (True, False)
    """
    return _ABOUT_RESPONSE.search(plain(name)) is not None


_SERIES = (
    ("1", "2", "3"),
    ("a", "b", "c"),
    ("i", "j", "k"),
    ("first", "second", "third"),
    ("left", "middle", "right"),
    ("left", "center", "right"),
)
_PAIRS = (*(series[:2] for series in _SERIES[:4]), ("left", "right"))


def series_of(names: Sequence[str], odd: int, place: Place | None) -> tuple[int, ...]:
    """Return the columns that differ in nothing but 1, 2, 3 or a, b, c and the like: three if there are, or two.

    >>> series_of(["trial", "image1", "image2", "image3", "odd"], 4, None)
    (1, 2, 3)
    """
    positions: dict[str, int] = {}
    for at, name in enumerate(names):
        positions.setdefault(name, at)
    for kinds in (_SERIES, _PAIRS):
        found = {
            tuple(positions[member] for member in members)
            for series in kinds
            for name in names
            for members in _members(name, series)
            if positions.keys() >= set(members)
        }
        found = {columns for columns in found if odd not in columns}
        if len(found) > 1:
            some, others = ([names[at] for at in columns] for columns in sorted(found)[:2])
            raise InputError(
                f"the columns {', '.join(some)} and {', '.join(others)} could both be the objects shown",
                [Suggestion("columns", dict.fromkeys(("a", "b", "c", "odd"), ...), "to choose")],
                place=place,
            )
        if found:
            return found.pop()
    return ()


def options_of(names: Sequence[str], free: Collection[int], place: Place | None) -> tuple[int, int] | None:
    """Return the two columns that are options by their names: option1 and option2, left_image and right_image.

    >>> options_of(["reference", "imageleft", "imageright", "rt1", "rt2"], range(5), None)
    (1, 2)
    """
    found = {
        (names.index(first), names.index(second))
        for pair in _PAIRS
        for stem in STEMS
        for first, second in ((stem + pair[0], stem + pair[1]), (pair[0] + stem, pair[1] + stem))
        if first in names and second in names
    }
    found = {pair for pair in found if set(pair) <= set(free)}
    if len(found) > 1:
        some, others = (" and ".join(names[at] for at in pair) for pair in sorted(found)[:2])
        raise InputError(
            f"the columns {some}, and {others}, could both be the options",
            [Suggestion("columns", dict.fromkeys(("a", "b", "response"), ...), "to choose")],
            place=place,
        )
    return found.pop() if found else None


def third_of(names: Sequence[str], first: int, second: int) -> int | None:
    """Return the column that completes a series with two others: option3 after option1 and option2.

    >>> third_of(["option1", "option2", "option3"], 0, 1), third_of(["a", "b"], 0, 1)
    (2, None)
    """
    for series in _SERIES:
        for members in _members(names[first], series):
            others = [member for member in members[1:] if member != names[second]]
            if len(others) == 1 and others[0] in names:
                return names.index(others[0])
    return None


def _members(name: str, series: Sequence[str]) -> list[list[str]]:
    """Return the names of a series that begins with this one: its members come at the end, or at the start."""
    first = series[0]
    at_end = [name.removesuffix(first) + member for member in series] if name.endswith(first) else []
    at_start = [member + name.removeprefix(first) for member in series] if name.startswith(first) else []
    return [members for members in (at_end, at_start) if members]
