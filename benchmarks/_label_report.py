"""Tables and the figure of `multilabel`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks._figures import MARKERS, PALETTE, grid, tidy_chart
from benchmarks._tables import Table, checks, digits, median

Rows = list[dict[str, Any]]
CRITERIA = {"hamming": "Hamming score", "micro-f1": "micro-F1", "macro-f1": "macro-F1"}
#: the column ILA of Tables 2, 3 and 4 of the paper
PAPER = {
    "emotions": {"hamming": 80.2, "micro-f1": 65.9, "macro-f1": 64.4},
    "scene": {"hamming": 88.0, "micro-f1": 65.9, "macro-f1": 66.8},
    "yeast": {"hamming": 78.9, "micro-f1": 62.4, "macro-f1": 37.8},
    "corel5k": {"hamming": 87.8, "micro-f1": 21.9, "macro-f1": 17.8},
}
OURS, RIVAL, SPEED, MEMORY = "ours", "BR(LOG)", "speed", "memory"
#: how far below the paper validated cuts may be, how far above it the cut at 0 should be
_BELOW, _ABOVE = 0.3, {"micro-f1": 2.5, "macro-f1": 1.5}
_LOOSE, _MOST_TIMES = 0.2, 10
_GAP = 1e-4
#: peak of memory in what a fit works on
_MOST_MEMORY = 3.0


def names(rows: Rows, rival: str = OURS) -> list[str]:
    """Return the data sets on which something was measured, in order of their first rows.

    >>> names([{"cell": {"data": "a"}, "results": {"ours": {}}}, {"cell": {"data": "b"}, "results": {"speed": {}}}])
    ['a']
    """
    return list(dict.fromkeys(row["cell"]["data"] for row in rows if rival in row["results"]))


def results_of(rows: Rows, data: str, *rivals: str) -> list[dict[str, Any]]:
    """Return the results of the splits of a data set on which all of these were measured."""
    there = [row["results"] for row in rows if row["cell"]["data"] == data]
    return [one for one in there if all(rival in one for rival in rivals)]


def values(rows: Rows, data: str, rival: str, criterion: str, zero: bool = False) -> np.ndarray:
    """Return what a rival reached on the splits of a data set."""
    results = [one[rival] for one in results_of(rows, data, rival)]
    return np.array([(one["zero"] if zero else one)[criterion] for one in results], dtype=float)


def error(found: np.ndarray) -> float:
    """Return the standard error of a mean."""
    return float(found.std(ddof=1) / len(found) ** 0.5) if len(found) > 1 else float("nan")


def lead(
    rows: Rows, data: str, criterion: str, rival: str = RIVAL, plain: bool = False
) -> tuple[float, float]:
    """Return by how much ours is above a rival on the same splits, both with validated cuts, and its standard error.

    With `plain`, the rival has plain cuts of its scores.
    """
    both = results_of(rows, data, OURS, rival)
    others = [one[rival]["plain"] if plain else one[rival] for one in both]
    gains = np.array(
        [one[OURS][criterion] - other[criterion] for one, other in zip(both, others, strict=True)]
    )
    return float(gains.mean()), error(gains)


def speeds(rows: Rows, data: str) -> list[dict[str, Any]]:
    """Return the speed measurements of a data set."""
    return [one[SPEED] for one in results_of(rows, data, SPEED)]


def memory(rows: Rows) -> tuple[str, float] | None:
    """Return the data set that memory was measured on, and the peak in multiples of what the fit works on."""
    for data in names(rows, MEMORY):
        found = results_of(rows, data, MEMORY)[0][MEMORY]
        return data, found["peak"] / sum(found[part] for part in ("X", "Y", "Q", "history"))
    return None


def quickest(rows: Rows, settings: dict[str, Any], data: str, beta: float) -> float | None:
    """Return the times of a classifier per label that the loosest fit within 0.2 points of the certified one takes."""
    found = speeds(rows, data)
    if not found:
        return None
    last = f"{beta:g} {settings['tolerances'][-1]:g}"
    for tol in settings["tolerances"]:
        key = f"{beta:g} {tol:g}"
        far = [abs(one[key]["micro-f1"] - one[last]["micro-f1"]) for one in found]
        if np.mean(far) <= _LOOSE:
            return float(median(one[key]["seconds"] / np.median(one["rival_seconds"]) for one in found) or 0)
    return None


def certificate(rows: Rows, settings: dict[str, Any], data: str) -> tuple[float, float]:
    """Return the largest certified gap at the tightest tolerance, and its time in those of a classifier per label."""
    keys = [f"{beta:g} {settings['tolerances'][-1]:g}" for beta in settings["speed_betas"]]
    found = speeds(rows, data)
    times = [one[key]["seconds"] / np.median(one["rival_seconds"]) for one in found for key in keys]
    return max(one[key]["gap"] for one in found for key in keys), float(median(times) or 0)


def standings(rows: Rows, settings: dict[str, Any]) -> Iterator[tuple[str, str, str, bool | None]]:
    """Yield what should hold, what was measured, and whether it does."""
    for data in names(rows):
        for criterion, paper in PAPER.get(data, {}).items():
            found = values(rows, data, OURS, criterion).mean() - paper
            if criterion != "macro-f1":
                what = f"{data}: {CRITERIA[criterion]}, validated cut, minus the paper's"
                yield what, f"at least -{_BELOW}", f"{found:+.1f}", bool(found >= -_BELOW)
            if criterion in _ABOVE:
                zero = values(rows, data, OURS, criterion, zero=True).mean() - paper
                what = f"{data}: {CRITERIA[criterion]}, cut at 0, minus the paper's"
                yield what, f"at least +{_ABOVE[criterion]}", f"{zero:+.1f}", bool(zero >= _ABOVE[criterion])
    for data in names(rows):
        for criterion, title in CRITERIA.items():
            gain, wide = lead(rows, data, criterion)
            what = f"{data}: {title} minus that of {RIVAL}, both with validated cuts"
            yield what, "0, within one error", f"{gain:+.2f} ± {wide:.2f}", bool(gain >= -wide)
    for data in names(rows, SPEED):
        gap, _ = certificate(rows, settings, data)
        yield f"{data}: certified relative gap", f"at most {_GAP:g}", f"{gap:.1e}", bool(gap <= _GAP)
        for beta in settings["speed_betas"]:
            times = quickest(rows, settings, data, beta)
            what = f"{data}, beta = {beta:g}: time to {_LOOSE} points from the certified micro-F1 / that of {RIVAL}"
            yield what, f"at most {_MOST_TIMES}", digits(times), times is not None and times <= _MOST_TIMES
    if found := memory(rows):
        what = f"{found[0]}: peak of memory / X, Y, Q and the history of L-BFGS"
        yield what, f"at most {_MOST_MEMORY:g}", digits(found[1]), found[1] <= _MOST_MEMORY


def tables(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """Return all tables of the page."""
    found = [checks(standings(rows, settings))]
    for criterion, title in CRITERIA.items():
        found.append(_criterion(rows, criterion, f"{title}, validated cuts", zero=False))
    for criterion, title in CRITERIA.items():
        found.append(_criterion(rows, criterion, f"{title}, cut at 0", zero=True))
    return [*found, _plain(rows), _seconds(rows, settings), _speed(rows, settings)]


def shown_rivals(rows: Rows) -> list[str]:
    """Return ours and the rivals, in the order in which they were measured."""
    every = dict.fromkeys(name for row in rows for name in row["results"])
    return [name for name in every if name not in (SPEED, MEMORY)]


def _criterion(rows: Rows, criterion: str, title: str, zero: bool) -> Table:
    rivals = shown_rivals(rows)
    note = "Means ± standard errors over splits, of which the slower rivals have fewer."
    table = Table(title, ["", *rivals, "paper"], note=note)
    for data in names(rows):
        cells = []
        for rival in rivals:
            found = values(rows, data, rival, criterion, zero)
            cells.append(_with_error(found))
        table.add(data, *cells, PAPER.get(data, {}).get(criterion, "-"))
    return table


def _plain(rows: Rows) -> Table:
    note = (
        f"By how much ours, with its validated cuts, is above {RIVAL} with plain cuts of its scores: the best one for "
        "all labels on the folds; for macro-F1 one per label that ten rows have."
    )
    table = Table(f"Ours minus {RIVAL} with plain cuts", ["", *CRITERIA.values()], note=note)
    for data in names(rows):
        leads = (lead(rows, data, criterion, plain=True) for criterion in CRITERIA)
        table.add(data, *(f"{gain:+.2f} ± {wide:.2f}" for gain, wide in leads))
    return table


def _with_error(found: np.ndarray) -> str:
    if len(found) < 2:
        return f"{found[0]:.1f}" if len(found) else "-"
    return f"{found.mean():.1f} ± {error(found):.1f}"


def _seconds(rows: Rows, settings: dict[str, Any]) -> Table:
    rivals = shown_rivals(rows)
    note = "Median CPU seconds with the choice of beta and of one cut (ours, for micro-F1) or of all cuts (rivals)."
    table = Table("Seconds", ["", *rivals, "beta", "rank"], note=note)
    for data in names(rows):
        cells = []
        for rival in rivals:
            seconds = [one[rival]["seconds"] for one in results_of(rows, data, rival)]
            cells.append(digits(median(s["micro-f1"] if isinstance(s, dict) else s for s in seconds), 2))
        own = [one[OURS] for one in results_of(rows, data, OURS)]
        chosen = (median(one[key]["micro-f1"] for one in own) for key in ("beta", "rank"))
        table.add(data, *cells, *(digits(value, 2) for value in chosen))
    return table


def _speed(rows: Rows, settings: dict[str, Any]) -> Table:
    note = (
        f"CPU time in those of OneVsRestClassifier(LogisticRegression()), by tolerance, at beta = "
        f"{settings['speed_betas'][-1]:g}; micro-F1 at the loosest and at the tightest; the largest certified gap."
    )
    heads = [f"tol = {tol:g}" for tol in settings["tolerances"]]
    table = Table("Speed", ["", "its seconds", *heads, "micro-F1", "gap", "rank"], note=note)
    for data in names(rows, SPEED):
        found = speeds(rows, data)
        keys = [f"{settings['speed_betas'][-1]:g} {tol:g}" for tol in settings["tolerances"]]
        rival = median(np.median(one["rival_seconds"]) for one in found)
        times = [
            median(one[key]["seconds"] / np.median(one["rival_seconds"]) for one in found) for key in keys
        ]
        micro = [np.mean([one[key]["micro-f1"] for one in found]) for key in (keys[0], keys[-1])]
        rank = median(one[keys[-1]]["rank"] for one in found)
        gap = certificate(rows, settings, data)[0]
        scores = " and ".join(f"{value:.1f}" for value in micro)
        table.add(
            data, digits(rival, 2), *(digits(one, 2) for one in times), scores, f"{gap:.0e}", digits(rank)
        )
    return table


def figure(rows: Rows) -> Figure:
    """Draw by how much ours is above a classifier per label, with standard errors."""
    found, axes = grid(len(CRITERIA), columns=3, size=(3.6, 3.2))
    shown = names(rows)
    for ax, (criterion, title) in zip(axes, CRITERIA.items(), strict=True):
        for place, data in enumerate(shown):
            gain, wide = lead(rows, data, criterion)
            style: dict[str, Any] = {"color": PALETTE[0], "marker": MARKERS[0], "capsize": 3}
            ax.errorbar(gain, place, xerr=wide, label=f"ours minus {RIVAL}, validated cuts", **style)
        ax.axvline(0, color="0.6", linewidth=1)
        ax.set_yticks(range(len(shown)), shown, fontsize=8)
        ax.set_ylim(len(shown) - 0.5, -0.5)
        tidy_chart(ax, "points", "", title)
    handles, labels = axes[0].get_legend_handles_labels()
    axes[0].legend(handles[:1], labels[:1]).remove()
    found.legend(handles[:1], labels[:1], loc="outside lower center", fontsize=8, frameon=False)
    return found
