"""Tables and the figure of `links`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks._figures import MARKERS, PALETTE, grid, tidy_chart
from benchmarks._tables import Table, checks, digits

Rows = list[dict[str, Any]]
OURS, CERTIFIED, TUNING = "LinkPredictor", "certified", "tuning"
MEASURES = {"auc": "AUC", "ap": "average precision"}
GAP = 1e-4


def names(rows: Rows) -> list[str]:
    """Return the graphs, in order of their first rows."""
    return list(dict.fromkeys(row["cell"]["data"] for row in rows))


def rivals(rows: Rows) -> list[str]:
    """Return what was compared, ours last."""
    found = dict.fromkeys(name for row in rows for name in row["results"] if name != CERTIFIED)
    return sorted(found, key=lambda name: name == OURS)


def tested(rows: Rows, data: str, name: str) -> list[dict[str, Any]]:
    """Return what a rival reached on each split."""
    there = [row for row in rows if row["cell"]["data"] == data and row["cell"]["split"] != TUNING]
    return [row["results"][name]["trials"][0] for row in there if name in row["results"]]


def tuned(rows: Rows, data: str, name: str) -> list[dict[str, Any]]:
    """Return the trials of a rival in validation."""
    return [
        trial
        for row in rows
        if row["cell"] == {"data": data, "split": TUNING}
        for trial in row["results"].get(name, {"trials": []})["trials"]
    ]


def values(rows: Rows, data: str, name: str, measure: str) -> np.ndarray:
    """Return a measure of a rival on the splits."""
    return np.array([one[measure] for one in tested(rows, data, name)])


def lead(rows: Rows, data: str, measure: str) -> tuple[str, float]:
    """Return the best rival by a measure, and by how much ours is above it in the mean."""
    others = [name for name in rivals(rows) if name != OURS]
    means = {name: float(values(rows, data, name, measure).mean()) for name in others}
    best = max(means, key=lambda name: means[name])
    return best, float(values(rows, data, OURS, measure).mean()) - means[best]


def at_border(rows: Rows, data: str) -> list[str]:
    """Return whose best strength is the first or the last of several that were tried with its other settings."""
    found = []
    for name in rivals(rows):
        trials = [trial for trial in tuned(rows, data, name) if isinstance(trial["setting"], dict)]
        if not trials:
            continue
        best = max(trials, key=lambda trial: trial["auc"])["setting"]
        strength = "beta" if name == OURS else "l2"
        along = [one["setting"] for one in trials if {**one["setting"], strength: 0} == {**best, strength: 0}]
        if len(along) > 2 and along.index(best) in (0, len(along) - 1):
            found.append(name)
    return found


def certified(rows: Rows, data: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return pairs of a certified fit and the looser fit to the same links."""
    splits = [row["results"] for row in rows if row["cell"]["data"] == data and CERTIFIED in row["results"]]
    return [(one[CERTIFIED]["trials"][0], one[OURS]["trials"][0]) for one in splits]


def standings(rows: Rows) -> Iterator[tuple[str, str, str, bool | None]]:
    """Yield what should hold, what was measured, and whether it does."""
    for data in names(rows):
        gaps = [fit["gap"] for fit, _ in certified(rows, data)]
        measured = f"{max(gaps):.1e}" if gaps else "not measured"
        yield f"{data}: certified relative gap", f"at most {GAP:g}", measured, bool(gaps) and max(gaps) <= GAP
        for measure, title in MEASURES.items():
            best, gain = lead(rows, data, measure)
            what = f"{data}: {title} minus that of the best rival ({best})"
            yield what, "at least 0", f"{gain:+.3f}", gain >= 0


def tables(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """Return all tables of the page."""
    both = [_measure(rows, measure, title) for measure, title in MEASURES.items()]
    return [checks(standings(rows)), *both, _tuning(rows), _certificate(rows, settings)]


def _measure(rows: Rows, measure: str, title: str) -> Table:
    note = "Mean over splits, and the lowest and highest of them."
    table = Table(title[:1].upper() + title[1:], ["", *rivals(rows)], note=note)
    for data in names(rows):
        cells = []
        for name in rivals(rows):
            found = values(rows, data, name, measure)
            cells.append(f"{found.mean():.3f} ({found.min():.3f} to {found.max():.3f})")
        table.add(data, *cells)
    return table


def _tuning(rows: Rows) -> Table:
    note = (
        "Every trial in validation: the strength (`beta`, or the L2 term), the balance, the rule; "
        "neighbours in either direction or paths of two links."
    )
    heads = ["", "of", "setting", "balance", "rule", "AUC", "AP", "seconds", "rank"]
    table = Table("Tuning", heads, note=note)
    for data in names(rows):
        for name in rivals(rows):
            for trial in tuned(rows, data, name):
                numbers = (f"{trial[measure]:.3f}" for measure in MEASURES)
                table.add(
                    data,
                    name,
                    *_words(trial["setting"]),
                    *numbers,
                    digits(trial["seconds"], 2),
                    trial.get("rank", "-"),
                )
    return table


def _words(setting: Any) -> tuple[Any, ...]:
    """Return the strength, the balance and the rule; or which neighbours count."""
    if isinstance(setting, dict):
        strength = setting.get("beta", setting.get("l2"))
        return strength, setting["balance"], setting.get("rule", "-")
    return "neighbours" if setting else "paths", "-", "-"


def _certificate(rows: Rows, settings: dict[str, Any]) -> Table:
    note = "The same fit, stopped at two relative gaps, the looser one where its limits are; seconds of CPU time."
    heads = ["", "tol", "gap", "objective", "rank", "seconds", "AUC", "AP"]
    table = Table("Time and certificate", heads, note=note)
    for data in names(rows):
        for fits in certified(rows, data):
            tols = settings["certified_tol"], settings["data"].get(data, {}).get("tol", "-")
            for tol, fit in zip(tols, fits, strict=True):
                numbers = (
                    f"{fit['gap']:.1e}",
                    f"{fit['objective']:.5f}",
                    fit["rank"],
                    digits(fit["seconds"], 3),
                )
                table.add(data, str(tol), *numbers, f"{fit['auc']:.3f}", f"{fit['ap']:.3f}")
        for name in rivals(rows):
            if name != OURS:
                seconds = float(np.median([one["seconds"] for one in tested(rows, data, name)]))
                empty = ("-",) * 4
                scores = (f"{values(rows, data, name, measure)[0]:.3f}" for measure in MEASURES)
                table.add(f"{data}, {name}", *empty, digits(seconds, 3), *scores)
    return table


def figure(rows: Rows) -> Figure:
    """Draw both measures of every rival, a mark per split."""
    shown, graphs = rivals(rows), names(rows)
    found, axes = grid(len(graphs) * len(MEASURES), columns=2, size=(4.4, 2.6))
    panels = [(data, measure) for data in graphs for measure in MEASURES]
    for ax, (data, measure) in zip(axes, panels, strict=True):
        for place, name in enumerate(shown):
            numbers = values(rows, data, name, measure)
            ax.scatter(
                numbers, np.full(len(numbers), place), color=PALETTE[place], marker=MARKERS[place], s=28
            )
        ax.set_yticks(range(len(shown)), shown, fontsize=8)
        ax.set_ylim(len(shown) - 0.5, -0.5)
        tidy_chart(ax, MEASURES[measure], "", f"{data}: {MEASURES[measure]}")
    return found
