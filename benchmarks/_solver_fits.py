"""One problem of `solver_map` and its fits; as a program, fits timed by the clock on the wall.

`python -m benchmarks._solver_fits CELL SETTINGS` prints one line of JSON: seconds by solver, and the machine's load.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np

from benchmarks._store import Cell
from benchmarks._truncated_newton import TruncatedNewton
from nearer.datasets import planted
from nearer.losses import LOSSES
from nearer.metrics import triplet_error
from nearer.objectives import PointObjective
from nearer.solvers import (
    LBFGS,
    SVRG,
    Adam,
    Budget,
    Phases,
    Progress,
    Result,
    Solver,
    StabilizedBB,
    minimise,
)
from nearer.starts import starting_points

#: the solvers, and the number of epochs whose recorded objective is a mean over the epoch
RIVALS: dict[str, tuple[Solver, int]] = {
    "L-BFGS": (LBFGS(), 0),
    "Adam 10 + L-BFGS": (Phases((Adam(epochs=10), LBFGS())), 10),
    "Adam 30 + L-BFGS": (Phases((Adam(epochs=30), LBFGS())), 30),
    "Adam 30 + SVRG-SBB": (Phases((Adam(epochs=30), SVRG(step=StabilizedBB(first_step="careful")))), 30),
    "TNC": (TruncatedNewton(), 0),
}
#: those that are timed beside busy loops
TIMED = ("L-BFGS", "Adam 30 + SVRG-SBB")

#: CPU seconds of fits of which the median is taken, and the most fits
_ENOUGH, _MOST_FITS = 0.1, 9
#: what is kept of a course: from this share above its lowest objective on, in steps of at least the second share
_NEAR, _APART = 0.01, 0.0005


class Problem:
    """Planted answers, their objective, a start for all solvers, and further answers."""

    def __init__(self, cell: Cell, settings: dict[str, Any]):
        self.cell, self.settings = cell, settings
        self.n_answers = cell["n"] * cell["per"]
        held_out, p = settings["held_out"], cell["p"]
        # flips are a fixed share of all: questions are in random order, so the last ones are a fair sample
        answers = planted(
            cell["n"], p, self.n_answers + held_out, settings["noise"], random_state=cell["seed"]
        ).comparisons
        self.test = answers[-held_out:]
        train = answers[: self.n_answers]
        self.objective = PointObjective(train, LOSSES[cell["loss"]](), p, l2=cell["l2"])
        self.start = starting_points("auto", train, self.objective.loss, p, self._rng())

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(1000 + self.cell["seed"])

    def fit(self, name: str, tol: float) -> tuple[np.ndarray, Result, Course]:
        """Run one solver."""
        solver, mean_epochs = RIVALS[name]
        course = Course(self.objective, mean_epochs, self.settings["most_seconds"])
        points, result = minimise(
            solver, self.objective, self.start, budget=Budget(tol=tol), rng=self._rng(), callback=course
        )
        course.end()
        return points, result, course

    def measured(self, name: str) -> dict[str, Any]:
        """Return what is recorded of one solver."""
        settings = self.settings
        points, result, course = self.fit(name, settings["tol"])
        taken = [course.seconds]
        while sum(taken) < _ENOUGH and len(taken) < _MOST_FITS:
            taken.append(self.fit(name, settings["tol"])[2].seconds)
        found = {
            "seconds": float(f"{np.median(taken):.4g}"),
            "evaluations": round(result.n_evaluations / self.n_answers, 2),
            "objective": round(result.objective, 7),
            "error": triplet_error(points, self.test),
            "ended": "time-out" if result.stop_reason == "callback" else result.stop_reason,
        }
        if self.n_answers <= settings["few_answers"]:
            points, result, course = self.fit(name, settings["closer_tol"])
            found["closer"] = {
                "seconds": float(f"{course.seconds:.4g}"),
                "objective": round(result.objective, 7),
                "error": triplet_error(points, self.test),
            }
        return {**found, "near": course.near()}


class Course:
    """The objective of a fit against its CPU seconds, without those of looking at it; a callback."""

    def __init__(self, objective: PointObjective, mean_epochs: int, most_seconds: float):
        self._objective, self._mean_epochs, self._most_seconds = objective, mean_epochs, most_seconds
        self._curve: list[tuple[float, float]] = []
        self._looking = 0.0
        self._begun = time.process_time()
        self.seconds = 0.0

    def __call__(self, progress: Progress) -> bool:
        now = time.process_time()
        self.seconds = now - self._begun - self._looking
        value = progress.objective
        if 0 < progress.epoch <= self._mean_epochs:
            value = self._objective.value(progress.parameters)
        self._curve.append((self.seconds, value))
        self._looking += time.process_time() - now
        return self.seconds > self._most_seconds

    def end(self) -> None:
        """Take the time of the whole fit."""
        self.seconds = time.process_time() - self._begun - self._looking

    def near(self) -> list[tuple[float, float]]:
        """Return when which objective was first reached, from 1% above the lowest on."""
        lowest = min(value for _, value in self._curve)
        kept: list[tuple[float, float]] = []
        for seconds, value in self._curve:
            last = kept[-1][1] if kept else lowest * (1 + _NEAR)
            if value <= (last * (1 - _APART) if kept else last) or (value == lowest and value < last):
                kept.append((float(f"{seconds:.4g}"), round(value, 7)))
        return kept


def main(cell: Cell, settings: dict[str, Any]) -> None:
    """Time the solvers in turns, after a fit of each that does not count."""
    problem = Problem(cell, settings)
    wall: dict[str, list[float]] = {name: [] for name in TIMED}
    for turn in range(1 + settings["busy"]["turns"]):
        for name in TIMED:
            begun = time.perf_counter()
            minimise(
                RIVALS[name][0],
                problem.objective,
                problem.start,
                budget=Budget(tol=settings["tol"]),
                rng=np.random.default_rng(0),
            )
            if turn:
                wall[name].append(round(time.perf_counter() - begun, 5))
    print(json.dumps({"seconds": wall, "load": os.getloadavg()[0]}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), json.loads(sys.argv[2]))
