"""Conclusions of `extreme`."""

from __future__ import annotations

from typing import Any

from benchmarks import _extreme_report as report
from benchmarks._tables import digits
from benchmarks.conclusions._words import Rows, listed

#: methods with full gradients
_FULL = ("newton", "full-adam", "eigen-adam")


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Where preconditioned Newton falls short, then the order of the methods."""
    first, last = settings["gaps"][0], settings["gaps"][-1]
    ends = [{name: row["results"][name]["objective"][-1] for name in _FULL} for row in rows]
    ahead = all(end["eigen-adam"] < end["full-adam"] < end["newton"] for end in ends)
    lead = "Adam along the eigenvectors of past gradients ends below plain Adam, and both below Newton. "
    return [
        (lead if ahead else "The order of Newton and both Adams differs between data sets. ")
        + " ".join(_beside_adam(row, (first, last)) for row in rows),
        " ".join(_beside_plain(row, first) for row in rows),
        " ".join(_diverged(row) for row in rows),
        " ".join(_order(row, settings) for row in rows),
    ]


def _ends(results: report.Results, *names: str) -> list[str]:
    """Return the gaps at which methods end."""
    return [digits(results[name]["objective"][-1] / report.least(results) - 1) for name in names]


def _beside_adam(row: dict[str, Any], gaps: tuple[float, float]) -> str:
    results = row["results"]
    times = [
        " and ".join(_passes(report.reached(results, name, gap, "passes")) for gap in gaps) for name in _FULL
    ]
    return (
        f"On {row['cell']['data']} Newton reaches gaps of {gaps[0]:g} and {gaps[1]:g}: {times[0]}; Adam: "
        f"{times[1]}; along eigenvectors: {times[2]}. They end at {listed(_ends(results, *_FULL))}, with a best "
        f"MAP@5 of {listed([_best(results, name) for name in _FULL])}."
    )


def _best(results: report.Results, name: str) -> str:
    return f"{max(score for _, score in results[name]['map5']):.3f}"


def _passes(count: float | None) -> str:
    return "never" if count is None else f"{count:.0f} passes"


def _beside_plain(row: dict[str, Any], gap: float) -> str:
    results, data = row["results"], row["cell"]["data"]
    plain, newton = _ends(results, "newton, plain", "newton")
    found = report.faster(results, gap, "newton", "newton, plain", "passes")
    same = report.faster_to_the_end_of(results, "newton", "newton, plain")
    if found is None:
        saved = f"neither Newton gets to a gap of {gap:g}"
    elif not found[1]:
        saved = f"it gets to a gap of {gap:g}, which the plain method never does"
    else:
        saved = f"it saves a factor of {digits(found[0])} in passes to a gap of {gap:g}"
    return (
        f"Compared with plain Newton on {data}, {saved}; in equal time they end at gaps of {newton} and {plain} "
        f"(plain), and where the plain method ends, the other was in 1/{digits(same)} of its passes."
    )


def _diverged(row: dict[str, Any]) -> str:
    results, names = row["results"], ("sogram", "sampling", "sg", "sogram-diag", "sampling-diag")
    diverged = [name for name in names if results[name]["stop_reason"] == "diverged"]
    gaps = [f"{name} {gap}" for name, gap in zip(names, _ends(results, *names), strict=True)]
    return f"Samples on {row['cell']['data']}: gaps of {listed(gaps)}; diverged: {listed(diverged)}."


def _order(row: dict[str, Any], settings: dict[str, Any]) -> str:
    results, data = row["results"], row["cell"]["data"]
    seconds = settings["data"][data]["seconds"]
    gaps = {name: report.gap_after(results, name, seconds) for name in results}
    best = [f"{name} ({digits(gaps[name])})" for name in sorted(gaps, key=gaps.__getitem__)[:3]]
    return f"After {seconds} s on {data} the smallest gaps are those of {listed(best)}."
