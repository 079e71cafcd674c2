"""How far to step on an answer: the update rules, and the direction of a step over the entries of the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from nearer._compiled.draws_reference import draw
from nearer._compiled.factors import (
    APART,
    CONSTANT,
    EARLY,
    EARLY_APART,
    GNMDS,
    INVERSE,
    INVERSE_ROOT,
    PASSIVE_AGGRESSIVE,
    STE,
    schedule,
)
from nearer._compiled.factors_reference import loss_of, step_length

__all__ = ["STEPS", "UPDATES", "Direction", "Plan", "Rule", "direction_of", "draw", "objects_of"]

UPDATES = {"passive-aggressive": PASSIVE_AGGRESSIVE, "ste": STE, "gnmds": GNMDS}
STEPS = {"constant": CONSTANT, "1/j": INVERSE, "1/sqrt(j)": INVERSE_ROOT}


@dataclass(frozen=True)
class Rule:
    """The length of a step, from how an answer is violated."""

    update: str
    step: str
    step_size: float
    margin: float
    max_step: float
    soft: bool

    def codes(self) -> tuple[int, int, float, float, float, bool]:
        """Return the arguments of the compiled loops."""
        return UPDATES[self.update], STEPS[self.step], self.step_size, self.margin, self.max_step, self.soft

    # the compiled functions as plain Python: single calls are not worth compiling

    def scheduled(self, number: int) -> float:
        """Return the step size for the answer with this number, counted from 1."""
        return schedule.py_func(STEPS[self.step], self.step_size, number)

    def length(self, excess: float, gain: float, weight: float) -> float:
        """Return the step for an answer with near - far = `excess`, before the step size."""
        code = UPDATES[self.update]
        return step_length(code, excess, gain, weight, self.margin, self.max_step, self.soft)

    @staticmethod
    def is_measured(number: int) -> bool:
        """Return whether the loss of the answer with this number is measured, as in the compiled loop."""
        return number % (EARLY_APART if number < EARLY else APART) == 0

    def loss(self, excess: float) -> float:
        """Return the loss of an answer with near - far = `excess`."""
        return loss_of(UPDATES[self.update], excess, self.margin)


@dataclass(frozen=True)
class Plan:
    """How answers are to be learned."""

    rule: Rule
    passes: int
    shrink: float
    seed: int
    #: a kernel with larger entries has diverged
    ceiling: float


@dataclass(frozen=True)
class Direction:
    """The block that a unit step subtracts from the kernel between the objects of an answer, each taken once."""

    block: np.ndarray
    #: derivatives of near - far by the entries: d(near - far) = sum(slopes * dK)
    slopes: np.ndarray
    #: how much a unit step lowers near - far
    gain: float
    #: the block's largest eigenvalue
    norm: float


def objects_of(answer: tuple[int, ...]) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return the objects of a triplet or quadruplet, each once, and their positions in the answer.

    >>> objects_of((5, 3, 8, 3))
    (array([5, 3, 8]), (0, 1, 2, 1))
    """
    objects = list(dict.fromkeys(answer))
    return np.array(objects), tuple(objects.index(item) for item in answer)


@cache
def direction_of(pattern: tuple[int, ...], direction: str) -> Direction:
    """Return the direction for a triplet or quadruplet of objects numbered by first appearance.

    >>> direction_of((0, 1, 2), "paper").block.astype(int)
    array([[ 0, -2,  2],
           [-2,  1,  0],
           [ 2,  0, -1]])
    >>> step = direction_of((0, 1, 2), "minimal")
    >>> step.gain, round(step.norm, 3)
    (6.0, 1.732)
    """
    pairs = ((0, 1), (0, 2)) if len(pattern) == 3 else ((0, 1), (2, 3))
    count = max(pattern) + 1
    slopes = np.zeros((count, count))
    for pair, sign in zip(pairs, (1, -1), strict=True):
        i, j = (pattern[place] for place in pair)
        slopes[i, i] += sign
        slopes[j, j] += sign
        slopes[i, j] -= sign
        slopes[j, i] -= sign
    # the paper counts the entries (i, j) and (j, i) of the gradient twice each
    block = slopes * (2 - np.eye(count)) if direction == "paper" else slopes
    return Direction(block, slopes, float(np.sum(slopes * block)), float(np.linalg.eigvalsh(block)[-1]))
