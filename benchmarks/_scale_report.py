"""Tables and figures of `extreme_scale`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks._extreme_report import least, reached
from benchmarks._figures import PALETTE, grid, legend_below, log_scale, looks, tidy_chart
from benchmarks._tables import Table, checks, digits

Results = dict[str, dict[str, Any]]
Rows = list[dict[str, Any]]

KINDS = {"gradient": "gradient", "product": "Gauss-Newton product"}
PRECISIONS = {"float32": "float32", "tf32": "TF32"}
#: milliseconds that a gradient and a product may take, and those aimed at
MOST, AIM = {"gradient": 25.0, "product": 38.0}, {"gradient": 15.0, "product": 25.0}
#: times the time with ten times the entities and pairs; relative differences of float32 and of several processes
MOST_TIMES, MOST_APART, MOST_APART_TOGETHER = 12.0, 1e-6, 1e-6
#: a fit must be this close to the lowest objective within these seconds
GAP, SECONDS = 1e-3, 30.0
GAPS = (0.1, 0.01, 1e-3)


def part(rows: Rows, name: str, times: int | None = None) -> Results:
    """Return the results of a part of the experiment; none if it was not measured."""
    return next(
        (
            row["results"]
            for row in rows
            if row["cell"]["part"] == name and (times is None or row["cell"]["times"] == times)
        ),
        {},
    )


def growth(rows: Rows, settings: dict[str, Any], precision: str, kind: str) -> float:
    """Return how many times as long the larger problem takes."""
    small, large = (part(rows, "costs", times) for times in settings["times"])
    return large[precision][kind]["ms"] / small[precision][kind]["ms"]


def quickest(rows: Rows, gap: float) -> tuple[str, float] | None:
    """Return the fit that is first within a gap of the lowest objective that any fit reached, and its seconds."""
    results = part(rows, "fits")
    times = {name: reached(results, name, gap) for name in results}
    found = {name: at for name, at in times.items() if at is not None}
    return min(found.items(), key=lambda item: item[1]) if found else None


def tables(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """Return the checks and a table per part that was measured."""
    found = [checks(_checks(rows, settings))]
    if part(rows, "costs", settings["times"][0]):
        found += [_costs(rows, settings), *_parts(rows, settings)]
    makers = {
        "accuracy": _accuracy,
        "processes": _processes,
        "estimator": _estimator,
        "fits": _fits,
    }
    return [*found, *(make(part(rows, name)) for name, make in makers.items() if part(rows, name))]


def _checks(rows: Rows, settings: dict[str, Any]) -> Iterator[tuple[str, str, str, bool | None]]:
    costs = part(rows, "costs", settings["times"][0])
    for kind, name in KINDS.items():
        for precision, said in PRECISIONS.items():
            if costs:
                found = costs[precision][kind]["ms"]
                yield f"{name}, {said}: ms", f"at most {MOST[kind]:g}", digits(found), found <= MOST[kind]
    for kind, name in KINDS.items():
        for precision, said in PRECISIONS.items():
            if costs and part(rows, "costs", settings["times"][-1]):
                found = growth(rows, settings, precision, kind)
                what = f"{name}, {said}: time with {settings['times'][-1]} times entities and pairs / time before"
                yield what, f"at most {MOST_TIMES:g}", digits(found), found <= MOST_TIMES
    accuracy = part(rows, "accuracy")
    if accuracy:
        found = max(accuracy["float32"].values())
        what = "float32 on the card: largest relative difference from float64"
        yield what, f"at most {MOST_APART:g}", f"{found:.1g}", found <= MOST_APART
    if part(rows, "processes"):
        found = apart_together(part(rows, "processes"))
        what = "processes on one card: relative difference of the objective from one"
        yield what, f"at most {MOST_APART_TOGETHER:g}", f"{found:.1g}", found <= MOST_APART_TOGETHER
    if part(rows, "fits"):
        first = quickest(rows, GAP)
        shown = "never" if first is None else f"{digits(first[1])} ({first[0]})"
        what = f"seconds of the quickest fit to a relative gap of {GAP:g}"
        yield what, f"below {SECONDS:g}", shown, first is not None and first[1] < SECONDS


def apart_together(results: Results) -> float:
    """Return the largest relative difference of the objective of several processes from that of one."""
    one = results["one"]["objective"]
    return max(abs(found["objective"] / one - 1) for found in results.values())


def _costs(rows: Rows, settings: dict[str, Any]) -> Table:
    card = part(rows, "costs", settings["times"][0])["card"]
    said = (
        f"{card[name]} {name}" if name.startswith("multi") else f"{name} {card[name]}"
        for name in ("driver", "cuda", "torch", "triton", "python", "commit", "multiprocessors")
    )
    ceilings = card["ceilings"]
    note = (
        f"{card['card']}, {card['memory GB']} GB; {', '.join(said)}. A copy reads and writes "
        f"{digits(ceilings['copy'] / 1e12)} TB/s; products of matrices reach {digits(ceilings['float32'] / 1e12)} "
        f"TFLOP/s in float32, {digits(ceilings['tf32'] / 1e12)} with TF32 and "
        f"{digits(ceilings['float64'] / 1e12)} in float64. Medians of {settings['turns']} calls, in brackets the "
        "quickest and the slowest. GB: planned before the fit, and the most that a value, gradient and product took."
    )
    columns = [
        "",
        "value, ms",
        "gradient, ms",
        "product, ms",
        "rows in memory at a time",
        "GB planned",
        "GB taken",
    ]
    table = Table("Times of one evaluation", columns, note=note)
    for times in settings["times"]:
        for name, found in part(rows, "costs", times).items():
            if name != "card":
                table.add(
                    f"{times} x, {PRECISIONS.get(name, 'TF32, streamed pairs')}",
                    *(
                        f"{digits(found[kind]['ms'])} ({digits(found[kind]['low'])}-{digits(found[kind]['high'])})"
                        for kind in ("value", "gradient", "product")
                    ),
                    f"{found['chunk_rows']:,}",
                    digits(found["planned GB"]),
                    digits(found["peak GB"]),
                )
    return table


def _parts(rows: Rows, settings: dict[str, Any]) -> Iterator[Table]:
    costs = part(rows, "costs", settings["times"][0])
    ceilings = costs["card"]["ceilings"]
    for which, title in (("of gradient", "Parts of a gradient"), ("of product", "Parts of a product")):
        columns = ["part", "float32, ms", "TF32, ms", "GB", "GB gathered", "of copy", "of matrix products"]
        note = "Shares of the rates of a copy and of matrix products, with TF32 where that applies."
        table = Table(title, columns, note=note)
        for name, found in costs["tf32"][which].items():
            seconds = found["ms"] / 1e3
            rate = (found["moved"] + found["gathered"]) / seconds
            table.add(
                name,
                digits(costs["float32"][which][name]["ms"]),
                digits(found["ms"]),
                digits(found["moved"] / 1e9),
                digits(found["gathered"] / 1e9) if found["gathered"] else "-",
                f"{rate / ceilings['copy']:.0%}",
                f"{found['operations'] / seconds / ceilings[found['precision']]:.0%}",
            )
        yield table


def _accuracy(results: Results) -> Table:
    table = Table("Relative differences from float64 on the card", ["", "objective", "gradient", "product"])
    for name, found in results.items():
        said = f"{PRECISIONS[name]} on the card" if name in PRECISIONS else name
        table.add(said, *(f"{found[kind]:.1g}" for kind in ("objective", "gradient", "product")))
    return table


def _processes(results: Results) -> Table:
    kinds = ("value", "gradient", "product", "sogram")
    note = (
        "Elapsed ms per call, in brackets the kB that each process sends; a small problem, see the settings."
    )
    table = Table("Processes on one card", ["", *kinds], note=note)
    for name, found in results.items():
        cells = (f"{1e3 * found[k]['elapsed']:.1f} ({found[k]['bytes'] / 1e3:,.0f})" for k in kinds)
        table.add(name, *cells)
    return table


def _estimator(results: Results) -> Table:
    found = results["fit"]
    said = f"It said: {found['memory']}. It took {found['peak GB']} GB."
    table = Table("Seconds of a whole fit of TwoTower", ["step", "seconds"], note=said)
    table.add("Interactions from arrays", digits(found["interactions"]))
    table.add("fit", digits(found["fit"]))
    table.add("of these, epochs", digits(found["epochs"]))
    table.add("recommend for 10,000", digits(found["recommend"]))
    return table


def _fits(results: Results) -> Table:
    lowest = least(results)
    note = f"L* = {lowest:,.0f}, the lowest objective of these. A dash: never."
    columns = ["fit", "epochs", "passes", "seconds", *(f"s to a gap of {gap:g}" for gap in GAPS), "last gap"]
    table = Table("Seconds to a relative gap", columns, note=note)
    for name, found in results.items():
        table.add(
            name,
            f"{found['epochs']:,}",
            f"{found['passes'][-1]:,.0f}",
            digits(found["seconds"][-1]),
            *(digits(reached(results, name, gap)) for gap in GAPS),
            digits(found["objective"][-1] / lowest - 1),
        )
    return table


def figures(rows: Rows, settings: dict[str, Any]) -> dict[str, Figure]:
    """Return where the time of a gradient and a product goes, and the gap of fits against seconds."""
    found = {}
    costs = part(rows, "costs", settings["times"][0])
    if costs:
        found["parts"] = _drawn_parts(costs)
    if part(rows, "fits"):
        found["fits"] = _drawn_fits(part(rows, "fits"))
    return found


def _drawn_parts(costs: Results) -> Figure:
    figure, axes = grid(2, columns=2, size=(5.6, 3.6))
    for ax, (which, title) in zip(
        axes, (("of gradient", "gradient"), ("of product", "product")), strict=True
    ):
        names = list(costs["tf32"][which])
        places = np.arange(len(names))
        for shift, (precision, said) in zip((-0.2, 0.2), PRECISIONS.items(), strict=True):
            times = [costs[precision][which][name]["ms"] for name in names]
            ax.barh(places + shift, times, 0.38, label=said, color=PALETTE[list(PRECISIONS).index(precision)])
        ax.set_yticks(places, names, fontsize=8)
        ax.invert_yaxis()
        tidy_chart(ax, "ms", "", title)
    legend_below(figure, axes[0], columns=2)
    return figure


def _drawn_fits(results: Results) -> Figure:
    figure, (ax,) = grid(1, columns=1, size=(6.4, 4.0))
    for name, look in looks(list(results)).items():
        gaps = np.array(results[name]["objective"]) / least(results) - 1
        shown = gaps > 1e-5
        at = np.array(results[name]["seconds"])[shown]
        style: dict[str, Any] = {"linewidth": 1.5, "markersize": 4, **look}
        ax.plot(at, gaps[shown], label=name, markevery=max(1, len(at) // 8), **style)
    ax.axhline(GAP, color="0.7", linewidth=1, zorder=0)
    log_scale(ax, "x", "y")
    tidy_chart(ax, "seconds", "(L - L*) / L*", "")
    legend_below(figure, ax, columns=2)
    return figure
