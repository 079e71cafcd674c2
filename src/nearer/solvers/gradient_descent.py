"""Batch gradient descent with a line search, for parameters of any kind."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer._utils.namespaces import namespace
from nearer._utils.validation import positive, whole
from nearer.errors import InputError
from nearer.objectives.base import WithGradient, members
from nearer.objectives.parameters import VectorSpace
from nearer.solvers.backtracking import Backtracking
from nearer.solvers.base import Solver
from nearer.solvers.run import Run
from nearer.solvers.steps import CAUTION, MOST_TRAVEL, PROBE, SECANTS

#: added to sums of squares, relative to the largest, so that a coordinate without any gradient stays where it is
_LEAST_SQUARE = 1e-12


@dataclass(frozen=True)
class GradientDescent(Solver[WithGradient]):
    """Steepest descent with Armijo backtracking, or descent along the gradient divided by its own history.

    Each value in the line search counts one evaluation per term, as a gradient does.

    Parameters
    ----------
    armijo : float
        A step must bring this share of the decrease that the slope promises.
    shrink, growth : float
        Factor on a step that is too long, and on the first trial after `growth_every` steps.
    growth_every : int
        Steps between two growths.
    diagonal : bool
        Divide the gradient by the root of the sum of its squares so far, coordinate by coordinate, as AdaGrad does.
    """

    armijo: float = 1e-4
    shrink: float = 0.5
    growth: float = 2.0
    growth_every: int = 1
    diagonal: bool = False
    name = "batch"
    requires = members(WithGradient)

    @property
    def default_epochs(self) -> int:
        return 1000

    def __post_init__(self) -> None:
        for name in ("armijo", "shrink"):
            positive(name, getattr(self, name))
            if getattr(self, name) >= 1:
                raise InputError(f"{name} must be below 1, not {getattr(self, name)!r}")
        positive("growth", self.growth)
        if self.growth < 1:
            raise InputError(f"growth must be 1 or more, not {self.growth!r}")
        whole("growth_every", self.growth_every)

    def solve(self, objective: WithGradient, x: Any, rng: np.random.Generator, run: Run) -> Any:
        def value_at(trial: Any) -> float:
            run.count(objective.n_terms)
            return objective.value(trial)

        space: VectorSpace = objective.parameters  # type: ignore[assignment]
        value, gradient = objective.value_and_gradient(x)
        run.count(objective.n_terms)
        scaling = AdaGrad(space) if self.diagonal else None
        first = 1.0 if self.diagonal else _first_step(objective, x, gradient, run)
        search = Backtracking(
            first, armijo=self.armijo, shrink=self.shrink, growth=self.growth, every=self.growth_every
        )
        run.begin(x, value, first)
        while True:
            direction = gradient * -1.0 if scaling is None else scaling(gradient) * -1.0
            slope = space.inner(gradient, direction)
            x, step = search.move(value_at, x, value, direction, slope, space)
            value, gradient = objective.value_and_gradient(x)
            run.count(objective.n_terms)
            run.record(x, value, step)


class AdaGrad:
    """Divide gradients by the root of the sum of their squares so far."""

    def __init__(self, space: VectorSpace) -> None:
        self._space = space
        self._squares: Any = None

    def __call__(self, gradient: Any) -> Any:
        """Return the gradient divided, and add its squares to the sum."""
        squares = gradient * gradient
        self._squares = squares if self._squares is None else self._squares + squares
        least = _LEAST_SQUARE * self._space.largest(self._squares) or 1.0
        return gradient / namespace(gradient).sqrt(self._squares + least)


def _first_step(objective: WithGradient, x: Any, gradient: Any, run: Run) -> float:
    """Return a long first step: several times that of the curvature between two gradients close to the start."""
    space: VectorSpace = objective.parameters  # type: ignore[assignment]
    length, size = (math.sqrt(space.inner(v, v)) for v in (gradient, x))
    if length == 0 or size == 0:
        return 1.0
    probe = space.plus(x, -PROBE * size / length, gradient)
    _, beyond = objective.value_and_gradient(probe)
    run.count(objective.n_terms)
    change = space.plus(beyond, -1.0, gradient)
    curvature = abs(space.inner(gradient, change)) / (PROBE * size * length)
    slope = math.sqrt(space.inner(beyond, beyond) / space.inner(probe, probe))
    return min(SECANTS / (curvature + CAUTION * slope), MOST_TRAVEL * size / length)
