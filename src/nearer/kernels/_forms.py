"""The two forms of an online kernel: a whole matrix, or points whose inner products are the kernel.

Both are plain dataclasses of arrays and numbers, so that a model file can hold them. Both learn a run of answers one by
one, and answer what every kernel can be asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nearer._compiled.factors import MOST_SHRINK, SMALL, learn_and_measure
from nearer._utils.arrays import compared_distances
from nearer._utils.schema import COUNT, Array, Fields, Literal, Number, Part
from nearer.kernels._answers import Stream
from nearer.kernels._full import FullKernel, Slack, WeylBound
from nearer.kernels._rules import Plan, direction_of, draw, objects_of
from nearer.kernels._smallest_eigenpair import LowSpace
from nearer.kernels._symmetric import Symmetric
from nearer.kernels.base import KernelModel, kernel_distances, leading_eigenpairs
from nearer.losses import Loss
from nearer.losses import find as find_loss

__all__ = ["Factored", "FullKernel", "LowSpace", "Slack", "Symmetric", "WeylBound", "Whole"]

#: the scale is worked into the numbers below `SMALL`, after steps that each subtract less than one
_LOG_SCALE = Number(at_least=SMALL - 1, at_most=0)
#: numbers of a whole kernel, and answers, between two looks at the clock: about a tenth of a second
_NUMBERS, _ANSWERS = 10**7, 2048
#: answers of the compiled loop between two looks: a few milliseconds
_CHUNK = 65_536


class Learning(NamedTuple):
    """How many answers were learned; of some of them, the sum of the losses that they had when they came."""

    n_answers: int
    losses: float
    #: answers whose loss was measured
    measured: int


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

    @property
    def n_objects(self) -> int:
        """Return the number of objects."""
        return len(self.held.matrix.base)

    @property
    def highest_rank(self) -> int:
        """Return the largest rank that the kernel can have."""
        return self.n_objects

    def at_once(self, passes: int) -> int:
        """Return how many answers to learn between two looks at the clock."""
        return max(min(_NUMBERS // self.n_objects**2, _ANSWERS) // passes, 1)

    def learn(self, answers: Stream, seen: int, n_new: int, plan: Plan) -> Learning:
        """Learn the answers from number `seen` on, one by one.

        Stop before a step that would exceed the ceiling.
        """
        losses, measured = 0.0, 0
        for number in range(seen, seen + n_new):
            size = plan.rule.scheduled(number + 1)
            for repeat in range(plan.passes if number > 0 else 1):
                place = number if repeat == 0 else draw(plan.seed, number, repeat, number)
                excess = self._learn_one(*answers[place], size, plan)
                if excess is None:
                    return Learning(number - seen, losses, measured)
                if repeat == 0 and plan.rule.is_measured(number):
                    losses += plan.rule.loss(excess)
                    measured += 1
                if plan.shrink > 0:
                    self._shrink(size * plan.shrink)
        return Learning(n_new, losses, measured)

    def _learn_one(self, answer: tuple[int, ...], weight: float, size: float, plan: Plan) -> float | None:
        """Take the step for an answer and return near - far before it; None, without a step, above the ceiling."""
        rows, pattern = objects_of(answer)
        direction = direction_of(pattern, self.direction)
        scale = math.exp(self.log_scale)
        block = self.held.block(rows)
        excess = scale * float(np.sum(direction.slopes * block))
        length = size * plan.rule.length(excess, direction.gain, weight) / scale
        largest = scale * (float(np.abs(block).max()) + length * direction.norm)
        if not largest <= plan.ceiling:  # NaN compares false and is caught as well
            return None
        if length > 0 and direction.norm > 0:
            self.n_steps += 1
            self.held.subtract(rows, length * direction.block, length * direction.norm)
        return excess

    def _shrink(self, share: float) -> None:
        self.log_scale += math.log1p(-min(share, MOST_SHRINK))
        if self.log_scale < SMALL:
            self.held.multiply(math.exp(self.log_scale))
            self.log_scale = 0.0

    def kernel(self) -> np.ndarray:
        """Return the kernel, a copy."""
        return math.exp(self.log_scale) * self.held.dense()

    parameters = kernel

    def compared(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the squared distances of the two pairs of every comparison."""
        return kernel_distances(self.kernel(), indices)

    def leading(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest eigenvalues, largest first, and their eigenvectors as columns."""
        return leading_eigenpairs(self.kernel(), count)

    def grow(self, count: int, start: float, random: np.random.Generator) -> None:
        """Add objects that are similar to no other yet."""
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

    @property
    def n_objects(self) -> int:
        """Return the number of objects."""
        return len(self.held)

    @property
    def highest_rank(self) -> int:
        """Return the largest rank that the kernel can have."""
        return min(self.held.shape)

    def at_once(self, passes: int) -> int:
        """Return how many answers to learn between two looks at the clock."""
        return max(_CHUNK // passes, 1)

    def learn(self, answers: Stream, seen: int, n_new: int, plan: Plan) -> Learning:
        """Learn the answers from number `seen` on, one by one.

        Stop at an answer whose distances exceed the ceiling.
        """
        self.log_scale, steps, *learned = learn_and_measure(
            self.held,
            answers.indices,
            answers.weights,
            answers.first,
            seen,
            n_new,
            plan.passes,
            np.uint64(plan.seed),
            *plan.rule.codes(),
            plan.shrink,
            plan.ceiling,
            self.log_scale,
        )
        self.n_steps += steps
        return Learning(*learned)

    def points(self) -> np.ndarray:
        """Return the points, a copy."""
        return math.exp(self.log_scale) * self.held

    parameters = points

    def kernel(self) -> np.ndarray:
        """Return the kernel of the points."""
        points = self.points()
        return points @ points.T

    def compared(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the squared distances of the two pairs of every comparison."""
        return compared_distances(self.points(), indices)

    def leading(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest eigenvalues, largest first, and their eigenvectors as columns; zeros beyond the rank."""
        vectors, lengths, _ = np.linalg.svd(self.points(), full_matrices=False)
        missing = max(count - len(lengths), 0)
        values = np.pad(lengths**2, (0, missing))
        return values[:count], np.pad(vectors, ((0, 0), (0, missing)))[:, :count]

    def grow(self, count: int, start: float, random: np.random.Generator) -> None:
        """Add objects at random places."""
        more = random.normal(size=(count, self.held.shape[1])) * math.sqrt(start / self.held.shape[1])
        self.held = np.ascontiguousarray(np.vstack([self.held, more / math.exp(self.log_scale)]))


class HeldKernel(KernelModel):
    """What an online kernel can be asked, read from its form `held_`."""

    held_: Whole | Factored
    update: str

    @property
    def kernel_(self) -> np.ndarray:  # type: ignore[override]
        """Return the kernel, a copy."""
        check_is_fitted(self, "held_")
        return self.held_.kernel()

    @property
    def points_(self) -> np.ndarray:
        """Return the points whose inner products are the kernel; only with `rank`."""
        check_is_fitted(self, "held_")
        if not isinstance(self.held_, Factored):
            raise AttributeError("a whole kernel has no points_: call embedding(n_components)")
        return self.held_.points()

    @property
    def n_steps_(self) -> int:
        """Return the number of steps that changed the kernel."""
        check_is_fitted(self, "held_")
        return self.held_.n_steps

    @property
    def n_projections_(self) -> int:
        """Return the number of steps for which the smallest eigenpair was computed."""
        return self._counted("n_projections")

    @property
    def n_skipped_(self) -> int:
        """Return the number of steps that were known to need no projection."""
        return self._counted("n_skipped")

    @property
    def n_negative_(self) -> int:
        """Return the number of projections that removed a negative eigenvalue."""
        return self._counted("n_negative")

    @property
    def loss(self) -> str:
        """Return the name of the loss whose probability `predict_proba` returns."""
        return "gnmds" if self.update == "gnmds" else "ste"

    @property
    def loss_(self) -> Loss:  # type: ignore[override]
        return find_loss(self.loss)

    def _counted(self, name: str) -> int:
        check_is_fitted(self, "held_")
        held = self.held_.held
        return getattr(held, name) if isinstance(held, FullKernel) else 0

    # -- for KernelModel -----------------------------------------------------------------------------------------

    @property
    def _n_objects(self) -> int:
        return self.held_.n_objects

    @property
    def _highest_rank(self) -> int:
        return self.held_.highest_rank

    def _compared(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.held_.compared(indices)

    def _leading(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        return self.held_.leading(count)
