"""Tables and figures of `convex_peers`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks._figures import grid, legend_below, log_scale, looks, mark_ended, tidy_chart
from benchmarks._metric_peers import OURS, PEERS, PLAIN
from benchmarks._tables import Table, bounded, checks, digits, median

Rows = list[dict[str, Any]]

SIMILARITIES, KERNEL = PROBLEMS = ("similarities", "kernel")
ILA, FISTA, SCS = SOLVERS = ("ILA", "FISTA", "SCS")
AGREES = "agreement"
METRICS = (PLAIN, OURS, *PEERS)
#: how many times faster ours should be, and from how many features or objects on
FASTER, FROM = 10.0, 300
#: how far objectives may differ, relative to the minimum
_EQUAL = 1e-5


def of(rows: Rows, problem: str, p: int) -> list[dict[str, Any]]:
    """Return the results of a problem of one size."""
    cells = [(row["cell"].get("problem"), row["cell"].get("p"), row["results"]) for row in rows]
    return [results for name, size, results in cells if (name, size) == (problem, p)]


def sizes(rows: Rows) -> list[int]:
    """Return the sizes that were measured."""
    return sorted({row["cell"]["p"] for row in rows if row["cell"]["part"] == "solvers"})


def ratio(rows: Rows, problem: str, p: int, rival: str) -> tuple[float, bool]:
    """Return the median time of a rival in times of ours, and whether that is only a lower bound."""
    there = of(rows, problem, p)
    found = median(one[rival]["seconds"] / one[ILA]["seconds"] for one in there)
    return found or 0.0, not all(one[rival]["reached"] for one in there)


def farthest(rows: Rows, name: str) -> float:
    """Return the largest difference of our objective from the closed form, or from that of SCS."""
    found = [row["results"].get(name, {}).get("error") for row in rows]
    return max((one for one in found if one is not None), default=float("nan"))


def standings(rows: Rows) -> Iterator[tuple[str, str, str, bool | None]]:
    """Yield what should hold, what was measured, and whether it does."""
    for name, what in ((ILA, "the closed form of eq. 12"), (AGREES, "SCS with a tolerance of 1e-8, p = 50")):
        error = farthest(rows, name)
        holds = bool(error <= _EQUAL)
        yield (
            f"relative difference of the objective from {what}",
            f"at most {_EQUAL:g}",
            f"{error:.0e}",
            holds,
        )
    for problem in PROBLEMS:
        for p in (size for size in sizes(rows) if size >= FROM):
            for rival in (FISTA, SCS):
                times, bound = ratio(rows, problem, p, rival)
                holds_so = None if bound and times < FASTER else times >= FASTER
                what = f"{problem}, p = {p:,}: time of {rival} / ILA"
                yield what, f"at least {FASTER:g}", bounded(times, bound), holds_so


def metrics_of(rows: Rows, data: str, name: str, what: str) -> np.ndarray:
    """Return what a metric reached on the splits of a data set; splits that failed are left out."""
    found = [row["results"].get(name, {}).get(what) for row in rows if row["cell"].get("data") == data]
    return np.array([one for one in found if one is not None], dtype=float)


def sets(rows: Rows) -> list[str]:
    """Return the labelled data sets."""
    return list(dict.fromkeys(row["cell"]["data"] for row in rows if row["cell"]["part"] == "metrics"))


def tables(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """Return all tables of the page."""
    return [checks(standings(rows)), _solvers(rows), _accuracy(rows), _seconds(rows)]


def _solvers(rows: Rows) -> Table:
    note = (
        "Median CPU seconds to a relative error of 1e-4, and iterations (of FISTA and SCS) or rank (of ILA); > if a "
        "run was ended. The certificate is the time until ILA itself knows that its error is below 1e-4."
    )
    heads = ["problem", "p", *SOLVERS, "certificate", *(f"{rival} / {ILA}" for rival in (FISTA, SCS))]
    table = Table("Solvers", heads, note=note)
    for problem in PROBLEMS:
        for p in sizes(rows):
            there = of(rows, problem, p)
            certified = digits(median(one[ILA]["certified_seconds"] for one in there))
            ratios = [bounded(*ratio(rows, problem, p, rival)) for rival in (FISTA, SCS)]
            table.add(problem, f"{p:,}", *(_time(there, name) for name in SOLVERS), certified, *ratios)
    return table


def _time(results: list[dict[str, Any]], name: str) -> str:
    ended = "" if all(one[name]["reached"] for one in results) else "> "
    count = "rank" if name == ILA else "rounds"
    seconds, counts = (digits(median(one[name][what] for one in results)) for what in ("seconds", count))
    return f"{ended}{seconds} ({counts})"


def _accuracy(rows: Rows) -> Table:
    note = "Percent of test rows, mean ± standard deviation over splits; the highest is bold."
    table = Table("Metrics: accuracy of three nearest neighbours", ["", *METRICS, "rank"], note=note)
    for data in sets(rows):
        found = {name: 100 * metrics_of(rows, data, name, "accuracy") for name in METRICS}
        means = {name: float(values.mean()) for name, values in found.items() if len(values)}
        texts = []
        for name in METRICS:
            text = f"{found[name].mean():.1f} ± {found[name].std():.1f}" if name in means else "-"
            texts.append(f"**{text}**" if means.get(name) == max(means.values()) else text)
        table.add(data, *texts, digits(median(metrics_of(rows, data, OURS, "rank"))))
    return table


def _seconds(rows: Rows) -> Table:
    note = (
        "Median CPU seconds of the fit; ours with its choice of `beta` on five folds. Failures are counted."
    )
    table = Table("Metrics: seconds", ["", *METRICS[1:]], note=note)
    for data in sets(rows):
        cells = []
        for name in METRICS[1:]:
            taken = metrics_of(rows, data, name, "seconds")
            failed = sum(
                "failure" in row["results"].get(name, {}) for row in rows if row["cell"].get("data") == data
            )
            text = digits(median(taken)) if len(taken) else "-"
            cells.append(f"{text} ({failed} failed)" if failed else text)
        table.add(data, *cells)
    return table


def figures(rows: Rows, settings: dict[str, Any]) -> dict[str, Figure]:
    """Draw seconds against size, and accuracies against seconds."""
    return {"solvers": _against_size(rows), "metrics": _against_seconds(rows)}


def _against_size(rows: Rows) -> Figure:
    figure, axes = grid(len(PROBLEMS))
    for ax, problem in zip(axes, PROBLEMS, strict=True):
        for name, look in looks(SOLVERS).items():
            places = sizes(rows)
            seconds = [median(one[name]["seconds"] for one in of(rows, problem, p)) for p in places]
            ax.plot(places, seconds, label=name, **look)  # type: ignore[arg-type]
            complete = [all(one[name]["reached"] for one in of(rows, problem, p)) for p in places]
            mark_ended(ax, places, seconds, complete)
        log_scale(ax, "x", "y")
        tidy_chart(ax, "p", "CPU seconds to 1e-4", problem)
    legend_below(figure, axes[0])
    return figure


def _against_seconds(rows: Rows) -> Figure:
    figure, axes = grid(len(sets(rows)), columns=3, size=(3.4, 3.0))
    for ax, data in zip(axes, sets(rows), strict=True):
        ax.axhline(
            100 * metrics_of(rows, data, PLAIN, "accuracy").mean(), color="0.6", linewidth=1, label=PLAIN
        )
        for name, look in looks(METRICS[1:]).items():
            accuracy = 100 * metrics_of(rows, data, name, "accuracy")
            if len(accuracy):
                seconds = np.median(metrics_of(rows, data, name, "seconds"))
                style: dict[str, Any] = {**look, "linestyle": "", "capsize": 3}
                ax.errorbar(seconds, accuracy.mean(), yerr=accuracy.std(), label=name, **style)
        log_scale(ax, "x")
        tidy_chart(ax, "CPU seconds", "accuracy, percent", data)
    legend_below(figure, axes[0], columns=5)
    return figure
