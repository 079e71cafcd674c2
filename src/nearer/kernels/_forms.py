"""The two forms in which an online kernel is held: whole, or as points whose inner products it is.

Both are plain dataclasses of arrays and numbers, so that a model file can hold them, and both learn the answers
`seen..seen + n_new` of the answers so far.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nearer._compiled.factors import MOST_SHRINK, SMALL, learn
from nearer._utils.schema import COUNT, Array, Fields, Literal, Number, Part
from nearer.kernels._certificates import Slack, WeylBound
from nearer.kernels._full import FullKernel
from nearer.kernels._rules import Rule, direction_of, draw, objects_of
from nearer.kernels._smallest_eigenpair import LowSpace
from nearer.kernels._symmetric import Symmetric

__all__ = ["Factored", "FullKernel", "LowSpace", "Slack", "Symmetric", "WeylBound", "Whole"]

#: answers that the compiled loop takes at once
_CHUNK = 65_536

#: what a scale may be: it is worked in below `SMALL`, after steps that each take less than one off
_LOG_SCALE = Number(at_least=SMALL - 1, at_most=0)

Enough = Callable[[int], bool]


@dataclass(frozen=True)
class Answers:
    """Answers by their numbers: row t is answer first + t. Weights are empty where all are one."""

    indices: np.ndarray
    weights: np.ndarray
    first: int = 0

    def __getitem__(self, number: int) -> tuple[tuple[int, ...], float]:
        """An answer and its weight."""
        row = number - self.first
        return tuple(self.indices[row].tolist()), float(self.weights[row]) if len(self.weights) else 1.0


@dataclass(frozen=True)
class Plan:
    """How answers are to be learned."""

    rule: Rule
    passes: int
    shrink: float
    seed: int
    #: a kernel with larger entries has diverged
    ceiling: float


@dataclass
class Whole:
    """The kernel `exp(log_scale) * held`; the scale makes shrinking cheap."""

    held: FullKernel
    direction: str
    log_scale: float = 0.0
    n_steps: int = 0
    _schema = Fields(
        held=Part(FullKernel, shares=("n",)),
        direction=Literal("paper", "minimal"),
        log_scale=_LOG_SCALE,
        n_steps=COUNT,
    )

    def learn(self, answers: Answers, seen: int, n_new: int, plan: Plan, enough: Enough) -> int:
        """Learn the answers from number `seen` on, one by one; return how many were learned.

        Stop early where `enough` says so, or before a step that takes the kernel beyond its ceiling.
        """
        for number in range(seen, seen + n_new):
            size = plan.rule.scheduled(number + 1)
            for repeat in range(plan.passes if number > 0 else 1):
                place = number if repeat == 0 else draw(plan.seed, number, repeat, number)
                if not self._learn_one(*answers[place], size, plan):
                    return number - seen
                if plan.shrink > 0:
                    self._shrink(size * plan.shrink)
            if enough(number + 1 - seen):
                return number + 1 - seen
        return n_new

    def _learn_one(self, answer: tuple[int, ...], weight: float, size: float, plan: Plan) -> bool:
        """Take the step for an answer; return False, without a step, where that would exceed the ceiling."""
        rows, pattern = objects_of(answer)
        direction = direction_of(pattern, self.direction)
        scale = math.exp(self.log_scale)
        block = self.held.block(rows)
        excess = scale * float(np.sum(direction.slopes * block))
        length = size * plan.rule.length(excess, direction.gain, weight) / scale
        largest = scale * (float(np.abs(block).max()) + length * direction.norm)
        if not largest <= plan.ceiling:  # NaN compares false and is caught as well
            return False
        if length > 0 and direction.norm > 0:
            self.n_steps += 1
            self.held.subtract(rows, length * direction.block, length * direction.norm)
        return True

    def _shrink(self, share: float) -> None:
        self.log_scale += math.log1p(-min(share, MOST_SHRINK))
        if self.log_scale < SMALL:
            self.held.multiply(math.exp(self.log_scale))
            self.log_scale = 0.0

    def kernel(self) -> np.ndarray:
        """The kernel, a copy."""
        return math.exp(self.log_scale) * self.held.dense()

    def grow(self, count: int, start: float, random: np.random.Generator) -> None:
        """Add objects that are like nobody yet."""
        self.held.grow(count, start / math.exp(self.log_scale))


@dataclass
class Factored:
    """The kernel of the points `exp(log_scale) * held`."""

    held: np.ndarray
    log_scale: float = 0.0
    n_steps: int = 0
    _schema = Fields(
        held=Array("n", "rank", filled=True, dtype="float64", order="C"),
        log_scale=_LOG_SCALE,
        n_steps=COUNT,
    )

    def learn(self, answers: Answers, seen: int, n_new: int, plan: Plan, enough: Enough) -> int:
        """Learn the answers from number `seen` on, one by one; return how many were learned.

        Stop early where `enough` says so, or at an answer whose distances are beyond the ceiling.
        """
        done = 0
        while done < n_new:
            count = min(_CHUNK, n_new - done)
            self.log_scale, steps, learned = learn(
                self.held,
                answers.indices,
                answers.weights,
                answers.first,
                seen + done,
                count,
                plan.passes,
                np.uint64(plan.seed),
                *plan.rule.codes(),
                plan.shrink,
                plan.ceiling,
                self.log_scale,
            )
            self.n_steps += steps
            done += learned
            if enough(done) or learned < count:
                break
        return done

    def points(self) -> np.ndarray:
        """The points, a copy."""
        return math.exp(self.log_scale) * self.held

    def kernel(self) -> np.ndarray:
        """The kernel of the points."""
        points = self.points()
        return points @ points.T

    def grow(self, count: int, start: float, random: np.random.Generator) -> None:
        """Add objects at random places."""
        more = random.normal(size=(count, self.held.shape[1])) * math.sqrt(start / self.held.shape[1])
        self.held = np.ascontiguousarray(np.vstack([self.held, more / math.exp(self.log_scale)]))
