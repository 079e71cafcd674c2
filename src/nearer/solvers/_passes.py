"""What solvers that walk over pairs share: how a pass reports to the run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar

import numpy as np

from nearer.objectives.stochastic_pairs import TwoClassPairs
from nearer.solvers.base import Solver
from nearer.solvers.run import Run, Stop


class Pass:
    """A stage, pass or chunk: a look per block of steps, and a record at its end, even if it ends early.

    Parameters
    ----------
    run : Run
        Gets the looks and the record.
    answer : callable
        Returns the weights to score with; called only if somebody asks.
    step : float
        The length of the first step.
    epoch : int, optional
        The number of the stage, if it has several passes.
    """

    def __init__(self, run: Run, answer: Callable[[], np.ndarray], step: float, epoch: int | None = None):
        self.run, self._answer, self._step, self._epoch = run, answer, step, epoch
        self.made, self._total = 0, 0.0
        self._samples = samples_of(run.memory.numbers)

    def add(self, count: int, loss: float) -> None:
        """Count steps whose losses sum to `loss`; raise `Stop` if the run is over."""
        self.made, self._total = self.made + count, self._total + loss
        self.run.count(count)
        self.run.look(self._answer, loss / max(count, 1), self._step, samples=self._samples)

    def __enter__(self) -> Pass:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.run.end("interrupted")
        elif kind is not None and not issubclass(kind, Stop):
            return
        mean = self._total / max(self.made, 1)
        self.run.record(self._answer, mean, self._step, epoch=self._epoch, samples=self._samples)


def samples_of(numbers: dict[str, Any]) -> float:
    """Return how many rows were seen so far.

    >>> samples_of({"positives": 3.0, "negatives": 4.0})
    7.0
    """
    return numbers.get("positives", 0.0) + numbers.get("negatives", 0.0)


class OnlineSolver(Solver):
    """A solver that walks fits and streams alike: its own schedule ends a fit, and its answer is the latest average."""

    ends: ClassVar[bool] = True
    online: ClassVar[bool] = True

    @property
    def default_epochs(self) -> None:
        return None


class RowSolver(OnlineSolver):
    """A solver that passes over rows of two classes one by one: several times in a fit, once over a chunk of a stream.

    The run's memory counts the passes of fits as "repeats".
    """

    passes: int
    requires: ClassVar[frozenset[str]] = frozenset(
        {"pairs", "count_rows", "loss", "regularization", "stream"}
    )

    def solve(
        self, objective: TwoClassPairs, x: np.ndarray, rng: np.random.Generator, run: Run
    ) -> np.ndarray:
        numbers, passes = run.memory.numbers, 1 if objective.stream else self.passes
        objective.count_rows(numbers)
        run.expected = passes * objective.n_terms
        for number in range(passes):
            numbers["repeats"] = numbers.get("repeats", 0.0) + (not objective.stream)
            x = self._pass(objective, x, rng, run, number)
        return x

    @abstractmethod
    def _pass(
        self, objective: TwoClassPairs, x: np.ndarray, rng: np.random.Generator, run: Run, number: int
    ) -> np.ndarray:
        """Go over the rows from x, for the `number`-th time in this run; return the weights to score with."""
