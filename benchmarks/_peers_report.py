"""Tables and figures of the comparison with cblearn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks._figures import MARKERS, PALETTE, grid, log_scale, tidy_chart
from benchmarks._tables import Table, best_in_bold, checks, digits, spread

Results = list[dict[str, Any]]
Line = tuple[str, str, str, bool | None]

DEFAULT, QUICK, ONE_FIT, HINDSIGHT = "nearer", "nearer quick", "nearer, one fit", "in hindsight"
LARGE = ("planted-1000", "planted-3000", "things")  # 1,000 objects or more
MOST_FITS = 2.5
#: a peer this close to our error counts as a rival in time at these sizes, and must take this many times as long
CLOSE, TIMES_FASTER = 0.015, 10.0
MOST_BEHIND_HINDSIGHT = 0.001
IN_SIGHT = 0.06
#: one thread each: on an idle machine this is the time that passes, and on a busy one it hardly depends on the others
CLOCK = "cpu_seconds"


class Difference(NamedTuple):
    """The mean difference of two errors over the splits that both finished, and its standard error."""

    mean: float
    error: float

    @property
    def no_worse(self) -> bool:
        """Whether the first is at most one standard error above the second."""
        return self.mean <= self.error

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f}"


def by_data(rows: Results, settings: dict[str, Any]) -> dict[str, Results]:
    """Return the results of the measured data sets, by split."""
    found = {
        name: [row["results"] for row in rows if row["cell"]["data"] == name] for name in settings["order"]
    }
    return {name: results for name, results in found.items() if results}


def kept_away(rows: Results, settings: dict[str, Any]) -> dict[str, Results]:
    """Return the results that had no part in setting the constants of the default."""
    tuned = settings["tuned_on"]
    unseen = [
        row for row in rows if row["cell"]["data"] in tuned["not"] or row["cell"]["split"] >= tuned["splits"]
    ]
    return by_data(unseen, settings)


def values(found: Results, rival: str, what: str) -> list[float]:
    """Return error or seconds of a rival on the splits that it finished."""
    return [results[rival][what] for results in found if what in results.get(rival, {})]


def measured(found: Results, rivals: Iterable[str]) -> list[str]:
    """Return those of some rivals that finished a split of a data set."""
    return [rival for rival in rivals if values(found, rival, "error")]


def mean_error(found: Results, rival: str) -> float:
    """Return the mean held-out error of a rival; infinity if it finished no split."""
    errors = values(found, rival, "error")
    return float(np.mean(errors)) if errors else np.inf


def both(found: Results, one: str, other: str, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Return error or seconds of two rivals on the splits that both finished."""
    pairs = [
        (results[one][what], results[other][what])
        for results in found
        if what in results.get(one, {}) and what in results.get(other, {})
    ]
    return tuple(np.array(pairs).reshape(-1, 2).T)  # type: ignore[return-value]


def difference(found: Results, one: str, other: str) -> Difference:
    """Return by how much the error of one exceeds that of the other."""
    apart = np.subtract(*both(found, one, other, "error"))
    if not len(apart):
        return Difference(np.nan, np.nan)
    error = float(apart.std(ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else 0.0
    return Difference(float(apart.mean()), error)


def times(found: Results, one: str, other: str) -> float:
    """Return the median over splits of the processor time of one divided by that of the other."""
    return float(np.median(np.divide(*both(found, one, other, CLOCK))))


def best_peer(found: Results, settings: dict[str, Any]) -> str | None:
    """Return the estimator of cblearn with the lowest error compared with our default on the same splits."""
    finished = measured(found, settings["cblearn"])
    return min(finished, key=lambda name: -difference(found, DEFAULT, name).mean, default=None)


def winner(found: Results, peer: str) -> str | None:
    """Return which of default and quick is both quicker than a peer and no worse; None if neither is."""
    for ours in (DEFAULT, QUICK):
        if times(found, peer, ours) > 1 and difference(found, ours, peer).no_worse:
            return ours
    return None


def behind_hindsight(found: Results) -> tuple[float, str]:
    """Return the default's mean error minus that of the best loss and strength in hindsight, and which that is."""
    everywhere = [results[HINDSIGHT]["errors"] for results in found]
    means = {loss: np.mean([errors[loss] for errors in everywhere], axis=0) for loss in everywhere[0]}
    loss = min(means, key=lambda name: means[name].min())
    at = int(means[loss].argmin())
    return mean_error(found, DEFAULT) - float(means[loss][at]), f"{loss} {0.8 * 0.5**at:.2g}"


def summarise(rows: Results, settings: dict[str, Any]) -> list[Table]:
    """Return the checks, the front, a table of errors and times for each data set, and the failures."""
    data = by_data(rows, settings)
    unseen = kept_away(rows, settings)
    return [
        checks([*_checks(data, settings), *_checks(unseen, settings, "not tuned on: ")]),
        _front(data, settings),
        *(error_table(name, found, settings) for name, found in data.items()),
        _failures(data, settings),
    ]


def _checks(data: dict[str, Results], settings: dict[str, Any], which: str = "") -> Iterator[Line]:
    ahead = []
    for name, found in data.items():
        best = best_peer(found, settings)
        if best is None:
            continue
        apart = difference(found, DEFAULT, best)
        ahead.append(apart.mean)
        yield (
            f"{which}{name}: error, default - {best}",
            "at most one standard error",
            str(apart),
            apart.no_worse,
        )
    if ahead:
        mean = float(np.mean(ahead))
        yield f"{which}mean over the data sets", "below 0", f"{mean:+.4f}", mean < 0
        choice = float(np.mean([behind_hindsight(found)[0] for found in data.values()]))
        yield (
            f"{which}error, default - best loss and strength in hindsight, mean over the data sets",
            f"at most {MOST_BEHIND_HINDSIGHT}",
            f"{choice:+.4f}",
            choice <= MOST_BEHIND_HINDSIGHT,
        )
    for name in () if which else LARGE:
        if name in data:
            yield from _speed_checks(name, data[name], settings)


def _speed_checks(name: str, found: Results, settings: dict[str, Any]) -> Iterator[Line]:
    fits = times(found, DEFAULT, ONE_FIT)
    yield f"{name}: time of the default / one fit", f"at most {MOST_FITS}", digits(fits), fits <= MOST_FITS
    close = close_peers(found, settings)
    if close:
        peer = min(close, key=lambda name: times(found, name, DEFAULT))
        faster = times(found, peer, DEFAULT)
        what = f"{name}: time of {peer}, the quickest within {CLOSE} of our error, / default"
        yield what, f"at least {TIMES_FASTER:g}", digits(faster), faster >= TIMES_FASTER


def close_peers(found: Results, settings: dict[str, Any]) -> list[str]:
    """Return the estimators of cblearn whose error is close to our default's, or lower."""
    rivals = measured(found, settings["cblearn"])
    return [rival for rival in rivals if difference(found, rival, DEFAULT).mean <= CLOSE]


def _front(data: dict[str, Results], settings: dict[str, Any]) -> Table:
    """Return for every estimator of cblearn which of ours is both quicker and no worse."""
    table = Table(
        "Who is both quicker and no worse, within one standard error",
        ["data", "estimator of cblearn", "ours", "its time / ours", "our error - its"],
    )
    for name, found in data.items():
        for peer in measured(found, settings["cblearn"]):
            ours = winner(found, peer)
            shown = ours or DEFAULT
            table.add(
                name,
                peer,
                ours or "**neither**",
                digits(times(found, peer, shown)),
                difference(found, shown, peer),
            )
    return table


def title(name: str, settings: dict[str, Any]) -> str:
    """Return the title of a data set's table and panel."""
    if name in settings["human"]:
        return f"{name}: p = {settings['human'][name]}"
    size = settings["planted"][name]
    return f"{name}: n = {size['n']:,}, p = {size['p']}, {size['train']:,} noise-free triplets"


def error_table(name: str, found: Results, settings: dict[str, Any]) -> Table:
    """Return the errors and times of all rivals on a data set."""
    columns = ["rival", "held-out error, mean ± standard error", "CPU seconds, median (quartiles)", "splits"]
    apart, best = behind_hindsight(found)
    chosen = [results[DEFAULT]["chose"] for results in found]
    listed = ", ".join(f"{pick} ({chosen.count(pick)})" for pick in sorted(set(chosen)))
    note = f"The default chose {listed}. In hindsight {best} is best; the default is {apart:+.4f} from it."
    table = Table(f"{title(name, settings)}; {len(found)} splits", columns, note=note)
    rivals = measured(found, [*settings["ours"], *settings["cblearn"]])
    means = [mean_error(found, rival) for rival in rivals]
    texts = [
        f"{mean:.4f} ± {standard_error(found, rival):.4f}" for rival, mean in zip(rivals, means, strict=True)
    ]
    for rival, text in zip(rivals, best_in_bold(texts, means), strict=True):
        shown = rival if rival in settings["ours"] else f"cblearn {rival}"
        table.add(shown, text, spread(values(found, rival, CLOCK)), len(values(found, rival, "error")))
    return table


def standard_error(found: Results, rival: str) -> float:
    """Return the standard error of a rival's mean held-out error."""
    errors = values(found, rival, "error")
    return float(np.std(errors, ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else 0.0


def _failures(data: dict[str, Results], settings: dict[str, Any]) -> Table:
    table = Table("Failures, time-outs and rivals not tried on every split", ["data", "rival", "why"])
    for name, found in data.items():
        for rival in [*settings["ours"], *settings["cblearn"]]:
            reasons = {results[rival]["failure"] for results in found if "failure" in results[rival]}
            if reasons:
                table.add(name, rival, min(reasons, key=lambda text: (len(text), text)).replace("\n", " "))
    return table


def draw(rows: Results, settings: dict[str, Any]) -> dict[str, Figure]:
    """Draw held-out error against fit time, one panel per data set: the lower left corner is best.

    Rivals more than `IN_SIGHT` behind the lowest error are left out: they would press the others into a line.
    """
    data = by_data(rows, settings)
    if not data:
        return {}
    figure, axes = grid(len(data), columns=3, size=(4.4, 3.8))
    for ax, (name, found) in zip(axes, data.items(), strict=True):
        lowest = min(mean_error(found, rival) for rival in (DEFAULT, *settings["cblearn"]))
        for side, rivals in enumerate(([DEFAULT, QUICK], settings["cblearn"])):
            for rival in measured(found, rivals):
                if mean_error(found, rival) <= lowest + IN_SIGHT:
                    _draw_point(ax, found, rival, side)
        log_scale(ax, "x")
        tidy_chart(ax, "CPU seconds of a fit", "held-out error", title(name, settings).split(", p")[0])
    _legend(axes[0])
    return {"error-time": figure}


def _draw_point(ax: Axes, found: Results, rival: str, side: int) -> None:
    """Draw medians, with whiskers between the quartiles."""
    seconds, errors = values(found, rival, CLOCK), values(found, rival, "error")
    x, y = float(np.median(seconds)), float(np.median(errors))
    colour = PALETTE[side]
    ax.plot(x, y, MARKERS[side], color=colour, markersize=5)
    ax.plot(np.quantile(seconds, [0.25, 0.75]), [y, y], color=colour, linewidth=1)
    ax.plot([x, x], np.quantile(errors, [0.25, 0.75]), color=colour, linewidth=1)
    ax.annotate(rival, (x, y), xytext=(4, 3), textcoords="offset points", fontsize=6, color=colour)


def _legend(ax: Axes) -> None:
    for side, name in enumerate(("nearer: default and quick", "cblearn: every estimator")):
        ax.plot([], [], MARKERS[side], color=PALETTE[side], label=name)
    ax.legend(fontsize=7, frameon=False)
