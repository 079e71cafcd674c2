"""What a run of a solver of pairs leaves behind, what limits it, and what its callback sees."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearer._compiled.pairwise_reference import COUNT as IN_AVERAGE
from nearer._compiled.pairwise_reference import SCALE, TOTAL
from nearer._utils.schema import (
    COUNT,
    LARGEST,
    MOST,
    AnyOf,
    Array,
    Fields,
    Literal,
    MayLack,
    Number,
    Record,
    Spec,
    need,
)
from nearer._utils.validation import positive, whole
from nearer.solvers.result import STOP_REASONS

_COLUMNS = ("stage", "steps", "seconds", "loss", "step")
#: rows of a history: a stream may have any number of chunks
_MOST_ROWS = 1000
#: classes of which rows are kept of a stream, and the arrays of such rows where they are sparse
SIDES = ("positive", "negative")
SPARSE_PARTS = ("data", "indices", "indptr", "shape")
_NONE = np.empty(0)
_MOMENTS = frozenset(("means", "counts", "traces", "factors", "ridges", "latest", "average", "held"))


def _kept(side: str) -> dict[str, Spec]:
    """Rows of a class that are kept, dense or sparse."""
    indices: dict[str, Any] = {"kinds": "i", "at_least": 0, "order": "C"}
    return {
        f"{side} rows": Array(side, "m", order="C"),
        f"{side} data": Array(f"{side} entries"),
        f"{side} indices": Array(f"{side} entries", below="m", **indices),
        f"{side} indptr": Array(None, filled=True, ascending=True, **indices),
        f"{side} shape": Array(2, **indices),
    }


def _floats(*shape: str | int, **options: Any) -> Array:
    return Array(*shape, dtype="float64", order="C", **options)


#: everything that solvers keep in `State.arrays`; m is the number of weights
_ARRAYS = {
    name: MayLack(spec)
    for name, spec in {
        "v": AnyOf(_floats("m"), _floats("features", "components")),
        "lag": AnyOf(_floats("m"), _floats("features", "components")),
        "held": _floats(4),
        "threshold": _floats(2),
        "saddle": _floats(3),
        "seen": Array(2, kinds="i", at_least=0, at_most=MOST, dtype="int64"),
        "means": _floats(2, "m"),
        "counts": _floats(2, at_least=0),
        "traces": _floats(2),
        "factors": _floats(2, "height", "m"),
        "ridges": _floats(2),
        "latest": _floats("m"),
        "average": _floats("m"),
        **_kept("positive"),
        **_kept("negative"),
    }.items()
}


def _check_kept(side: str, arrays: dict[str, np.ndarray], width: int) -> None:
    """Refuse kept rows of a class whose arrays are not those of one CSR matrix."""
    parts = [arrays.get(f"{side} {part}") for part in SPARSE_PARTS]
    if all(part is None for part in parts):
        return
    need(all(part is not None for part in parts), f"some arrays of the {side} rows are missing")
    data, _, indptr, shape = (np.asarray(part) for part in parts)
    ends = (int(indptr[0]), int(indptr[-1]))
    need(ends == (0, len(data)), f"the {side} rows reach from entry {ends[0]} to {ends[1]} of {len(data)}")
    rows = len(indptr) - 1
    need(
        shape.tolist() == [rows, width],
        f"the {side} rows have the shape {shape.tolist()}, not {[rows, width]}",
    )


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
    _schema = Fields(
        w=Array("m", filled=True, dtype="float64"),
        steps=COUNT,
        positives=COUNT,
        negatives=COUNT,
        stage=COUNT,
        size=COUNT,
        position=COUNT,
        repeats=COUNT,
        seconds=Number(at_least=0),
        stop_reason=Literal(*STOP_REASONS),
        arrays=Record(_ARRAYS),
        numbers=Record(
            {"unit": MayLack(Number(above=0, at_most=LARGEST))}, others=Number(at_least=0, finite=False)
        ),
        history=Record(dict.fromkeys(_COLUMNS, Array("records", finite=False, dtype="float64"))),
    )

    def _check_loaded(self) -> None:
        arrays = self.arrays
        v, lag, held = (arrays.get(name, _NONE) for name in ("v", "lag", "held"))
        if "v" in arrays:
            need(len(held) == 4 and lag.shape == v.shape, "v comes without lag or held")
            need((v.ndim == 2) == self.is_metric, "v is not of the kind that unit tells")
            need(v.ndim == 1 or (v.size + 1 == len(self.w) and "threshold" in arrays), "v does not fit w")
        if "factors" in arrays:
            need(arrays.keys() >= _MOMENTS, "some of the moments of the classes are missing")
        elif "v" in arrays:
            need(held[SCALE] > 0 and held.min() >= 0, "held has a scale or a weight below zero")
            need(held[IN_AVERAGE] == 0 or held[TOTAL] > 0, "held has an average without weight")
        for side in SIDES:
            _check_kept(side, arrays, len(self.w))

    def is_sound(self) -> bool:
        """Whether the weights are numbers whose squares are numbers too; otherwise the run has diverged."""
        return bool((np.abs(self.w) <= LARGEST).all())  # a comparison with NaN is false

    @property
    def is_metric(self) -> bool:
        """Whether the weights are those of a distance, with a threshold behind them."""
        return "unit" in self.numbers

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
