"""Stochastic steps for objectives over all pairs of two sets: from blocks of pairs, or from observed pairs."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer._utils.namespaces import as_like
from nearer._utils.validation import positive
from nearer.errors import InputError
from nearer.objectives.base import WithBlocks, WithGradient, WithGramians, members
from nearer.objectives.parameters import VectorSpace
from nearer.solvers.backtracking import Backtracking
from nearer.solvers.base import O, Solver
from nearer.solvers.gradient_descent import AdaGrad
from nearer.solvers.run import Run

#: the step along a gradient that is divided by its own history
_DIAGONAL_STEP = 0.01

#: the next estimate of the gradient
Estimate = Callable[[Any], Any]


@dataclass(frozen=True)
class _SampledPairs(Solver[O]):
    """Steps of constant length along estimates of the gradient; an epoch is `1 / share` steps.

    The objective is recorded exactly, at the cost of one evaluation per epoch.
    """

    share: float = 0.01
    step: float | None = None
    diagonal: bool = False

    def __post_init__(self) -> None:
        positive("share", self.share)
        if self.share > 1:
            raise InputError(f"must be at most 1, not {self.share!r}", parameter="share")
        if self.step is not None:
            positive("step", self.step)

    @abstractmethod
    def _estimates(self, objective: O, rng: np.random.Generator) -> Iterator[Estimate]:
        """Yield functions from parameters to an estimate of the gradient there, without end."""

    def _cost(self, objective: O) -> int:
        """Return the evaluations of one estimate."""
        return math.ceil(self.share * objective.n_terms)

    def solve(self, objective: O, x: Any, rng: np.random.Generator, run: Run) -> Any:
        space: VectorSpace = objective.parameters  # type: ignore[assignment]
        step = self._step(objective, x, run)
        scaling = AdaGrad(space) if self.diagonal else None
        run.count(objective.n_terms)
        run.begin(x, objective.value(x), step)
        estimates, n_steps = self._estimates(objective, rng), max(round(1 / self.share), 1)
        while True:
            for _ in range(n_steps):
                gradient = next(estimates)(x)
                x = space.plus(x, -step, gradient if scaling is None else scaling(gradient))
                run.count(self._cost(objective))
                run.look(x, math.nan, step)
            run.count(objective.n_terms)
            run.record(x, objective.value(x), step)

    def _step(self, objective: O, x: Any, run: Run) -> float:
        """Return the user's step, or the one that a line search along the full gradient accepts."""
        if self.step is not None or self.diagonal:
            return self.step or _DIAGONAL_STEP

        def value_at(trial: Any) -> float:
            run.count(objective.n_terms)
            return objective.value(trial)

        space: VectorSpace = objective.parameters  # type: ignore[assignment]
        whole: WithGradient = objective  # type: ignore[assignment]
        value, gradient = whole.value_and_gradient(x)
        run.count(objective.n_terms)
        search = Backtracking(1.0)
        search.move(value_at, x, value, gradient * -1.0, -space.inner(gradient, gradient), space)
        return search.step


@dataclass(frozen=True)
class BlockSampling(_SampledPairs[WithBlocks]):
    """Stochastic gradients over all pairs of some left and some right entities.

    Parameters
    ----------
    share : float
        Share of the entities of either side in a block.
    step : float, optional
        Length of a step; by default what a line search accepts at the start, or 0.01 if `diagonal`.
    diagonal : bool
        Divide gradients by the root of the sum of their squares so far, as AdaGrad does.
    """

    name = "sampling"
    requires = members(WithBlocks)

    def _estimates(self, objective: WithBlocks, rng: np.random.Generator) -> Iterator[Estimate]:
        sizes = objective.sizes[:2]
        while True:
            sets = [np.sort(rng.choice(n, math.ceil(self.share * n), replace=False)) for n in sizes]
            yield lambda x, sets=sets: objective.block_gradient(
                x, *(as_like(s, x, whole=True) for s in sets)
            )[1]  # type: ignore[misc]


@dataclass(frozen=True)
class OnlineGramians(_SampledPairs[WithGramians]):
    """Stochastic gradients on some observed pairs, with the Gramians of all entities estimated from others.

    Entities without any observed pair do not count.

    Parameters
    ----------
    share : float
        Share of the observed pairs in either sample.
    step : float, optional
        Length of a step; by default what a line search accepts at the start, or 0.01 if `diagonal`.
    diagonal : bool
        Divide gradients by the root of the sum of their squares so far, as AdaGrad does.
    alpha : float
        Share of the latest estimate in the running mean of the Gramians, which starts at zero (SOGram). With 1, every
        step uses its own estimate, and the two samples exchange their roles; the gradient is then unbiased.
    """

    alpha: float = 0.1
    name = "sogram"
    requires = members(WithGramians)

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("alpha", self.alpha)
        if self.alpha > 1:
            raise InputError(f"must be at most 1, not {self.alpha!r}", parameter="alpha")

    def _cost(self, objective: WithGramians) -> int:
        return 2 * super()._cost(objective)

    def _estimates(self, objective: WithGramians, rng: np.random.Generator) -> Iterator[Estimate]:
        n_pairs, size = objective.sizes[2], super()._cost(objective)
        firsts, seconds = (_parts(n_pairs, size, rng) for _ in range(2))
        means: list[Any] = []

        def fresh(x: Any, first: Any, second: Any) -> Any:
            _, one = objective.pair_gradient(x, first, objective.gramians_of(x, second))
            _, other = objective.pair_gradient(x, second, objective.gramians_of(x, first))
            return (one + other) * 0.5

        def averaged(x: Any, first: Any, second: Any) -> Any:
            found = objective.gramians_of(x, second)
            before = means or [0.0 * gramian for gramian in found]
            means[:] = [
                (1 - self.alpha) * old + self.alpha * new for old, new in zip(before, found, strict=True)
            ]
            return objective.pair_gradient(x, first, type(found)(*means))[1]

        estimate = fresh if self.alpha == 1 else averaged
        while True:
            parts = next(firsts), next(seconds)
            yield lambda x, parts=parts: estimate(x, *(as_like(part, x, whole=True) for part in parts))  # type: ignore[misc]


def _parts(count: int, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield parts of random orders, one order after the other."""
    while True:
        order = rng.permutation(count)
        for start in range(0, count - size + 1, size):
            yield order[start : start + size]
