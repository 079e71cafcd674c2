"""Solvers on planted points: Table 1 and Figures 1-2 of the SVRG-SBB paper.

100 points in 10 dimensions, 10,000 noise-free triplets to learn from and 10,000 to be judged by. Measured
is the solver's time, its epochs and its gradient evaluations until the test error is at most 0.15. One
evaluation is one derivative of one comparison: an SVRG epoch takes 3 for each comparison, and a value in
the line search of `batch` counts one each. `SBB-b` is SVRG with the stabilised Barzilai-Borwein step and
batches of b. SVRG and SGD take batches of 1 and the constant step that is best among powers of two on other
seeds. Every seed has its own points, triplets and start; the paper starts 50 times on one set. A loss that
no solver brings to 0.15 is checked at 0.2, and the checks say so. The paper's `cvx` and, for t-STE, `kernel` are
the Gram form: projected gradient over centred positive semidefinite matrices of rank 10, from the same start. They
were measured apart, with `batch` beside them once more, and have a table of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from benchmarks import _gram, _race
from benchmarks._figures import PALETTE, bars, grid, legend_below, log_scale, looks, tidy_chart
from benchmarks._runner import Job
from benchmarks._store import Cell
from benchmarks._tables import Number, Table, best_in_bold, checks, digits, median, quartiles, spread
from nearer.datasets import planted

SETTINGS: dict[str, Any] = {
    "n_objects": 100,
    "n_components": 10,
    "n_train": 10_000,
    "n_test": 10_000,
    "start_scale": 0.05**0.5,  # as the planted points
    "targets": [0.2, 0.15],  # the paper has the second
    "losses": ["gnmds", "ckl", "ste", "tste"],
    "batch_sizes": [1, 5, 10, 20, 50, 100],
    "seeds": 50,
    "tuning_seeds": 5,
    "tuning_from": 1000,
    "powers": [-12, 5],
    "curve_passes": 60,
    "max_passes": 300,
}
QUICK = {"seeds": 2, "tuning_seeds": 1, "powers": [-8, 0], "losses": ["ste", "ckl"], "max_passes": 90}

LOSS_NAMES = {"gnmds": "GNMDS", "ckl": "CKL", "ste": "STE", "tste": "t-STE"}

# Table 1's mean seconds (MATLAB calling C on a 3.3 GHz Xeon E3-1226 v3); None: the target was not reached.
PAPER: dict[str, dict[str, Number]] = {
    "gnmds": {
        "cvx": None,
        **{"batch": 4.7466, "SGD": None, "SVRG": 7.9204, "SBB0": 0.6398, "SBB-1": 0.9119, "SBB-5": 0.5298},
        **{"SBB-10": 0.4810, "SBB-20": 0.4581, "SBB-50": 0.5162, "SBB-100": 1.0431},
    },
    "ckl": {
        "cvx": None,
        **{"batch": 2.5075, "SGD": 2.4086, "SVRG": 2.4075, "SBB0": 0.7010, "SBB-1": 1.1720, "SBB-5": 0.7093},
        **{"SBB-10": 0.6484, "SBB-20": 0.6176, "SBB-100": 0.6013},
    },
    "ste": {
        "cvx": None,
        **{"batch": 3.5765, "SGD": 6.6043, "SVRG": 3.2328, "SBB0": 0.6644, "SBB-1": 1.0656, "SBB-5": 0.6354},
        **{"SBB-10": 0.5814, "SBB-20": 0.5511, "SBB-100": 0.5414},
    },
    "tste": {
        "kernel": None,
        **{"batch": 6.9228, "SGD": 7.9055, "SVRG": 3.4525, "SBB0": 0.7962, "SBB-1": 0.5935, "SBB-5": 0.3541},
        **{"SBB-10": 0.3590, "SBB-20": 0.4104, "SBB-50": 0.4421, "SBB-100": 0.5802},
    },
}


def problem(settings: dict[str, Any], seed: int) -> _race.Problem:
    """Planted points, their triplets in two parts, and a random start."""
    n, p, n_train = settings["n_objects"], settings["n_components"], settings["n_train"]
    triplets, _ = planted(n, p, n_train + settings["n_test"], random_state=seed)
    start = np.random.default_rng([seed, 1]).normal(scale=settings["start_scale"], size=(n, p))
    return _race.Problem(triplets[:n_train], triplets[n_train:], start)


def cells(settings: dict[str, Any]) -> list[Cell]:
    """Tuning seeds first, then the reported ones, then the Gram form; a cell is a loss and a seed."""
    return [*_race.race_cells(settings), *_gram.gram_cells(settings)]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile every loop."""
    small = _race.Problem(*_small(problem(settings, settings["tuning_from"])))
    short = {**settings, "targets": [], "curve_passes": 3, "max_passes": 6}
    for loss in settings["losses"]:
        for rival in _race.rivals(settings):
            how = _race.solver(rival, dict.fromkeys(_race.TUNED, 1e-3))
            _race.traced_fit(small, loss, how, short, seed=0)
        _gram.gram_fit(small, loss, short)


def _small(whole: _race.Problem) -> tuple[Any, Any, np.ndarray]:
    return whole.train[:500], whole.test[:500], whole.start


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """All solvers, or all steps of the grid, or the Gram form, on one problem."""
    how = _gram.measure if cell["part"] == _gram.PART else _race.race
    yield from how(cell, job, problem(job.settings, cell["seed"]))


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """The checks, and a table a loss."""
    losses = [loss for loss in settings["losses"] if _race.of_loss(rows, loss)]
    return [
        checks(line for loss in losses for line in _checks(rows, loss, settings)),
        *(_table(rows, loss, settings) for loss in losses),
        *_gram.tables(rows, {loss: LOSS_NAMES[loss] for loss in losses}, settings["targets"]),
        _tuned(rows, losses, settings),
    ]


def _table(rows: list[dict[str, Any]], loss: str, settings: dict[str, Any]) -> Table:
    found = _race.of_loss(rows, loss)
    loose, target = settings["targets"]
    columns = ["solver", f"ms to {target}, median (quartiles)", "epochs", "evaluations / |Q|", "reached"]
    columns += [f"ms to {loose}", "best error met", "paper, mean s"]
    table = Table(f"{LOSS_NAMES[loss]}: until test error {target}", columns)
    runs = {name: [results[name] for results in found] for name in _race.rivals(settings)}
    times = {name: [_race.reached(run, "seconds", target) for run in runs[name]] for name in runs}
    shown = best_in_bold([spread(time, 1000) for time in times.values()], [*map(median, times.values())])
    for name, text in zip(runs, shown, strict=True):
        epochs, passes = (
            [_race.reached(run, what, target) for run in runs[name]] for what in ("epochs", "evaluations")
        )
        early = [_race.reached(run, "seconds", loose) for run in runs[name]]
        least = digits(median(min(run["error"]) for run in runs[name]))
        arrived = sum(time is not None for time in times[name])
        paper = (PAPER[loss][name] or "-") if name in PAPER[loss] else "not given"
        reached = f"{arrived}/{len(runs[name])}"
        table.add(name, text, spread(epochs), spread(passes), reached, spread(early, 1000), least, paper)
    return table


def _tuned(rows: list[dict[str, Any]], losses: list[str], settings: dict[str, Any]) -> Table:
    low, high = settings["powers"][0], settings["powers"][1] - 1
    note = f"Best of 2^{low} to 2^{high} on {settings['tuning_seeds']} other seeds."
    table = Table("Tuned constant steps", ["solver", *(LOSS_NAMES[loss] for loss in losses)], note=note)
    for rival in _race.TUNED:
        steps = [_race.best_steps(rows, loss, settings)[rival] for loss in losses]
        table.add(rival, *(f"2^{round(np.log2(step))}" for step in steps))
    return table


def best_batch(rows: list[dict[str, Any]], loss: str, settings: dict[str, Any], target: float) -> str:
    """The SVRG-SBB-eps of smallest median time."""
    found = _race.of_loss(rows, loss)

    def time(name: str) -> float:
        middle = median(_race.reached(results[name], "seconds", target) for results in found)
        return np.inf if middle is None else middle

    return min((f"SBB-{b}" for b in settings["batch_sizes"]), key=time)


def ratio(rows: list[dict[str, Any]], loss: str, what: str, slow: str, quick: str, target: float) -> float:
    """Median over the seeds of slow / quick; a slow one that never arrives is infinitely slower."""
    pairs = [
        [_race.reached(results[name], what, target) for name in (slow, quick)]
        for results in _race.of_loss(rows, loss)
    ]
    ratios = [0.0 if b is None else np.inf if a is None else a / b for a, b in pairs]
    return float(np.median(ratios))


def _checks(
    rows: list[dict[str, Any]], loss: str, settings: dict[str, Any]
) -> Iterator[tuple[str, str, str, bool | None]]:
    target = _race.hardest(rows, loss, settings)
    if target is None:
        yield f"{LOSS_NAMES[loss]}: all checks", "-", "no solver reached any target", None
        return
    if target != settings["targets"][-1]:
        least = min(min(r[rival]["error"]) for r in _race.of_loss(rows, loss) for rival in r)
        yield (
            f"{LOSS_NAMES[loss]}: reached {settings['targets'][-1]}",
            "as in the paper",
            f"least {least}",
            False,
        )
    name, best = f"{LOSS_NAMES[loss]} to {target}", best_batch(rows, loss, settings, target)
    faster = ratio(rows, loss, "seconds", "SVRG", best, target)
    yield f"{name}: time of SVRG / {best}", "at least 4", digits(faster), faster >= 4
    fewer = ratio(rows, loss, "evaluations", "batch", best, target)
    yield f"{name}: evaluations of batch / {best}", "at least 3", digits(fewer), fewer >= 3
    swapped, n_pairs = _order(rows, loss, settings, target)
    listed = f"{n_pairs - len(swapped)} of {n_pairs} pairs" + (
        f"; not {', '.join(swapped)}" if swapped else ""
    )
    yield f"{name}: order of the paper's means", "all pairs", listed, not swapped


def _order(
    rows: list[dict[str, Any]], loss: str, settings: dict[str, Any], target: float
) -> tuple[list[str], int]:
    """Pairs of solvers whose order differs from the paper's, among those that the paper has 20 % apart."""
    found = _race.of_loss(rows, loss)
    shared = [name for name in _race.rivals(settings) if name in PAPER[loss]]
    ours = {name: median(_race.reached(r[name], "seconds", target) for r in found) for name in shared}
    as_time = lambda value: np.inf if value is None else value  # noqa: E731
    swapped, n_pairs = [], 0
    for a, b in combinations(shared, 2):
        quick, slow = sorted((a, b), key=lambda name: as_time(PAPER[loss][name]))
        if as_time(PAPER[loss][slow]) > 1.2 * as_time(PAPER[loss][quick]):
            n_pairs += 1
            if as_time(ours[quick]) >= as_time(ours[slow]):
                swapped.append(f"{quick} < {slow}")
    return swapped, n_pairs


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """Times, error curves (Fig. 2) and step sizes (Fig. 1)."""
    settings = {**settings, "losses": [loss for loss in settings["losses"] if _race.of_loss(rows, loss)]}
    if not settings["losses"]:
        return {}
    return {
        "time": _draw_times(rows, settings),
        "error": _race.draw_errors(rows, settings, LOSS_NAMES),
        "step": _race.draw_steps(rows, settings, LOSS_NAMES),
        "constant-step": _draw_constant_steps(rows, settings),
    }


def _draw_constant_steps(rows: list[dict[str, Any]], settings: dict[str, Any]) -> Figure:
    """Evaluations that SGD and SVRG need with each constant step of the grid; SVRG-SBB needs no such choice."""
    figure, axes = grid(len(settings["losses"]))
    powers = list(range(*settings["powers"]))
    looked = looks(_race.TUNED)
    for ax, loss in zip(axes, settings["losses"], strict=True):
        target = _race.hardest(rows, loss, settings) or settings["targets"][-1]
        tuned = [r["results"] for r in rows if r["cell"]["part"] == "tune" and r["cell"]["loss"] == loss]
        for rival, look in looked.items():
            runs = [
                [_race.reached(r[f"{rival} {power}"], "evaluations", target) for r in tuned]
                for power in powers
            ]
            middles = [np.nan if middle is None else middle for middle in map(median, runs)]
            ax.plot(powers, middles, label=f"{rival}, constant step", markersize=4, **look)
        best = best_batch(rows, loss, settings, target)
        level = median(_race.reached(r[best], "evaluations", target) for r in _race.of_loss(rows, loss))
        if level is not None:
            ax.axhline(level, color=PALETTE[2], linewidth=1.6, label="SVRG-SBB, its own step")
        log_scale(ax, "y")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        tidy_chart(ax, "log2 of the step", f"evaluations / |Q| until {target}", LOSS_NAMES[loss])
    legend_below(figure, axes[0], columns=3)
    return figure


def _draw_times(rows: list[dict[str, Any]], settings: dict[str, Any]) -> Figure:
    figure, axes = grid(len(settings["losses"]))
    names = _race.rivals(settings)
    colours = [PALETTE[0] if name.startswith("SBB-") else PALETTE[1] for name in names]
    for ax, loss in zip(axes, settings["losses"], strict=True):
        found = _race.of_loss(rows, loss)
        target = _race.hardest(rows, loss, settings) or settings["targets"][-1]
        shares = [quartiles(_race.reached(r[name], "seconds", target) for r in found) for name in names]
        shares = [tuple(None if s is None else 1000 * s for s in share) for share in shares]
        bars(ax, names, [s[1] for s in shares], [s[0] for s in shares], [s[2] for s in shares], colours)
        log_scale(ax, "x")
        tidy_chart(ax, f"ms until test error {target}", "", LOSS_NAMES[loss])
    return figure
