"""Tables and figures of the comparison with cblearn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks._figures import MARKERS, PALETTE, grid, log_scale, tidy_chart
from benchmarks._tables import Table, best_in_bold, checks, digits, spread

Results = list[dict[str, Any]]
Line = tuple[str, str, str, bool | None]

DEFAULT, AUTO, BRIEF = "nearer", "nearer auto", "nearer in a quarter second"
TOLERANCE = 0.003  # ends no worse
TIMES_FASTER = {"planted-100": 10.0, "planted-3000": 50.0}
DEFAULT_BEHIND = 0.01


def by_data(rows: Results, settings: dict[str, Any]) -> dict[str, Results]:
    """Return the results of the measured data sets, by split."""
    found = {
        name: [row["results"] for row in rows if row["cell"]["data"] == name] for name in settings["order"]
    }
    return {name: results for name, results in found.items() if results}


def values(found: Results, rival: str, what: str) -> list[float]:
    """Return error or seconds of a rival on every split; empty if it failed or did not run on some."""
    there = [results.get(rival, {}).get(what) for results in found]
    return [] if None in there else there  # type: ignore[return-value]


def measured(found: Results, rivals: Iterable[str]) -> list[str]:
    """Return those of some rivals that finished every split of a data set."""
    return [rival for rival in rivals if values(found, rival, "error")]


def mean_error(found: Results, rival: str) -> float:
    """Return the mean held-out error of a rival; infinity if it did not finish every split."""
    errors = values(found, rival, "error")
    return float(np.mean(errors)) if errors else np.inf


def best_peer(found: Results, settings: dict[str, Any]) -> str | None:
    """Return the estimator of cblearn with the smallest mean error among those that finished every split."""
    finished = measured(found, settings["cblearn"])
    return min(finished, key=lambda name: mean_error(found, name), default=None)


def equal_peer(found: Results, settings: dict[str, Any], best: str, clock: str = "seconds") -> str:
    """Return the quickest estimator of cblearn whose error is within `TOLERANCE` of that of its best one."""
    limit = mean_error(found, best) + TOLERANCE
    good = [name for name in settings["cblearn"] if mean_error(found, name) <= limit]
    return min(good, key=lambda name: float(np.median(values(found, name, clock))))


def summarise(rows: Results, settings: dict[str, Any]) -> list[Table]:
    """Return the checks, a table of errors and times for each data set, and the failures."""
    data = by_data(rows, settings)
    lines = [line for name, found in data.items() for line in _checks(name, found, settings)]
    tables = [error_table(name, found, settings, note=_chosen(found)) for name, found in data.items()]
    return [checks(lines), *tables, _failures(data, settings)]


def _checks(name: str, found: Results, settings: dict[str, Any]) -> Iterator[Line]:
    best = best_peer(found, settings)
    if best is None or not values(found, AUTO, "error"):
        yield f"{name}: against the best of cblearn", "-", "no rival finished", None
        return
    yield _auto_check(name, found, best)
    behind = mean_error(found, DEFAULT) - mean_error(found, best)
    yield (
        f"{name}: error, default - {best}",
        f"at most {DEFAULT_BEHIND}",
        f"{behind:+.4f}",
        behind <= DEFAULT_BEHIND,
    )
    yield from _speed_checks(name, found, settings, best)


def _auto_check(name: str, found: Results, best: str) -> Line:
    differences = np.subtract(values(found, AUTO, "error"), values(found, best, "error"))
    one = float(differences.std(ddof=1) / np.sqrt(len(differences))) if len(differences) > 1 else 0.0
    mean = float(differences.mean())
    what = f'{name}: error, loss="auto" - {best}'
    return what, "at most one standard error", f"{mean:+.4f} ± {one:.4f}", mean <= one


def _speed_checks(name: str, found: Results, settings: dict[str, Any], best: str) -> Iterator[Line]:
    """Yield how many times faster ours are than cblearn's best, and than its quickest of equal accuracy."""
    for ours, called in ((DEFAULT, "default"), (BRIEF, BRIEF)):
        as_good = mean_error(found, ours) <= mean_error(found, best) + TOLERANCE
        for peer in dict.fromkeys((best, equal_peer(found, settings, best))):
            ratios = np.divide(values(found, peer, "seconds"), values(found, ours, "seconds"))
            faster = float(np.median(ratios))
            target = TIMES_FASTER.get(name) if ours == DEFAULT else None
            holds = None if target is None else as_good and faster >= target
            aim = "-" if target is None else f"at least {target:g}, no worse than {TOLERANCE} above {best}"
            shown = f"{digits(faster)}{'' if as_good else ' (but worse)'}"
            yield f"{name}: time of {peer} / {called}", aim, shown, holds


def title(name: str, settings: dict[str, Any]) -> str:
    """Return the title of a data set's table and panel."""
    if name in settings["human"]:
        return f"{name}: p = {settings['human'][name]}"
    size = settings["planted"][name]
    return f"{name}: n = {size['n']:,}, p = {size['p']}, {size['train']:,} noise-free triplets"


def error_table(
    name: str, found: Results, settings: dict[str, Any], clock: str = "seconds", note: str = ""
) -> Table:
    """Return the errors and times of all rivals on a data set."""
    unit = {"seconds": "seconds", "cpu_seconds": "processor seconds"}[clock]
    columns = ["rival", "held-out error, mean ± standard error", f"{unit}, median (quartiles)"]
    table = Table(f"{title(name, settings)}; {len(found)} splits", columns, note=note)
    rivals = measured(found, [*settings["ours"], *settings["cblearn"]])
    means = [mean_error(found, rival) for rival in rivals]
    texts = [
        f"{mean:.4f} ± {standard_error(found, rival):.4f}" for rival, mean in zip(rivals, means, strict=True)
    ]
    for rival, text in zip(rivals, best_in_bold(texts, means), strict=True):
        shown = rival if rival in settings["ours"] else f"cblearn {rival}"
        table.add(shown, text, spread(values(found, rival, clock)))
    return table


def standard_error(found: Results, rival: str) -> float:
    """Return the standard error of a rival's mean held-out error."""
    errors = values(found, rival, "error")
    return float(np.std(errors, ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else 0.0


def _chosen(found: Results) -> str:
    """Return what loss="auto" chose, and how often."""
    picks = [results[AUTO]["chose"] for results in found if "chose" in results[AUTO]]
    texts = [", ".join(f"{key} {value}" for key, value in pick.items()) for pick in picks]
    counts = {text: texts.count(text) for text in sorted(set(texts))}
    listed = "; ".join(f"{text} ({count} times)" for text, count in counts.items())
    return f'`loss="auto"` chose {listed}.' if listed else ""


def _failures(data: dict[str, Results], settings: dict[str, Any]) -> Table:
    table = Table("Failures and time-outs", ["data", "rival", "what happened"])
    for name, found in data.items():
        for rival in [*settings["ours"], *settings["cblearn"]]:
            reasons = {results[rival]["failure"] for results in found if "failure" in results[rival]}
            if reasons:
                first = min(reasons, key=len).replace("\n", " ")
                table.add(name, rival, first)
    return table


def draw(rows: Results, settings: dict[str, Any]) -> dict[str, Figure]:
    """Draw held-out error against fit time, one panel per data set: the lower left corner is best."""
    data = by_data(rows, settings)
    if not data:
        return {}
    figure, axes = grid(len(data), columns=3, size=(4.4, 3.8))
    for ax, (name, found) in zip(axes, data.items(), strict=True):
        for side, rivals in enumerate((list(settings["ours"]), settings["cblearn"])):
            drawn = measured(found, rivals)
            named = {DEFAULT, AUTO} if side == 0 else _frontier(found, drawn)
            for rival in drawn:
                _draw_point(ax, found, rival, side, rival if rival in named else "")
        log_scale(ax, "x")
        tidy_chart(ax, "seconds of a fit", "held-out error", title(name, settings).split(", p")[0])
    _legend(axes[0])
    return {"error-time": figure}


def _frontier(found: Results, rivals: list[str]) -> set[str]:
    """Return the rivals that no other one beats in both error and time."""
    place = {r: (mean_error(found, r), float(np.median(values(found, r, "seconds")))) for r in rivals}
    return {
        r for r in rivals if not any(place[o][0] < place[r][0] and place[o][1] < place[r][1] for o in rivals)
    }


def _draw_point(ax: Axes, found: Results, rival: str, side: int, label: str) -> None:
    """Draw medians, with whiskers between the quartiles."""
    seconds, errors = values(found, rival, "seconds"), values(found, rival, "error")
    x, y = float(np.median(seconds)), float(np.median(errors))
    colour = PALETTE[side]
    ax.plot(x, y, MARKERS[side], color=colour, markersize=5)
    ax.plot(np.quantile(seconds, [0.25, 0.75]), [y, y], color=colour, linewidth=1)
    ax.plot([x, x], np.quantile(errors, [0.25, 0.75]), color=colour, linewidth=1)
    ax.annotate(label, (x, y), xytext=(4, 3), textcoords="offset points", fontsize=7, color=colour)


def _legend(ax: Axes) -> None:
    for side, name in enumerate(("nearer: every loss", "cblearn: every estimator")):
        ax.plot([], [], MARKERS[side], color=PALETTE[side], label=name)
    ax.legend(fontsize=7, frameon=False)
