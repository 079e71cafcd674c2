"""What a fit leaves behind, and what a callback sees on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearer._schema import COUNT, Array, Fields, Literal, MayLack, Number, Plain, Record

#: why a fit may end
STOP_REASONS = (
    "tolerance",
    "epochs",
    "evaluations",
    "seconds",
    "callback",
    "interrupted",
    "diverged",
)
#: columns of a history
_HISTORY = ("epoch", "objective", "seconds", "evaluations", "step")
#: details that reports count on
_TIMES = dict.fromkeys(("choice_seconds", "compile_seconds"), MayLack(Number(at_least=0)))


@dataclass(frozen=True)
class Result:
    """The course of a fit: always there, never printed.

    Attributes
    ----------
    objective : float
        Value at the points that were kept (the best seen).
    stop_reason : str
        One of `STOP_REASONS`.
    n_epochs, n_evaluations : int
        Passes recorded, and derivatives of single comparisons taken (a line search's values count one each).
    seconds : float
        Time of the solver alone; callbacks do not count.
    history : dict of arrays
        "epoch", "objective", "seconds", "evaluations", "step", one entry a record, the start included. The objective
        of an epoch of SGD or Adam is the mean that its batches met, not the exact one at its end.
    details : dict
        What was used and what automatic choices chose, with the held-out errors they chose by.
    """

    objective: float
    stop_reason: str
    n_epochs: int
    n_evaluations: int
    seconds: float
    history: dict[str, np.ndarray]
    details: dict[str, Any] = field(default_factory=dict)
    _schema = Fields(
        objective=Number(finite=False),
        stop_reason=Literal(*STOP_REASONS),
        n_epochs=COUNT,
        n_evaluations=COUNT,
        seconds=Number(at_least=0),
        history=Record(dict.fromkeys(_HISTORY, Array("records", kinds="fiu", finite=False))),
        details=Record(_TIMES, others=Plain()),
    )

    def __repr__(self) -> str:
        return (
            f"Result(objective={self.objective:.6g}, stop_reason={self.stop_reason!r}, n_epochs={self.n_epochs}, "
            f"n_evaluations={self.n_evaluations}, seconds={self.seconds:.3g})"
        )


@dataclass(frozen=True)
class Progress:
    """One record of a running fit, given to callbacks.

    `points` is a read-only look at the solver's own array: copy it to keep or to change it. `fraction` is the share of
    the tightest budget used up.
    """

    epoch: int
    objective: float
    seconds: float
    evaluations: int
    step: float
    points: np.ndarray
    fraction: float
