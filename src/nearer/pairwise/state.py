"""What a run of a solver of pairs leaves behind, what limits it, and what its callback sees."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearer._validation import positive, whole

_COLUMNS = ("stage", "steps", "seconds", "loss", "step")
#: rows of a history: a stream may have any number of chunks
_MOST_ROWS = 1000


@dataclass(frozen=True)
class Limits:
    """When to end a run before its schedule does: whichever comes first, seen every few thousand steps.

    Parameters
    ----------
    steps : int, optional
        Stochastic steps of this run.
    seconds : float, optional
        Of this run; callbacks do not count.

    Examples
    --------
    >>> Limits(seconds=2.5)
    Limits(steps=None, seconds=2.5)
    """

    steps: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.steps is not None:
            whole("steps", self.steps)
        if self.seconds is not None:
            positive("seconds", self.seconds)


@dataclass
class State:
    """Where a run stands: numbers and arrays only, enough to go on with further rows.

    Attributes
    ----------
    w : array (d,)
        The weights to score with.
    steps, positives, negatives : int
        Steps made, and rows of either class seen.
    stage, size, position, repeats : int
        Stages begun, rows that the present one counts on, its steps so far, and stages on all rows so far.
    seconds : float
        Time of all runs, without callbacks.
    stop_reason : str
        Why the last run ended, as `nearer.solvers.Result` says it: "epochs" is the end of the schedule, "evaluations"
        the limit of steps.
    arrays, numbers : dict
        What the solver needs to go on.
    history : dict of arrays
        "stage", "steps", "seconds", "loss" (mean loss of the pairs met) and "step" (the step's length), one entry a
        stage, pass or chunk; at most 1000, of which the older ones thin out.
    """

    w: np.ndarray
    steps: int = 0
    positives: int = 0
    negatives: int = 0
    stage: int = 0
    size: int = 0
    position: int = 0
    repeats: int = 0
    seconds: float = 0.0
    stop_reason: str = "epochs"
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    history: dict[str, np.ndarray] = field(default_factory=lambda: {name: np.empty(0) for name in _COLUMNS})

    @property
    def samples(self) -> int:
        """Rows seen."""
        return self.positives + self.negatives

    def copy(self) -> State:
        """A state of its own, so that a run leaves the one it began with as it was."""
        copies = {**vars(self), "w": self.w.copy()}
        copies["arrays"] = {name: array.copy() for name, array in self.arrays.items()}
        copies["numbers"], copies["history"] = dict(self.numbers), dict(self.history)
        return State(**copies)

    def record(self, loss: float, step: float) -> None:
        """Add a row to the history; where it has grown long, every other row goes."""
        row = (self.stage, self.steps, self.seconds, loss, step)
        for name, value in zip(_COLUMNS, row, strict=True):
            column = np.append(self.history[name], float(value))
            self.history[name] = column if len(column) <= _MOST_ROWS else column[1::2]


class PairProgress:
    """One look at a running fit, given to callbacks; a true answer ends the run.

    Attributes
    ----------
    steps, samples, stage : int
        Steps made, rows seen, and stages begun so far.
    seconds, loss : float
        Time so far, and the mean loss of the pairs met since the last look.
    w : array (d,)
        The weights that the run would give if it ended now; worked out when asked for.
    """

    def __init__(self, state: State, loss: float, weights: Callable[[], np.ndarray]):
        self.steps, self.samples, self.stage = state.steps, state.samples, state.stage
        self.seconds, self.loss = state.seconds, loss
        self._weights = weights

    @property
    def w(self) -> np.ndarray:
        return self._weights()


Callback = Callable[[PairProgress], Any]


class Watch:
    """Counts and times a run's steps into its state, and says when it is over."""

    def __init__(self, state: State, limits: Limits | None, callback: Callback | None):
        self.state = state
        self._limits = limits or Limits()
        self._callback = callback
        self._first_step, self._first_second = state.steps, state.seconds
        self._clock = time.perf_counter()
        self.over = False
        state.stop_reason = "epochs"

    def room(self, steps: int) -> int:
        """As many of these steps as the limit allows."""
        if self._limits.steps is None:
            return steps
        return min(steps, self._first_step + self._limits.steps - self.state.steps)

    def made(self, steps: int, loss: float, weights: Callable[[], np.ndarray]) -> None:
        """Take note of steps whose losses sum to `loss`."""
        state = self.state
        state.steps += steps
        state.seconds = self._first_second + time.perf_counter() - self._clock
        if self._limits.steps is not None and state.steps >= self._first_step + self._limits.steps:
            self.stop("evaluations")
        elif self._limits.seconds is not None and state.seconds - self._first_second >= self._limits.seconds:
            self.stop("seconds")
        if self._callback is not None:
            asked = time.perf_counter()
            if self._callback(PairProgress(state, loss / max(steps, 1), weights)) and not self.over:
                self.stop("callback")
            self._clock += time.perf_counter() - asked

    def stop(self, reason: str) -> None:
        """End the run for this reason."""
        self.over = True
        self.state.stop_reason = reason
