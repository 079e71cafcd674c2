"""What limits a fit, what a callback sees on the way, what it leaves behind, and what it takes to continue later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nearer._utils.schema import (
    COUNT,
    AnyOf,
    Array,
    Fields,
    Literal,
    MayLack,
    Number,
    Part,
    Plain,
    Record,
    optional,
)
from nearer._utils.validation import not_negative, positive, whole

#: why a fit may end
STOP_REASONS = (
    "tolerance",
    "epochs",
    "evaluations",
    "seconds",
    "callback",
    "interrupted",
    "diverged",
    "precision",
)
#: columns of a history
_ANY_ARRAY = AnyOf(*(Array(*(None,) * ndim, kinds="biuf") for ndim in range(1, 4)))
_COLUMN = Array("records", kinds="fiu", finite=False)
_HISTORY = ("epoch", "objective", "seconds", "evaluations", "step")
#: details that reports use
_TIMES = dict.fromkeys(("choice_seconds", "compile_seconds"), MayLack(Number(at_least=0)))


@dataclass(frozen=True)
class Budget:
    """When to stop: whichever comes first. `tol` is the relative decrease of the objective that an epoch must bring."""

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
        """Return this share of the seconds and evaluations."""
        most, count = self.max_seconds, self.max_evaluations
        return replace(
            self,
            max_seconds=None if most is None else share * most,
            max_evaluations=None if count is None else max(int(share * count), 1),
        )

    def less(self, seconds: float, evaluations: int) -> Budget:
        """Return what is left after earlier work; always enough for a first record."""
        most, count = self.max_seconds, self.max_evaluations
        if most is None and count is None:
            return self
        return replace(
            self,
            max_seconds=None if most is None else max(most - seconds, 1e-9),
            max_evaluations=None if count is None else max(count - evaluations, 1),
        )


@dataclass
class State:
    """The state of a run: arrays and numbers only, enough to continue later or in another process.

    Attributes
    ----------
    arrays, numbers : dict
        What the solver needs to continue.
    history : dict of arrays
        The records so far.
    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    history: dict[str, np.ndarray] = field(default_factory=dict)
    _schema = Fields(
        arrays=Record({}, others=_ANY_ARRAY),
        numbers=Record({}, others=Number(finite=False)),
        history=Record({}, others=_COLUMN),
    )

    def copy(self) -> State:
        """Return a copy: a run does not change the state that it started from."""
        return State(
            {name: array.copy() for name, array in self.arrays.items()},
            dict(self.numbers),
            dict(self.history),
        )

    def last_row(self) -> dict[str, float]:
        """Return the last record."""
        return {name: column[-1].item() for name, column in self.history.items() if len(column)}

    def first(self, name: str) -> float | None:
        """Return the first entry of a column of the history, if there is one."""
        column = self.history.get(name)
        return None if column is None or not len(column) else float(column[0])

    def joined(self, rows: list[dict[str, float]], most: int | None = None) -> dict[str, np.ndarray]:
        """Return the history with these records behind it; above `most` records, every other one goes."""
        past = len(next(iter(self.history.values()), ()))
        names = list(dict.fromkeys([*self.history, *(name for row in rows for name in row)]))
        new = np.array([[row.get(name, np.nan) for row in rows] for name in names], dtype=float)
        columns = {}
        for name, column in zip(names, new, strict=True):
            if past:
                before = self.history[name] if name in self.history else np.full(past, np.nan)
                column = np.concatenate((before, column))
            while most is not None and len(column) > most:
                column = column[::-2][::-1]  # the last one stays
            columns[name] = column
        return columns


@dataclass(frozen=True)
class Result:
    """The result of a fit: always available, never printed.

    Attributes
    ----------
    objective : float
        Value at the parameters that were kept (the best seen); NaN if the fit was cut short before it was known.
    stop_reason : str
        One of `STOP_REASONS`. "precision" means that rounding errors allow no further progress.
    n_epochs, n_evaluations : int
        Passes recorded, and derivatives of single comparisons or pairs taken (a line search's values count one each).
    seconds : float
        Time of the solver alone; callbacks do not count.
    history : dict of arrays
        "epoch", "objective", "seconds", "evaluations", "step" and the solver's own columns, one entry per record, the
        start included. The objective of an epoch of stochastic steps is the mean that they met, not the exact one at
        its end.
    details : dict
        What was used and what automatic choices chose, with the held-out errors they chose by.
    state : State, optional
        What it takes to go on, if the solver can.
    """

    objective: float
    stop_reason: str
    n_epochs: int
    n_evaluations: int
    seconds: float
    history: dict[str, np.ndarray]
    details: dict[str, Any] = field(default_factory=dict)
    state: State | None = field(default=None, compare=False)
    _schema = Fields(
        objective=Number(finite=False),
        stop_reason=Literal(*STOP_REASONS),
        n_epochs=COUNT,
        n_evaluations=COUNT,
        seconds=Number(at_least=0),
        history=Record(dict.fromkeys(_HISTORY, _COLUMN), others=_COLUMN),
        details=Record(_TIMES, others=Plain()),
        state=optional(Part(State)),
    )

    def __repr__(self) -> str:
        return (
            f"Result(objective={self.objective:.6g}, stop_reason={self.stop_reason!r}, n_epochs={self.n_epochs}, "
            f"n_evaluations={self.n_evaluations}, seconds={self.seconds:.3g})"
        )


class Progress:
    """One look at a running fit, given to callbacks and drawn by the progress bar.

    Attributes
    ----------
    epoch, evaluations : int
        Epochs and evaluations so far in this part of the fit.
    objective, step, seconds : float
        The latest objective, the length of the last step, and the time so far.
    fraction : float
        Share of the tightest limit used up.
    stage, part, parts : str, int, int
        What this part of the fit is about ("choosing l2", "fitting"), its number, and the most parts there can be.
    columns : dict
        The solver's own numbers; each is an attribute too.
    parameters
        What is being learned (points, weights, ...), to look at: copy them to keep or to change them. They are worked
        out when first asked for.
    points, w
        Other names for `parameters`.
    steps, loss : int, float
        Other names for `evaluations` and `objective`.

    Examples
    --------
    >>> seen = Progress(epoch=3, objective=0.5, columns={"rank": 2}, look=lambda: np.zeros(2))
    >>> seen.epoch, seen.rank, seen.parameters
    (3, 2, array([0., 0.]))
    """

    def __init__(
        self,
        *,
        epoch: int = 0,
        objective: float = np.nan,
        seconds: float = 0.0,
        evaluations: int = 0,
        step: float = np.nan,
        fraction: float = 0.0,
        stage: str = "",
        part: int = 1,
        parts: int = 1,
        columns: Mapping[str, float] | None = None,
        look: Callable[[], Any] | None = None,
        state: Callable[[], State] | None = None,
    ):
        self.epoch, self.objective, self.seconds = epoch, objective, seconds
        self.evaluations, self.step, self.fraction = evaluations, step, fraction
        self.stage, self.part, self.parts = stage, part, parts
        self.columns = dict(columns or {})
        self._look, self._state = look, state

    def __getattr__(self, name: str) -> float:
        columns = self.__dict__.get("columns", {})
        if name in columns:
            return columns[name]
        raise AttributeError(
            f"a look at this fit has no {name!r}; it has {', '.join(['epoch', *columns])}, ..."
        )

    @property
    def parameters(self) -> Any:
        """What is being learned."""
        return None if self._look is None else self._look()

    points = w = parameters

    def state(self) -> State | None:
        """Return counts, history and the solver's memory, from which a later run can continue."""
        return None if self._state is None else self._state()

    @property
    def steps(self) -> int:
        """Evaluations so far."""
        return self.evaluations

    @property
    def loss(self) -> float:
        """The latest objective."""
        return self.objective

    def __repr__(self) -> str:
        return f"Progress(epoch={self.epoch}, objective={self.objective:.6g}, evaluations={self.evaluations})"
