"""The one place that counts, times, records and stops a fit, whatever the solver."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nearer._points import read_only
from nearer._validation import not_negative, positive, whole
from nearer.solvers.result import Progress, Result

Callback = Callable[[Progress], object]

_BLOWN_UP = 1e6  # an objective this many times the first one is not coming back
_VANISHED = 1e-12  # one this small beside the first is solved: every comparison holds with room to spare


@dataclass(frozen=True)
class Budget:
    """When to stop: whichever comes first. `tol` is the relative decrease of the objective an epoch must bring."""

    max_epochs: int | None = None
    max_evaluations: int | None = None
    max_seconds: float | None = None
    tol: float = 1e-3

    def __post_init__(self) -> None:
        not_negative("tol", self.tol)
        if self.max_epochs is not None:
            whole("max_epochs", self.max_epochs)
        if self.max_evaluations is not None:
            whole("max_evaluations", self.max_evaluations)
        if self.max_seconds is not None:
            positive("max_seconds", self.max_seconds)

    def part(self, share: float) -> Budget:
        """This share of the seconds and evaluations."""
        most, count = self.max_seconds, self.max_evaluations
        return replace(
            self,
            max_seconds=None if most is None else share * most,
            max_evaluations=None if count is None else max(int(share * count), 1),
        )

    def less(self, seconds: float, evaluations: int) -> Budget:
        """What is left after work that was done already; always enough for a first record."""
        most, count = self.max_seconds, self.max_evaluations
        return replace(
            self,
            max_seconds=None if most is None else max(most - seconds, 1e-9),
            max_evaluations=None if count is None else max(count - evaluations, 1),
        )


class Stop(Exception):  # noqa: N818 - not an error: the ordinary end of a fit
    """Raised by `Monitor.record` to end a solver's run."""


class Monitor:
    """Counts evaluations, keeps the history and the best points, and raises `Stop` when it is time.

    Solvers call `count` as they evaluate and `record` at the end of each epoch; they hold no stopping logic.
    """

    def __init__(self, budget: Budget, callback: Callback | None = None):
        self.budget = budget
        self.callback = callback
        self.evaluations = 0
        self.epoch = -1  # the first record is the start
        self.best_value = math.inf
        self.best_points: np.ndarray | None = None
        self.reason = "epochs"
        self.details: dict[str, Any] = {}
        self._rows: list[tuple[int, float, float, int, float]] = []
        self._seconds = 0.0
        self._idle_epochs = 0
        self._best_is_exact = True
        self._start: tuple[float, np.ndarray]
        self._clock = time.perf_counter()

    def count(self, evaluations: int) -> None:
        """Add derivatives of single comparisons taken."""
        self.evaluations += evaluations

    def note(self, **details: Any) -> None:
        """Leave numbers for the result's details; the latest of a name counts."""
        self.details.update(details)

    def record(
        self,
        points: np.ndarray,
        value: float,
        step: float,
        *,
        exact: bool = True,
        settled: bool = True,
        gap: float | None = None,
    ) -> None:
        """End an epoch.

        `exact` is False where the value is a mean over points met on the way: such values do not compare with others,
        so the latest points are kept. `settled` is False while a schedule still means to make large steps. Where a
        solver knows how far at most the value is above the minimum, that `gap` is held against the tolerance instead of
        the last decrease.
        """
        self._seconds += time.perf_counter() - self._clock
        self.epoch += 1
        previous = self._rows[-1][1] if self._rows else math.inf
        self._rows.append((self.epoch, value, self._seconds, self.evaluations, step))
        self._keep(points, value, exact)
        if self.callback is not None and self.callback(self._progress(points)):
            self._stop("callback")
        self._check(previous, value, settled, gap)
        self._clock = time.perf_counter()

    def begin(self, points: np.ndarray, value: float, step: float) -> None:
        """Record the start; where another solver came before, its last record stands for it."""
        if self.epoch < 0:
            self.record(points, value, step, settled=False)
        else:
            self._keep(points, value, exact=True)

    def finish(self, value: Callable[[np.ndarray], float]) -> None:
        """Put exact values for means over an epoch, and go back to the start where nothing better was found."""
        if self.best_points is None or self._best_is_exact:
            return
        self.best_value = value(self.best_points)
        first_value, first_points = self._start
        if not self.best_value <= first_value:
            self.best_value, self.best_points = first_value, first_points

    def result(self) -> Result:
        """The history so far as arrays."""
        columns = zip(*self._rows, strict=True) if self._rows else ([] for _ in range(5))
        names = ("epoch", "objective", "seconds", "evaluations", "step")
        history = {name: np.array(column) for name, column in zip(names, columns, strict=True)}
        return Result(
            objective=float(self.best_value),
            stop_reason=self.reason,
            n_epochs=max(self.epoch, 0),
            n_evaluations=self.evaluations,
            seconds=self._seconds,
            history=history,
            details=dict(self.details),
        )

    def _keep(self, points: np.ndarray, value: float, exact: bool) -> None:
        """Keep the points if they are the best, or if what was kept before cannot be compared with them."""
        if self.best_points is None:
            self._start = value, points.copy()
        elif self._blown_up(value) or (exact and self._best_is_exact and value > self.best_value):
            return
        self.best_value, self.best_points, self._best_is_exact = value, points.copy(), exact

    def _blown_up(self, value: float) -> bool:
        return not math.isfinite(value) or value > _BLOWN_UP * max(abs(self._rows[0][1]), 1.0)

    def _check(self, previous: float, value: float, settled: bool, gap: float | None) -> None:
        first = self._rows[0][1]
        if self._blown_up(value):
            self._stop("diverged")
        idle = (
            settled and math.isfinite(previous) and abs(previous - value) <= self.budget.tol * abs(previous)
        )
        self._idle_epochs = self._idle_epochs + 1 if idle else 0
        closed = self._idle_epochs >= 2 if gap is None else gap <= self.budget.tol * abs(value)
        if (closed and self.budget.tol > 0) or value <= _VANISHED * abs(first):
            self._stop("tolerance")
        for name, used, limit in self._limits():
            if used >= limit:
                self._stop(name)

    def _limits(self) -> list[tuple[str, float, float]]:
        budget = self.budget
        limits = (
            ("epochs", self.epoch, budget.max_epochs),
            ("evaluations", self.evaluations, budget.max_evaluations),
            ("seconds", self._seconds, budget.max_seconds),
        )
        return [(name, used, limit) for name, used, limit in limits if limit is not None]

    def _progress(self, points: np.ndarray) -> Progress:
        fraction = min(1.0, max((used / limit for _, used, limit in self._limits()), default=0.0))
        return Progress(*self._rows[-1], points=read_only(points), fraction=fraction)

    def _stop(self, reason: str) -> None:
        self.reason = reason
        raise Stop(reason)
