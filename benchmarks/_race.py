"""The solvers of the SVRG-SBB paper side by side on one problem: test error against gradient evaluations.

All start at the same points. The clock of a fit stands still while the test error is taken. SVRG and SGD
take the best constant step of a grid of powers of two, tuned on other seeds than those reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from benchmarks._figures import MUTED, band, grid, legend_below, log_scale, looks, tidy_chart
from benchmarks._runner import Job, Skip, rotated
from benchmarks._store import Cell
from benchmarks._tables import Number, median
from nearer import Comparisons, OrdinalEmbedding
from nearer.metrics import triplet_error
from nearer.solvers import SGD, SVRG, GradientDescent, Solver

TUNED = ("SGD", "SVRG")


@dataclass
class Problem:
    """Comparisons to learn from, comparisons to be judged by, and where everybody starts."""

    train: Comparisons
    test: Comparisons
    start: np.ndarray


@dataclass
class Trace:
    """A callback: takes the test error, notes when it reached the target, ends a fit that has shown all."""

    problem: Problem
    targets: list[float]  # the last is the one that matters
    curve_evaluations: float  # a fit goes on at least so far, in units of the number of comparisons
    reached: dict[str, dict[str, float]] = field(default_factory=dict)
    evaluations: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    step: list[float] = field(default_factory=list)

    def __call__(self, progress: Any) -> bool:
        points = progress.points
        if not np.isfinite(points).all():
            return True
        passes = progress.evaluations / len(self.problem.train)
        self.evaluations.append(round(passes, 2))
        self.error.append(round(triplet_error(points, self.problem.test), 4))
        self.step.append(float(f"{progress.step:.4g}"))
        for target in self.targets:
            if self.error[-1] <= target and str(target) not in self.reached:
                self.reached[str(target)] = {
                    "seconds": round(progress.seconds, 7),
                    "epochs": progress.epoch,
                    "evaluations": round(passes, 2),
                }
        return len(self.reached) == len(self.targets) and passes >= self.curve_evaluations


def solver(rival: str, steps: dict[str, float]) -> Solver:
    """The solver behind a name of the paper's table; `steps` are the tuned ones."""
    if rival == "batch":
        return GradientDescent()
    if rival == "SGD":
        return SGD(step=steps["SGD"], batch_size=1)
    if rival == "SVRG":
        return SVRG(step=steps["SVRG"], batch_size=1)
    if rival == "SBB0":
        return SVRG(step="bb", batch_size=1)
    return SVRG(step="sbb", batch_size=int(rival.removeprefix("SBB-")))


def rivals(settings: dict[str, Any]) -> list[str]:
    """The paper's names of all solvers in the race; the number is the batch size of SVRG-SBB-eps."""
    return ["batch", "SGD", "SVRG", "SBB0", *(f"SBB-{b}" for b in settings["batch_sizes"])]


def traced_fit(
    problem: Problem, loss: str, how: Solver, settings: dict[str, Any], seed: int, curve: bool = True
) -> dict[str, Any]:
    """One fit: when it reached the target, and its curves of error and step."""
    trace = Trace(problem, settings["targets"], settings["curve_passes"] if curve else 0)
    estimator = OrdinalEmbedding(
        n_components=problem.start.shape[1],
        loss=loss,
        l2=0.0,
        solver=how,
        init=problem.start,
        tol=0.0,
        max_epochs=100_000,
        max_evaluations=int(settings["max_passes"] * len(problem.train)),
        random_state=seed,
        callback=trace,
    ).fit(problem.train)
    return measurements(trace, estimator.result_.stop_reason, settings)


def measurements(trace: Trace, stop_reason: str, settings: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a traced fit."""
    shown = (
        np.searchsorted(trace.evaluations, settings["curve_passes"]) + 1
    )  # the first beyond, to end the curve
    return {
        "reached": trace.reached,
        "final_error": trace.error[-1],
        "mean_error": round(float(np.mean(trace.error[:shown])), 5),
        "stop_reason": stop_reason,
        "evaluations": trace.evaluations[:shown],
        "error": trace.error[:shown],
        "step": trace.step[:shown],
    }


def race_cells(settings: dict[str, Any]) -> list[Cell]:
    """Tuning cells first, then the race."""
    tuning = [settings["tuning_from"] + seed for seed in range(settings["tuning_seeds"])]
    return [
        {"part": part, "loss": loss, "seed": seed}
        for part, seeds in (("tune", tuning), ("race", range(settings["seeds"])))
        for seed in seeds
        for loss in settings["losses"]
    ]


def race(cell: Cell, job: Job, problem: Problem) -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure a cell: all steps of the grid, or all solvers, in an order that changes with the seed."""
    if cell["part"] == "tune":
        yield from _tune(cell, job, problem)
        return
    steps = best_steps(job.rows, cell["loss"], job.settings)
    for rival in rotated(rivals(job.settings), cell["seed"]):
        if rival not in job.done:
            found = traced_fit(problem, cell["loss"], solver(rival, steps), job.settings, cell["seed"])
            if rival in TUNED:
                found["tuned_step"] = steps[rival]
            if not rival.startswith("SBB"):
                del found["step"]  # a constant, or of no interest
            yield rival, found


def _tune(cell: Cell, job: Job, problem: Problem) -> Iterator[tuple[str, dict[str, Any]]]:
    for rival in TUNED:
        for power in range(*job.settings["powers"]):
            name = f"{rival} {power}"
            if name not in job.done:
                how = solver(rival, {rival: 2.0**power})
                curve = not job.settings["targets"]
                found = traced_fit(problem, cell["loss"], how, job.settings, cell["seed"], curve)
                yield (
                    name,
                    {key: found[key] for key in ("reached", "final_error", "mean_error", "stop_reason")},
                )


def best_steps(rows: list[dict[str, Any]], loss: str, settings: dict[str, Any]) -> dict[str, float]:
    """The step of SGD and SVRG that reached the target with the fewest evaluations, by the median seed.

    The hardest target that any step reaches counts; where there is none, the mean error along the way.
    """
    tuned = [row["results"] for row in rows if row["cell"]["part"] == "tune" and row["cell"]["loss"] == loss]
    if len(tuned) < settings["tuning_seeds"]:
        raise Skip("the steps of SGD and SVRG are not tuned yet: run the cells with part=tune first")

    def badness(rival: str, power: int) -> list[float]:
        found = [results[f"{rival} {power}"] for results in tuned]
        passes = [
            median(reached(one, "evaluations", target) for one in found)
            for target in settings["targets"][::-1]
        ]
        error = float(np.median([one["mean_error"] for one in found]))
        return [*(np.inf if count is None else count for count in passes), error]

    powers = range(*settings["powers"])
    return {rival: 2.0 ** min(powers, key=lambda power: badness(rival, power)) for rival in TUNED}


def reached(result: dict[str, Any], what: str, target: float) -> Number:
    """Seconds, epochs or evaluations until a target; None where it was never reached."""
    return result["reached"].get(str(target), {}).get(what)


def hardest(rows: list[dict[str, Any]], loss: str, settings: dict[str, Any]) -> float | None:
    """The last target that some solver reached on most seeds."""
    for target in settings["targets"][::-1]:
        for rival in rivals(settings):
            if (
                median(reached(results[rival], "epochs", target) for results in of_loss(rows, loss))
                is not None
            ):
                return target
    return None


def of_loss(rows: list[dict[str, Any]], loss: str) -> list[dict[str, Any]]:
    """The results of the race's cells of one loss, by rival."""
    return [row["results"] for row in rows if row["cell"]["part"] == "race" and row["cell"]["loss"] == loss]


def on_grid(result: dict[str, Any], what: str, at: np.ndarray) -> np.ndarray:
    """A curve at given numbers of evaluations; a fit that ended early stays where it is, unless it blew up."""
    beyond = np.nan if result["stop_reason"] == "diverged" else result[what][-1]
    return np.interp(at, result["evaluations"], result[what], right=beyond)


def draw_errors(rows: list[dict[str, Any]], settings: dict[str, Any], names: dict[str, str]) -> Figure:
    """Test error against passes over the data, a panel a loss, all solvers in each."""
    figure, axes = grid(len(settings["losses"]))
    at = np.linspace(0, settings["curve_passes"], 121)
    looked = looks(rivals(settings))
    for ax, loss in zip(axes, settings["losses"], strict=True):
        for rival, look in looked.items():
            curves = [on_grid(results[rival], "error", at) for results in of_loss(rows, loss)]
            band(ax, at, curves, rival, look)
        for target in settings["targets"]:
            ax.axhline(target, color=MUTED, linewidth=0.8, linestyle=":")
        tidy_chart(ax, "gradient evaluations / number of comparisons", "test error", names[loss])
    legend_below(figure, axes[0], columns=5)
    return figure


def draw_steps(rows: list[dict[str, Any]], settings: dict[str, Any], names: dict[str, str]) -> Figure:
    """Step size of SVRG-SBB against epochs, a panel a loss."""
    figure, axes = grid(len(settings["losses"]))
    shown = [rival for rival in rivals(settings) if rival.startswith("SBB")]
    looked = looks(shown)
    for ax, loss in zip(axes, settings["losses"], strict=True):
        for rival in shown:
            steps = [results[rival]["step"] for results in of_loss(rows, loss)]
            length = max(len(step) for step in steps)
            padded = [np.pad(step, (0, length - len(step)), constant_values=np.nan) for step in steps]
            band(ax, np.arange(length), padded, rival, looked[rival])
        log_scale(ax, "y")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        tidy_chart(ax, "epoch", "step of one comparison", names[loss])
    legend_below(figure, axes[0], columns=4)
    return figure
