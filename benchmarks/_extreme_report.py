"""Tables and figures of `extreme`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks._figures import grid, legend_below, log_scale, looks, tidy_chart
from benchmarks._tables import Table, checks, digits

Results = dict[str, dict[str, Any]]
#: targets: times faster than plain Newton to the first gap, and no slower than Adam to the last
FASTER = 3.0


def least(results: Results) -> float:
    """Return the lowest objective that any method reached."""
    return min(min(found["objective"]) for found in results.values())


def reached(results: Results, name: str, gap: float, column: str = "seconds") -> float | None:
    """Return the seconds or passes after which a method was within a relative gap of the lowest value.

    >>> results = {"a": {"seconds": [0.0, 1.0, 2.0], "objective": [9.0, 2.2, 2.0]}}
    >>> reached(results, "a", 0.1), reached(results, "a", 0.05)
    (1.0, 2.0)
    """
    wanted, found = least(results) * (1 + gap), results[name]
    return next(
        (
            at
            for at, value in zip(found[column], found["objective"], strict=True)
            if value <= wanted * (1 + 1e-12)
        ),
        None,
    )


def gap_after(results: Results, name: str, seconds: float) -> float:
    """Return the relative gap that a method had after some time.

    >>> results = {"a": {"seconds": [0.0, 1.0], "objective": [4.0, 3.0]}, "b": {"seconds": [0.0], "objective": [2.0]}}
    >>> gap_after(results, "a", 0.5)
    1.0
    """
    found = results[name]
    met = [value for at, value in zip(found["seconds"], found["objective"], strict=True) if at <= seconds]
    return (met[-1] if met else found["objective"][0]) / least(results) - 1


def faster(results: Results, gap: float, name: str, rival: str, column: str) -> tuple[float, bool] | None:
    """Return how many times sooner a method was within a gap than a rival, and whether the rival was there at all.

    If the rival never was, the number is a lower bound.
    """
    one, other = reached(results, name, gap, column), reached(results, rival, gap, column)
    if not one:
        return None
    return (results[rival][column][-1] if other is None else other) / one, other is not None


def faster_to_the_end_of(results: Results, name: str, rival: str) -> float:
    """Return in how many times fewer passes a method came as low as a rival ever did; 0 if it never did.

    >>> slow = {"passes": [1.0, 10.0], "objective": [9.0, 3.0]}
    >>> faster_to_the_end_of({"a": {"passes": [1.0, 5.0], "objective": [9.0, 2.0]}, "b": slow}, "a", "b")
    2.0
    """
    wanted = results[rival]["objective"][-1]
    times = [
        next(
            (at for at, value in zip(found["passes"], found["objective"], strict=True) if value <= wanted),
            None,
        )
        for found in (results[name], results[rival])
    ]
    return times[1] / times[0] if times[0] and times[1] else 0.0


def tables(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """Return the checks and a table per data set."""
    return [checks(_checks(rows, settings)), *(_table(row, settings) for row in rows)]


def _checks(
    rows: list[dict[str, Any]], settings: dict[str, Any]
) -> Iterator[tuple[str, str, str, bool | None]]:
    first, last = settings["gaps"][0], settings["gaps"][-1]
    for row in rows:
        results, data = row["results"], row["cell"]["data"]
        for gap, rival, target in ((first, "newton, plain", FASTER), (last, "full-adam", 1.0)):
            for column in ("seconds", "passes"):
                found = faster(results, gap, "newton", rival, column)
                what = f"{data}: {column} of {rival} to a gap of {gap:g} / of preconditioned Newton"
                if found is None:
                    yield what, f"at least {target:g}", "Newton was never there", False
                else:
                    shown = digits(found[0]) if found[1] else f"over {digits(found[0])}"
                    yield what, f"at least {target:g}", shown, found[0] >= target


def _table(row: dict[str, Any], settings: dict[str, Any]) -> Table:
    results, data = row["results"], row["cell"]["data"]
    seconds = settings["data"][data]["seconds"]
    table = Table(
        f"{data}: seconds (passes) to a relative gap",
        [
            "method",
            *(f"{gap:g}" for gap in settings["gaps"]),
            f"gap after {seconds} s",
            "best MAP@5",
            "passes per s",
        ],
        note=f"L* = {least(results):,.0f}. Ran {settings['times_longer']} times as long: "
        f"{'; '.join(settings['long'])}. A dash: never.",
    )
    for name, found in results.items():
        times = [
            (reached(results, name, gap), reached(results, name, gap, "passes")) for gap in settings["gaps"]
        ]
        table.add(
            name,
            *("-" if at is None else f"{digits(at)} ({passes:.0f})" for at, passes in times),
            digits(gap_after(results, name, seconds)),
            f"{max(score for _, score in found['map5']):.3f}",
            digits(found["passes"][-1] / found["seconds"][-1]),
        )
    return table


def figures(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """Return the gap and MAP@5 against seconds, one row of panels per data set."""
    figure, axes = grid(2 * len(rows), columns=2, size=(5.0, 3.6))
    for row, (left, right) in zip(rows, zip(axes[::2], axes[1::2], strict=True), strict=True):
        results, data = row["results"], row["cell"]["data"]
        for name, look in looks(list(results)).items():
            _lines(left, right, results, name, look)
        log_scale(left, "x", "y")
        log_scale(right, "x")
        tidy_chart(left, "seconds", "(L - L*) / L*", data)
        tidy_chart(right, "seconds", "MAP@5", data)
    legend_below(figure, axes[0], columns=5)
    return {"race": figure}


def _lines(left: Any, right: Any, results: Results, name: str, look: dict[str, Any]) -> None:
    found = results[name]
    gaps = np.array(found["objective"]) / least(results) - 1
    shown = (gaps > 1e-5) & (np.array(found["seconds"]) > 0.1)
    at = np.array(found["seconds"])[shown]
    style = {"linewidth": 1.5, "markersize": 4, **look}
    left.plot(at, gaps[shown], label=name, markevery=max(1, len(at) // 8), **style)
    times, scores = np.array(found["map5"]).T
    right.plot(times[times > 0.1], scores[times > 0.1], label=name, **style)
