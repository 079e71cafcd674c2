"""A line search that halves a step until the objective falls enough, for parameters of any kind."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from nearer.objectives.parameters import VectorSpace

_MOST_TRIALS = 60


class Backtracking:
    """Steps along directions of descent; each begins with the last step, which grows now and then.

    Parameters
    ----------
    first : float
        The first step to try.
    armijo : float
        A step must bring this share of the decrease that the slope promises.
    shrink, growth : float
        Factor on a step that was too long, and on the next one to try after `every` steps that were not.
    most : float
        The longest step to try.
    """

    def __init__(
        self,
        first: float,
        *,
        armijo: float = 1e-4,
        shrink: float = 0.5,
        growth: float = 2.0,
        every: int = 1,
        most: float = float("inf"),
    ):
        self.step, self._count = first, 0
        self._armijo, self._shrink, self._growth, self._every, self._most = (
            armijo,
            shrink,
            growth,
            every,
            most,
        )

    def move(
        self,
        value_at: Callable[[Any], float],
        x: Any,
        value: float,
        direction: Any,
        slope: float,
        space: VectorSpace,
    ) -> tuple[Any, float]:
        """Return where a step leads, and its length; x itself and 0 if the descent is lost in rounding.

        `slope` is the inner product of the gradient with the direction, and negative.
        """
        if self._count and self._count % self._every == 0:
            self.step = min(self.step * self._growth, self._most)
        self._count += 1
        for _ in range(_MOST_TRIALS):
            # descent is below rounding error, or the slope is not finite
            if not -self.step * slope > sys.float_info.epsilon * abs(value):
                break
            trial = space.plus(x, self.step, direction)
            if value_at(trial) <= value + self._armijo * self.step * slope:
                return trial, self.step
            self.step *= self._shrink
        return x, 0.0
