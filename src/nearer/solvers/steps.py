"""Rules for the size of a step, separate from its direction.

A rule sees snapshots: points with their full gradient, one per epoch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nearer._utils.schema import Settings
from nearer._utils.validation import not_negative, positive
from nearer.errors import InputError
from nearer.objectives.base import WithGradient


@dataclass(frozen=True)
class Snapshot:
    """Where an epoch begins. `steps` is the number of comparisons it will walk (the paper's m)."""

    points: np.ndarray
    gradient: np.ndarray
    steps: int
    epoch: int = 0


class StepRule(ABC):
    """Size of the step per comparison (the step of a batch of b is b times as long).

    `first_step` is a number or "auto": the solver then evaluates a second gradient, a short way down the first one, and
    derives the step from the curvature between the two. "careful" is a tenth of that, for a good start.
    """

    #: whether the rule needs the full gradient at every snapshot, not only at the first
    needs_gradients: ClassVar[bool] = False
    _schema = Settings()
    first_step: float | str

    @abstractmethod
    def next(self, step: float, before: Snapshot, after: Snapshot) -> float:
        """Return the step of the next epoch, from the last step and the last two snapshots."""


@dataclass(frozen=True)
class Constant(StepRule):
    """A constant step."""

    first_step: float | str = "auto"

    def __post_init__(self) -> None:
        _number_or_auto("first_step", self.first_step)

    def next(self, step: float, before: Snapshot, after: Snapshot) -> float:
        return step


@dataclass(frozen=True)
class Decay(StepRule):
    """`first_step / (1 + epoch / half_life)`."""

    first_step: float | str = "auto"
    half_life: float = 10.0

    def __post_init__(self) -> None:
        _number_or_auto("first_step", self.first_step)
        positive("half_life", self.half_life)

    def next(self, step: float, before: Snapshot, after: Snapshot) -> float:
        return step * (self.half_life + before.epoch) / (self.half_life + after.epoch)


@dataclass(frozen=True)
class StabilizedBB(StepRule):
    """Stabilised Barzilai-Borwein: `|dx|² / (|<dx, dy>| + epsilon |dx|²) / m`.

    Parameters
    ----------
    epsilon : float or "auto"
        0 is plain Barzilai-Borwein, which explodes if the curvature along dx vanishes. "auto" is a tenth of
        |gradient| / |points| at the current snapshot. This has the unit of a curvature, so the rule does not depend on
        the scale of the points or of the loss. The full gradient alone may then move the points by at most ten times
        their length per epoch.
    first_step : float, "auto" or "careful"
        Step of the first epoch; "auto" derives it from the curvature, and "careful" is a tenth of that.
    """

    epsilon: float | str = "auto"
    first_step: float | str = "auto"
    needs_gradients = True

    def __post_init__(self) -> None:
        if self.epsilon != "auto":
            not_negative("epsilon", self.epsilon)
        _number_or_auto("first_step", self.first_step)

    def next(self, step: float, before: Snapshot, after: Snapshot) -> float:
        found = secant_step(before, after, self.epsilon)
        if found is None:
            return step
        # gradient and curvature may vanish together (all comparisons hold): epsilon alone would then not limit the step
        return min(found, MOST_GROWTH * step) if self.epsilon == "auto" else found


#: "auto" epsilon relative to |gradient| / |points|, and the largest growth of its step from one epoch to the next
CAUTION = 0.1
MOST_GROWTH = 2.0


def secant_step(before: Snapshot, after: Snapshot, epsilon: float | str = "auto") -> float | None:
    """Return the stabilised Barzilai-Borwein step between two snapshots; None if it is undefined."""
    dx = after.points - before.points
    dy = after.gradient - before.gradient
    length = float(np.vdot(dx, dx))
    stabiliser = CAUTION * relative_slope(after) if epsilon == "auto" else float(epsilon)
    denominator = abs(float(np.vdot(dx, dy))) + stabiliser * length
    return length / denominator / after.steps if denominator > 0 else None


def first_step(rule: StepRule, objective: WithGradient, at: Snapshot) -> tuple[float, int]:
    """Return the step of the first epoch, and the number of evaluations that it cost."""
    if rule.first_step not in ("auto", "careful"):
        return float(rule.first_step), 0
    slope = relative_slope(at)
    if slope == 0:  # a stationary start: no step moves it
        return 1.0 / at.steps, 0
    probe = at.points - at.points.dtype.type(PROBE / slope) * at.gradient
    _, gradient = objective.value_and_gradient(probe)
    steps = max(at.steps, objective.n_terms)  # a short epoch must not lengthen the steps
    found = secant_step(at, Snapshot(probe, gradient, steps))
    # Small stochastic steps follow the gradient as it turns, so an epoch may go further than one secant step. If the
    # probe sees little curvature, the length of the points limits the way.
    travel = MOST_TRAVEL / slope / steps
    secants = 1.0 if rule.first_step == "careful" else SECANTS
    return min(secants * found, travel) if found else travel, objective.n_terms


#: length of the probe, and the longest way of the first epoch along the full gradient, in lengths of the points
PROBE = 1e-2
MOST_TRAVEL = 3.0
#: the same in steps of the probe's curvature
SECANTS = 10.0


def relative_slope(at: Snapshot) -> float:
    """Return |gradient| / |points|, which has the unit of a curvature."""
    length = float(np.linalg.norm(at.points))
    return float(np.linalg.norm(at.gradient)) / length if length > 0 else 0.0


def as_rule(step: float | str | StepRule, epsilon: float | str = "auto") -> StepRule:
    """Return the rule for a number, "sbb", "bb", "constant", "decay" or a rule."""
    if isinstance(step, StepRule):
        return step
    named: dict[str, StepRule] = {
        "sbb": StabilizedBB(epsilon=epsilon),
        "bb": StabilizedBB(epsilon=0.0),
        "constant": Constant(),
        "decay": Decay(),
    }
    if not isinstance(step, str):
        return Constant(step)
    if step not in named:
        raise InputError(f"step must be a number, one of {', '.join(named)}, or a step rule, not {step!r}")
    return named[step]


def _number_or_auto(name: str, value: float | str) -> None:
    if value not in ("auto", "careful"):
        positive(name, value)
