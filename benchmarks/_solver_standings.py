"""Who wins a problem of `solver_map`, and by how much."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks._solver_fits import RIVALS
from benchmarks._tables import Number, median

Rows = list[dict[str, Any]]
Found = dict[str, dict[str, Any]]

#: held-out error above the lowest that does not matter
ENOUGH = 0.002
#: share above the lowest objective that counts as reaching it
NEAR = 0.01


class Size(NamedTuple):
    """A problem apart from its seed."""

    loss: str
    l2: float
    p: int
    n: int
    per: int


@dataclass(frozen=True)
class Standing:
    """How one solver fared on one problem, over the seeds."""

    seconds: float
    timed_out: bool
    evaluations: float
    error: float
    accurate: bool
    above: float  # objective at the end, relative to the lowest that any solver reached
    closer_error: Number  # of the run to the smaller tolerance, with its seconds
    closer_seconds: Number
    until_near: Number


class Win(NamedTuple):
    """The winner, the second, and the time of the second divided by that of the winner; None without a second."""

    name: str
    second: str | None
    lead: Number
    at_least: bool  # the second was ended before it had finished


def problems(rows: Rows) -> dict[Size, dict[str, Standing]]:
    """Return the standings of every problem, in the order of the rows."""
    found: dict[Size, list[Found]] = {}
    for row in rows:
        if "busy" not in row["cell"]:
            size = Size(*(row["cell"][name] for name in Size._fields))
            found.setdefault(size, []).append(row["results"])
    return {size: _standings(results) for size, results in found.items()}


def _standings(results: list[Found]) -> dict[str, Standing]:
    names = [name for name in RIVALS if all(name in one for one in results)]
    errors = {name: np.array([one[name]["error"] for one in results]) for name in names}
    best = min(names, key=lambda name: float(errors[name].mean()))
    lowest = [_lowest(one) for one in results]
    return {
        name: Standing(
            seconds=_middle(one[name]["seconds"] for one in results),
            timed_out=any(one[name]["ended"] == "time-out" for one in results),
            evaluations=_middle(one[name]["evaluations"] for one in results),
            error=float(errors[name].mean()),
            accurate=_accurate(errors[name], errors[best]),
            above=_middle(one[name]["objective"] / low - 1 for one, low in zip(results, lowest, strict=True)),
            closer_error=_mean(one[name].get("closer", {}).get("error") for one in results),
            closer_seconds=median(one[name].get("closer", {}).get("seconds") for one in results),
            until_near=median(
                _until(one[name]["near"], (1 + NEAR) * low) for one, low in zip(results, lowest, strict=True)
            ),
        )
        for name in names
    }


def _lowest(results: Found) -> float:
    ends = [min(one["objective"], one.get("closer", one)["objective"]) for one in results.values()]
    return min(ends)


def _until(near: list[list[float]], target: float) -> Number:
    return next((seconds for seconds, value in near if value <= target), None)


def _accurate(errors: np.ndarray, best: np.ndarray, held_out: int = 5000) -> bool:
    """Return whether the errors are within the larger of `ENOUGH` and one standard error of the difference.

    One seed tells nothing about the scatter between seeds; then the held-out answers alone count.

    >>> _accurate(np.array([0.101, 0.102]), np.array([0.1, 0.1]))
    True
    >>> _accurate(np.array([0.121, 0.122]), np.array([0.1, 0.1]))
    False
    """
    apart = errors - best
    if len(apart) > 1:
        spread = float(apart.std(ddof=1)) / math.sqrt(len(apart))
    else:
        spread = math.sqrt(float(best[0]) * (1 - float(best[0])) / held_out)
    return float(apart.mean()) <= max(ENOUGH, spread)


def _middle(values: Iterable[float]) -> float:
    return float(np.median(list(values)))


def _mean(values: Iterable[float | None]) -> Number:
    numbers = list(values)
    return None if None in numbers else float(np.mean(numbers))  # type: ignore[arg-type]


def quickest(standings: dict[str, Standing]) -> Win | None:
    """Return who is quickest among those that are accurate enough; None if none of them finished."""
    times = {name: one.seconds for name, one in standings.items() if one.accurate}
    finished = [name for name in times if not standings[name].timed_out]
    if not finished:
        return None
    return _win(min(finished, key=lambda name: times[name]), times, standings)


def closer_is_better(standings: dict[str, Standing]) -> bool:
    """Return whether L-BFGS to the smaller tolerance is as accurate as a winner other than L-BFGS, and quicker."""
    win, ours = quickest(standings), standings["L-BFGS"]
    if win is None or win.name == "L-BFGS" or ours.closer_error is None or ours.closer_seconds is None:
        return False
    best = standings[win.name]
    return ours.closer_error <= best.error + ENOUGH and ours.closer_seconds < best.seconds


def times_of_lbfgs(found: Iterable[dict[str, Standing]], name: str) -> list[float]:
    """Return the CPU time of a solver divided by that of L-BFGS, for each problem on which both finished."""
    return [
        one[name].seconds / one["L-BFGS"].seconds
        for one in found
        if name in one and not one[name].timed_out and not one["L-BFGS"].timed_out
    ]


def first_near(standings: dict[str, Standing]) -> Win | None:
    """Return who first comes within 1% of the lowest objective; None if nobody does in most seeds."""
    times = {name: one.until_near for name, one in standings.items() if one.until_near is not None}
    if not times:
        return None
    return _win(min(times, key=lambda name: times[name]), times, {})


def _win(first: str, times: dict[str, float], standings: dict[str, Standing]) -> Win:
    others = {name: seconds for name, seconds in times.items() if name != first}
    if not others:
        return Win(first, None, None, False)
    second = min(others, key=lambda name: others[name])
    ended = second in standings and standings[second].timed_out
    return Win(first, second, others[second] / times[first], ended)


def words(win: Win | None) -> str:
    """Return a win in a few words.

    >>> words(Win("L-BFGS", "TNC", 2.345, False)), words(Win("TNC", None, None, False)), words(None)
    ('L-BFGS 2.3', 'TNC only', 'none')
    """
    if win is None:
        return "none"
    if win.lead is None:
        return f"{win.name} only"
    return f"{win.name} {'over ' if win.at_least else ''}{win.lead:.1f}"
