"""Tables and figures of `growth`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from matplotlib.figure import Figure

from benchmarks._figures import grid, legend_below, log_scale, looks, mark_ended, tidy_chart
from benchmarks._rank_growth import WAYS
from benchmarks._tables import Table, bounded, checks, digits, median

Rows = list[dict[str, Any]]
#: a problem: of which cells differ only by seed or split
Problem = tuple[Any, ...]

EXPONENTIAL, LINEAR, BOOSTING = WAYS
LABELS, SIMILARITIES = "labels", "similarities"
#: how many times faster exponential growth should be, and from how many features on
FASTER = {LABELS: 1.8, SIMILARITIES: 10.0}
FROM = 200


def problems(rows: Rows, part: str) -> list[Problem]:
    """Return the problems of a part, in order of their first cells."""
    return list(dict.fromkeys(_problem(row) for row in rows if row["cell"]["part"] == part))


def _problem(row: dict[str, Any]) -> Problem:
    cell = row["cell"]
    return (cell["data"], cell["beta"]) if cell["part"] == LABELS else (cell["samples"], cell["n"])


def of(rows: Rows, part: str, problem: Problem) -> Rows:
    """Return the rows of a problem."""
    return [row for row in rows if row["cell"]["part"] == part and _problem(row) == problem]


def ratio(rows: Rows, part: str, problem: Problem, way: str = LINEAR) -> tuple[float, bool]:
    """Return the median time in times of exponential growth, and whether that is only a lower bound."""
    results = [row["results"] for row in of(rows, part, problem)]
    found = median(one[way]["seconds"] / one[EXPONENTIAL]["seconds"] for one in results)
    return found or 0.0, not all(one[way]["certified"] for one in results)


def seconds_at_full_width(result: dict[str, Any]) -> float:
    """Return the seconds of a run after the first record with as many columns as the last.

    >>> seconds_at_full_width({"seconds": 5.0, "records": [[1.0, 9.0, 9.0, 1], [2.0, 8.0, 8.0, 3], [4.0, 7.0, 7.0, 3]]})
    3.0
    """
    records = result["records"]
    return float(result["seconds"] - next(record[0] for record in records if record[3] >= records[-1][3]))


def standings(rows: Rows) -> Iterator[tuple[str, str, str, bool | None]]:
    """Yield what should hold, what was measured, and whether it does."""
    for part, least in FASTER.items():
        for problem in problems(rows, part):
            if part == SIMILARITIES and problem[1] < FROM:
                continue
            times, bound = ratio(rows, part, problem)
            holds = None if bound and times < least else times >= least
            measured = bounded(times, bound)
            yield (
                f"{named(part, problem)}: time of linear growth / exponential",
                f"at least {least:g}",
                measured,
                holds,
            )


def named(part: str, problem: Problem) -> str:
    """Return a problem as a text."""
    if part == LABELS:
        return f"{problem[0]}, beta = {problem[1]:g}"
    return f"similarities, t = {problem[0]:,}, n = {problem[1]:,}"


def tables(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """Return all tables of the page."""
    return [
        checks(standings(rows)),
        _table(rows, SIMILARITIES, ["t", "n"]),
        _table(rows, LABELS, ["data", "beta"]),
    ]


def _table(rows: Rows, part: str, heads: list[str]) -> Table:
    note = (
        "Median CPU seconds to a certified gap of a thousandth, and rounds; > if the run was ended. Rank is that of "
        "the exponential run."
    )
    ratios = [f"{way} / {EXPONENTIAL}" for way in (LINEAR, BOOSTING)]
    table = Table(f"{part.capitalize()}: seconds (rounds)", [*heads, *WAYS, *ratios, "rank"], note=note)
    for problem in problems(rows, part):
        there = [row["results"] for row in of(rows, part, problem)]
        cells = [bounded(*ratio(rows, part, problem, way)) for way in (LINEAR, BOOSTING)]
        rank = digits(median(one[EXPONENTIAL]["rank"] for one in there))
        first = [f"{number:,}" if isinstance(number, int) else number for number in problem]
        table.add(*first, *(_seconds(there, way) for way in WAYS), *cells, rank)
    return table


def _seconds(results: list[dict[str, Any]], way: str) -> str:
    found = [one[way] for one in results]
    ended = "" if all(one["certified"] for one in found) else "> "
    seconds, rounds = (digits(median(one[name] for one in found)) for name in ("seconds", "rounds"))
    return f"{ended}{seconds} ({rounds})"


def figures(rows: Rows, settings: dict[str, Any]) -> dict[str, Figure]:
    """Draw seconds against features, and gaps against seconds."""
    return {"seconds": _against_size(rows, settings), "gaps": _against_time(rows, settings)}


def _against_size(rows: Rows, settings: dict[str, Any]) -> Figure:
    figure, axes = grid(len(settings["samples"]), columns=3, size=(3.4, 3.2))
    for ax, samples in zip(axes, settings["samples"], strict=True):
        for way, look in looks(list(WAYS)).items():
            sizes = [n for t, n in problems(rows, SIMILARITIES) if t == samples]
            found = [[row["results"][way] for row in of(rows, SIMILARITIES, (samples, n))] for n in sizes]
            seconds = [median(one["seconds"] for one in some) for some in found]
            ax.plot(sizes, seconds, label=way, **look)  # type: ignore[arg-type]
            mark_ended(ax, sizes, seconds, [all(one["certified"] for one in some) for some in found])
        log_scale(ax, "x", "y")
        tidy_chart(ax, "features n", "CPU seconds", f"t = {samples:,} rows")
    legend_below(figure, axes[0])
    return figure


def _against_time(rows: Rows, settings: dict[str, Any]) -> Figure:
    """Draw the gap, as a share of the objective, of the first split of every set of labels."""
    shown = [(data, settings["betas"][0]) for data in settings["labels"]]
    largest = problems(rows, SIMILARITIES)[-1:]
    parts = [(LABELS, problem) for problem in shown] + [(SIMILARITIES, problem) for problem in largest]
    figure, axes = grid(len(parts), columns=3, size=(3.4, 3.0))
    for ax, (part, problem) in zip(axes, parts, strict=True):
        there = of(rows, part, problem)
        for way, look in looks(list(WAYS)).items():
            records = there[0]["results"][way]["records"] if there else []
            seconds = [max(seconds, 1e-3) for seconds, *_ in records]
            gaps = [max(gap / objective, 1e-5) for _, objective, gap, _ in records]
            ax.plot(seconds, gaps, label=way, linewidth=1.2, **{**look, "marker": None})  # type: ignore[arg-type]
        ax.axhline(settings["tolerance"], color="0.6", linewidth=1)
        ax.set_xscale("log")
        ax.set_yscale("log")
        tidy_chart(ax, "CPU seconds", "certified gap / objective", named(part, problem))
    legend_below(figure, axes[0])
    return figure
