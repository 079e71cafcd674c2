"""Tables and figures of the experiment `cost_growth`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks._climbing import EXACT, SOLVERS, STREAM
from benchmarks._figures import MUTED, grid, legend_below, log_scale, looks, tidy_chart
from benchmarks._footprint import WAYS
from benchmarks._tables import Number, Table, checks, digits, median, spread

Rows = list[dict[str, Any]]
Check = tuple[str, str, str, bool | None]

RIVALS = (*SOLVERS, STREAM, EXACT)
DATA = {"dense": "dense", "zipf": "sparse"}
GOALS = {"auc": "AUC within 0.005 of the best", "objective": "objective within 1/√n of its minimum"}
#: how much more a step may cost at the far end of a table and still count as independent of what grows
_SAME = 2.0


def of(rows: Rows, **wanted: Any) -> Rows:
    """The rows of cells with these entries."""
    return [row for row in rows if all(row["cell"].get(key) == value for key, value in wanted.items())]


def until(row: dict[str, Any], rival: str, goal: str, what: str) -> Number:
    """Steps, or seconds of rows lists and steps, until a goal; None where it was not reached."""
    found = row["results"].get(rival, {}).get("until", {}).get(goal)
    if found is None:
        return None
    return found["steps"] if what == "steps" else found["prepared"] + found["seconds"]


def medians(
    rows: Rows, settings: dict[str, Any], data: str, rival: str, goal: str, what: str
) -> list[Number]:
    """One number a size; None where the rival did not take part, or got there in less than half of the trials."""
    found = []
    for n in settings["sizes"]:
        there = [row for row in of(rows, kind="work", data=data, n=n) if rival in row["results"]]
        found.append(median([until(row, rival, goal, what) for row in there]))
    return found


def slope(sizes: list[int], values: list[Number]) -> Number:
    """The power of n with which values grow: least squares in logarithms; None for less than three values.

    >>> round(slope([10, 100, 1000], [3.0, 30.0, 300.0]), 6)
    1.0
    """
    there = [(n, value) for n, value in zip(sizes, values, strict=True) if value is not None and value > 0]
    if len(there) < 3:
        return None
    n, value = np.log(np.array(there, dtype=float)).T
    return float(np.polyfit(n, value, 1)[0])


def tables(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """All of the page."""
    return [
        checks([*_work_checks(rows, settings), *_cost_checks(rows, settings)]),
        *(_work_table(rows, settings, data, goal) for goal in GOALS for data in settings["data"]),
        *(_reached_table(rows, settings, data) for data in settings["data"]),
        *_step_tables(rows, settings),
        _memory_table(rows, settings),
        _feature_memory_table(rows, settings),
    ]


def _work_checks(rows: Rows, settings: dict[str, Any]) -> Iterator[Check]:
    for data in settings["data"]:
        for goal, text in GOALS.items():
            for name in (*SOLVERS, STREAM):
                yield _growth_check(rows, settings, data, goal, text, name, "steps")
        yield _growth_check(rows, settings, data, "auc", GOALS["auc"], "AdaDSG", "seconds")
        yield _slower_check(rows, settings, data, "objective")
        yield _ahead_check(rows, settings, data)


def _growth_check(
    rows: Rows, settings: dict[str, Any], data: str, goal: str, text: str, name: str, what: str
) -> Check:
    """Held to what the paper proves: O(n) steps for AdaDSG, O(n√n) for DSGD; with room for the error of a slope."""
    tried = [
        n
        for n in settings["sizes"]
        if any(name in row["results"] for row in of(rows, kind="work", data=data, n=n))
    ]
    values = medians(rows, settings, data, name, goal, what)
    power, reached = slope(settings["sizes"], values), sum(value is not None for value in values)
    most = 1.55 if name.startswith("DSGD") else 1.05
    measured = f"reached at {reached} of {len(tried)} sizes"
    if power is not None:
        missed = f", {measured}" if reached < len(tried) else ""
        measured = f"n to the power {power:.2f}{missed}"
    holds = None if not tried else power is not None and power <= most and reached == len(tried)
    return f"{DATA[data]}: {name}, {what} until {text}", f"power at most {most:g}", measured, holds


def _slower_check(rows: Rows, settings: dict[str, Any], data: str, goal: str) -> Check:
    """That AdaDSG's work grows more slowly than DSGD's is what the paper's two bounds suggest."""
    ada, other = (
        slope(settings["sizes"], medians(rows, settings, data, name, goal, "steps"))
        for name in ("AdaDSG", "DSGD")
    )
    what = f"{DATA[data]}: growth of steps until {GOALS[goal]}, AdaDSG against DSGD"
    if ada is None or other is None:
        return what, "lower", "-", None
    return what, "lower", f"{ada:.2f} against {other:.2f}", ada < other


def _ahead_check(rows: Rows, settings: dict[str, Any], data: str) -> Check:
    """The paper's other claim: at equal size AdaDSG needs less."""
    n = settings["sizes"][-1]
    pairs = [
        (until(row, "AdaDSG", "objective", "steps"), until(row, "DSGD", "objective", "steps"))
        for row in of(rows, kind="work", data=data, n=n)
    ]
    share = median([ada / other if ada and other else None for ada, other in pairs])
    what = f"{DATA[data]}: steps until {GOALS['objective']}, n = {n:,}, AdaDSG / DSGD"
    return what, "below 1", digits(share), None if share is None else share < 1


def _cost_checks(rows: Rows, settings: dict[str, Any]) -> Iterator[Check]:
    sizes, features = settings["step_sizes"], settings["features"]
    for data, d in settings["data"].items():
        ends = [step_ns(of(rows, kind="step", data=data, n=n, d=d), "ordered") for n in (sizes[0], sizes[-1])]
        yield _ratio_check(f"{DATA[data]}: time a step, n = {sizes[-1]:,} / n = {sizes[0]:,}", ends, _SAME)
    for data, name in (("zipf", "sparse, as words"), ("uniform", "sparse, all features as common")):
        n = settings["rows_of_features"]
        ends = [
            step_ns(of(rows, kind="step", data=data, n=n, d=d), "ordered")
            for d in (features[0], features[-1])
        ]
        yield _ratio_check(f"{name}: time a step, d = {features[-1]:,} / d = {features[0]:,}", ends, _SAME)
    sizes = settings["memory_sizes"]
    for way in WAYS:
        ends = [bytes_of(rows, "dense", n, 50, way) for n in (sizes[0], sizes[-1])]
        yield _ratio_check(f"memory, {way}: n = {sizes[-1]:,} / n = {sizes[0]:,}", ends, 1.1)
    grown = bytes_of(rows, "dense", sizes[-1], 50, "process")
    holds = None if grown is None else grown <= 2**20
    yield f"a process grows over a stream of {sizes[-1]:,} rows", "at most 1 MiB", _size(grown), holds
    for way in ("fit, random", "stream"):
        ends = [bytes_of(rows, "zipf", sizes[0], d, way) for d in features[-2:]]
        yield _ratio_check(
            f"memory, {way}: d = {features[-1]:,} / d = {features[-2]:,}",
            ends,
            1.05 * features[-1] / features[-2],
        )


def _ratio_check(what: str, ends: list[Number], most: float) -> Check:
    low, high = ends
    ratio = None if low is None or high is None else high / low
    return what, f"at most {most:g}", digits(ratio), None if ratio is None else ratio <= most


def _work_table(rows: Rows, settings: dict[str, Any], data: str, goal: str) -> Table:
    names = (*SOLVERS, STREAM)
    table = Table(f"{DATA[data]}: work until {GOALS[goal]}", ["n", *(f"{name}: steps" for name in names)])
    table.columns += [f"{name}: ms" for name in ("AdaDSG", "DSGD", STREAM)]
    table.note = "Medians with quartiles; `-`: not reached, or not tried. Milliseconds of one core."
    for n in settings["sizes"]:
        there = of(rows, kind="work", data=data, n=n)
        if not there:
            continue
        cells = [
            spread([until(row, name, goal, "steps") for row in there if name in row["results"]])
            for name in names
        ]
        for name in ("AdaDSG", "DSGD", STREAM):
            cells.append(spread([until(row, name, goal, "seconds") for row in there], scale=1000))
        table.add(f"{n:,}", *cells)
    powers = [slope(settings["sizes"], medians(rows, settings, data, name, goal, "steps")) for name in names]
    powers += [
        slope(settings["sizes"], medians(rows, settings, data, name, goal, "seconds"))
        for name in ("AdaDSG", "DSGD", STREAM)
    ]
    table.add("grows as n to the power", *("-" if power is None else f"{power:.2f}" for power in powers))
    return table


def _reached_table(rows: Rows, settings: dict[str, Any], data: str) -> Table:
    names = ("AdaDSG", "DSGD", "AdaDSG, printed steps", "DSGD, printed steps", STREAM, EXACT)
    table = Table(
        f"{DATA[data]}: test AUC at the end of the schedule", ["n", *names, "exact: s", "AdaDSG: s"]
    )
    table.note = (
        "Medians. Seconds of one core for the whole schedule: 20 stages, and the proved minimum to 0.1%."
    )
    for n in settings["sizes"]:
        there = of(rows, kind="work", data=data, n=n)
        if not there:
            continue
        aucs = [
            median([row["results"][name]["auc"] for row in there if name in row["results"]]) for name in names
        ]
        seconds = [
            median([row["results"][name]["seconds"] for row in there if name in row["results"]])
            for name in (EXACT, "AdaDSG")
        ]
        cells = ["-" if auc is None else f"{auc:.4f}" for auc in aucs]
        table.add(f"{n:,}", *cells, *(digits(second) for second in seconds))
    return table


def step_ns(rows: Rows, walk: str) -> Number:
    """Return the median nanoseconds per step of a walk."""
    return median([float(np.median(row["results"][walk]["ns"])) for row in rows if walk in row["results"]])


def _step_tables(rows: Rows, settings: dict[str, Any]) -> Iterator[Table]:
    walks = ("ordered", "random")
    by_size = Table("Nanoseconds a step, by rows", ["n"])
    for data, d in settings["data"].items():
        by_size.columns += [f"{DATA[data]}, d = {d:,}, {walk}" for walk in walks]
    for n in settings["step_sizes"]:
        found = [of(rows, kind="step", data=data, n=n, d=d) for data, d in settings["data"].items()]
        by_size.add(f"{n:,}", *(digits(step_ns(some, walk)) for some in found for walk in walks))
    yield by_size
    n = settings["rows_of_features"]
    title = f"Nanoseconds a step, by features: {settings['entries']} entries a row, n = {n:,}"
    kinds = {"zipf": "as words", "uniform": "all as common"}
    by_features = Table(title, ["d", *(f"{kind}, {walk}" for kind in kinds.values() for walk in walks)])
    for d in settings["features"]:
        found = [of(rows, kind="step", data=data, n=n, d=d) for data in kinds]
        by_features.add(f"{d:,}", *(digits(step_ns(some, walk)) for some in found for walk in walks))
    yield by_features


def bytes_of(rows: Rows, data: str, n: int, d: int, way: str) -> Number:
    """Return the median of the bytes that a fit or a stream holds beside its data."""
    found = of(rows, kind="memory", data=data, n=n, d=d)
    return median([row["results"][way]["bytes"] for row in found if way in row["results"]])


def _size(number: Number) -> str:
    return "-" if number is None else f"{digits(number / 2**20)} MiB"


def _memory_table(rows: Rows, settings: dict[str, Any]) -> Table:
    columns = ["n", "the data", *(f"{way}: beside them" for way in WAYS), "stream: growth of its process"]
    table = Table("Memory by rows, dense, d = 50", columns)
    for n in settings["memory_sizes"]:
        cells = [_size(bytes_of(rows, "dense", n, 50, way)) for way in (*WAYS, "process")]
        table.add(f"{n:,}", _size(8.0 * n * 50), *cells)
    return table


def _feature_memory_table(rows: Rows, settings: dict[str, Any]) -> Table:
    n, (low, high) = settings["memory_sizes"][0], settings["features"][-2:]
    table = Table(
        f"Memory by features, sparse, n = {n:,}", ["d", *(f"{way}: beside the data" for way in WAYS)]
    )
    for d in settings["features"]:
        table.add(f"{d:,}", *(_size(bytes_of(rows, "zipf", n, d, way)) for way in WAYS))
    ends = [(bytes_of(rows, "zipf", n, low, way), bytes_of(rows, "zipf", n, high, way)) for way in WAYS]
    each = [None if None in both else (both[1] - both[0]) / (high - low) for both in ends]  # type: ignore[operator]
    table.add("bytes a further feature", *(digits(number) for number in each))
    return table


def figures(rows: Rows, settings: dict[str, Any]) -> dict[str, Figure]:
    """Work, and what a step costs."""
    return {"a_work": _draw_work(rows, settings), "b_cost": _draw_cost(rows, settings)}


def _draw_work(rows: Rows, settings: dict[str, Any]) -> Figure:
    looked = looks(RIVALS)
    figure, axes = grid(6, columns=3, size=(3.9, 3.3))
    shown = [(data, what, goal) for data in settings["data"] for what, goal in _PANELS]
    for ax, (data, what, goal) in zip(axes, shown, strict=True):
        for name in RIVALS:
            values = medians(rows, settings, data, name, goal, what)
            if name == EXACT and what == "seconds":
                values = [_whole(rows, data, n) for n in settings["sizes"]]
            there = [(n, value) for n, value in zip(settings["sizes"], values, strict=True) if value]
            if there or name != EXACT:
                ax.plot(
                    *(zip(*there, strict=True) if there else ([], [])),
                    label=_label(name),
                    markersize=4,
                    **looked[name],
                )
        log_scale(ax, "x", "y")
        _guide(ax, settings["sizes"])
        tidy_chart(
            ax,
            "rows",
            "steps on a pair" if what == "steps" else "seconds of one core",
            f"{DATA[data]}: {_SHORT[goal]}",
        )
    legend_below(figure, axes[2], columns=4)
    return figure


_PANELS = (("steps", "auc"), ("steps", "objective"), ("seconds", "auc"))
_SHORT = {"auc": "until AUC is within 0.005", "objective": "until objective is within 1/√n"}


def _label(name: str) -> str:
    return "exact (whole fit)" if name == EXACT else name


def _whole(rows: Rows, data: str, n: int) -> Number:
    there = of(rows, kind="work", data=data, n=n)
    return median([row["results"][EXACT]["seconds"] for row in there if EXACT in row["results"]])


def _guide(ax: Axes, sizes: list[int]) -> None:
    """A line that grows as n, through the middle of what is shown."""
    lines = [line for line in ax.get_lines() if len(line.get_xdata())]
    if lines:
        height = float(np.exp(np.mean(np.log(np.concatenate([line.get_ydata() for line in lines])))))
        middle = float(np.sqrt(sizes[0] * sizes[-1]))
        ends = np.array([sizes[0], sizes[-1]], dtype=float)
        low, high = ax.get_ylim()
        ax.plot(ends, height * ends / middle, color=MUTED, linestyle=":", linewidth=1, label="grows as n")
        ax.set_ylim(low, high)


def _draw_cost(rows: Rows, settings: dict[str, Any]) -> Figure:
    figure, axes = grid(3, columns=3, size=(3.9, 3.3))
    looked = looks(["a", "b", "c", "d"])
    lines = [(data, walk) for data in settings["data"] for walk in ("ordered", "random")]
    for look, (data, walk) in zip(looked.values(), lines, strict=True):
        d = settings["data"][data]
        values = [step_ns(of(rows, kind="step", data=data, n=n, d=d), walk) for n in settings["step_sizes"]]
        axes[0].plot(settings["step_sizes"], values, label=f"{DATA[data]}, {walk}", markersize=4, **look)
    lines = [(data, walk) for data in ("zipf", "uniform") for walk in ("ordered", "random")]
    for look, (data, walk) in zip(looked.values(), lines, strict=True):
        n = settings["rows_of_features"]
        values = [step_ns(of(rows, kind="step", data=data, n=n, d=d), walk) for d in settings["features"]]
        label = f"{'as words' if data == 'zipf' else 'all as common'}, {walk}"
        axes[1].plot(settings["features"], values, label=label, markersize=4, **look)
    for look, way in zip(looked.values(), WAYS, strict=False):
        values = [(bytes_of(rows, "dense", n, 50, way) or np.nan) / 2**20 for n in settings["memory_sizes"]]
        axes[2].plot(settings["memory_sizes"], values, label=way, markersize=4, **look)
    axes[2].plot(
        settings["memory_sizes"],
        [400 * n / 2**20 for n in settings["memory_sizes"]],
        ":",
        color=MUTED,
        label="the data",
    )
    titles = (
        ("rows", "nanoseconds a step", "a step against rows"),
        ("features", "nanoseconds a step", f"{settings['entries']} entries a row"),
        ("rows", "MiB beside the data", "memory, dense"),
    )
    for number, (ax, labels) in enumerate(zip(axes, titles, strict=True)):
        log_scale(ax, "x", *("y" if number == 2 else ""))
        if number < 2:
            ax.set_ylim(bottom=0)
        tidy_chart(ax, *labels)
        ax.legend(frameon=False, fontsize=8)
    return figure
