"""Tables and the figure of `tags`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks._figures import PALETTE, grid, legend_below, log_scale, looks, tidy_chart
from benchmarks._tables import Table, checks, digits, median

Rows = list[dict[str, Any]]
POPULARITY, FACTORS = "popularity", "PITF"
#: what popularity measures: the key of its results, and the column of the table
_POPULARITIES = {"user": "user's tags", "item": "item's tags", "f1": "both"}


def ours(beta: float) -> str:
    """Return the name of ours at a strength.

    >>> ours(0.1)
    'beta = 0.1'
    """
    return f"beta = {beta:g}"


def central(beta: float) -> str:
    """Return the name of the central path at a strength.

    >>> central(0.1)
    'central path, 0.1'
    """
    return f"central path, {beta:g}"


def levels(rows: Rows) -> list[str]:
    """Return the post-cores that were measured."""
    return list(dict.fromkeys(row["cell"]["core"] for row in rows))


def found(rows: Rows, level: str, rival: str) -> list[dict[str, Any]]:
    """Return what a rival reached on each draw of a post-core."""
    return [row["results"][rival] for row in rows if row["cell"]["core"] == level]


def f1(rows: Rows, level: str, rival: str, key: str = "f1") -> np.ndarray:
    """Return the F1 on each draw, in percent."""
    return 100 * np.array([one[key] for one in found(rows, level, rival)])


def gap(rows: Rows, level: str, beta: float) -> float:
    """Return how far the lower objective of both solvers is above the higher bound at most, as a share, in any draw."""
    pairs = zip(found(rows, level, ours(beta)), found(rows, level, central(beta)), strict=True)
    return max(certified(pair) for pair in pairs)


def certified(fits: Sequence[dict[str, Any]]) -> float:
    """Return the gap that is left between the lowest objective of some fits and the highest lower bound, as a share.

    >>> certified([{"objective": 2.0, "gap": 0.5}, {"objective": 3.0, "gap": 0.4}])
    0.1
    """
    lowest = min(one["objective"] for one in fits)
    bound = max(one["objective"] * (1 - one["gap"]) for one in fits)
    return round(max(1 - bound / lowest, 0.0), 12)


def enough(rows: Rows, level: str, beta: float, share: float = 0.99) -> tuple[float, float]:
    """Return the median number of columns, and seconds, after which F1 never was below a share of its last value."""
    ends = []
    for one in found(rows, level, ours(beta)):
        curve = np.array(one["curve"])
        below = np.flatnonzero(curve[:, 1] < share * one["f1"])
        after = below[-1] + 1 if len(below) else 0
        ends.append(curve[after, [0, 4]] if after < len(curve) else np.array([one["rank"], one["seconds"]]))
    columns, seconds = np.median(ends, axis=0)
    return float(columns), float(seconds)


def standings(rows: Rows, settings: dict[str, Any]) -> Iterator[tuple[str, str, str, bool | None]]:
    """Yield what should hold, what was measured, and whether it does."""
    for level in levels(rows):
        for beta in settings["betas"]:
            largest = gap(rows, level, beta)
            what = f"post-core {level}, {ours(beta)}: certified relative gap"
            yield what, f"at most {settings['tol']:g}", digits(largest, 4), bool(largest <= settings["tol"])


def tables(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """Return all tables of the page."""
    return [checks(standings(rows, settings)), _quality(rows, settings), _cost(rows, settings)]


def spread(values: np.ndarray) -> str:
    """Return mean ± standard deviation.

    >>> spread(np.array([1.0, 3.0])), spread(np.array([2.0]))
    ('2.0 ± 1.4', '2.0')
    """
    if len(values) < 2:
        return f"{values[0]:.1f}"
    return f"{values.mean():.1f} ± {values.std(ddof=1):.1f}"


def _quality(rows: Rows, settings: dict[str, Any]) -> Table:
    rivals = [FACTORS, *(name(beta) for name in (ours, central) for beta in settings["betas"])]
    heads = [*_POPULARITIES.values(), *rivals]
    note = (
        "Percent; mean ± standard deviation over draws of the held-out posts. The first three are popularity."
    )
    table = Table("F1 of five tags", ["post-core", "draws", *heads], note=note)
    for level in levels(rows):
        cells = [spread(f1(rows, level, POPULARITY, key)) for key in _POPULARITIES]
        cells += [spread(f1(rows, level, rival)) for rival in rivals]
        table.add(level, len(found(rows, level, FACTORS)), *cells)
    return table


def _cost(rows: Rows, settings: dict[str, Any]) -> Table:
    note = (
        "Medians over draws; the largest gap, by the solver's own bound. Enough: from where on F1 never fell below 99% "
        "of its last value. Seconds of PITF are those with the choice of its settings, and in parentheses those of "
        "one fit."
    )
    heads = ["seconds", "ended by", "objective", "gap", "rank", "enough columns", "enough seconds"]
    table = Table("Cost", ["", *heads], note=note)
    for level in levels(rows):
        for rival in (POPULARITY, FACTORS):
            there = found(rows, level, rival)
            seconds = digits(median(one["seconds"] for one in there))
            if rival == FACTORS:
                seconds += f" ({digits(median(one['fit_seconds'] for one in there))})"
            table.add(f"{level}, {rival}", seconds, *6 * "-")
        for beta in settings["betas"]:
            both = [digits(number) for number in enough(rows, level, beta)]
            for rival, last in ((ours(beta), both), (central(beta), ["-", "-"])):
                there = found(rows, level, rival)
                ends = ", ".join(sorted({one["stopped"] for one in there}))
                numbers = [
                    digits(median(one[key] for one in there)) for key in ("seconds", "objective", "rank")
                ]
                largest = digits(max(one["gap"] for one in there), 4)
                table.add(f"{level}, {rival}", numbers[0], ends, numbers[1], largest, numbers[2], *last)
    return table


def figure(rows: Rows, settings: dict[str, Any]) -> Figure:
    """Draw F1 and the excess of the objective against columns, a row of panels per post-core."""
    shown = levels(rows)
    drawn, axes = grid(2 * len(shown), columns=2, size=(4.8, 3.4))
    for level, left, right in zip(shown, axes[::2], axes[1::2], strict=True):
        for beta, look in zip(settings["betas"], looks(settings["betas"]).values(), strict=True):
            pairs = zip(found(rows, level, ours(beta)), found(rows, level, central(beta)), strict=True)
            for number, pair in enumerate(pairs):
                _lines(left, right, *pair, {**look, "label": ours(beta) if number == 0 else None})
        for rival, style in ((FACTORS, "--"), (POPULARITY, ":")):
            label = f"{rival}, mean"
            left.axhline(f1(rows, level, rival).mean(), color=PALETTE[-1], linestyle=style, label=label)
        log_scale(left, "x")
        log_scale(right, "x", "y")
        tidy_chart(left, "columns", "F1 of five tags, %", f"post-core {level}")
        tidy_chart(right, "columns", "objective / lowest - 1", f"post-core {level}")
    legend_below(drawn, axes[0], columns=5)
    return drawn


def _lines(left: Any, right: Any, one: dict[str, Any], other: dict[str, Any], look: dict[str, Any]) -> None:
    curve = np.array([row for row in one["curve"] if row[0] > 0]).reshape(-1, 5)
    style = {**look, "markersize": 3, "linewidth": 1.2, "alpha": 0.8}
    ends = [one["rank"], one["f1"]]  # after the last whole round
    left.plot(*np.vstack([curve[:, :2], ends]).T * np.array([[1], [100]]), **style)
    excess = curve[:, 2] / min(one["objective"], other["objective"]) - 1
    right.plot(curve[excess > 0, 0], excess[excess > 0], **style)
