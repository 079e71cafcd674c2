"""Adam on large mini-batches with a decreasing step: the quick first phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nearer._utils.namespaces import as_like, namespace, to_numpy
from nearer._utils.validation import not_negative, positive, whole
from nearer.errors import InputError
from nearer.objectives.base import WithBatches, WithGradient, WithNoise, members
from nearer.solvers.base import Solver
from nearer.solvers.result import State
from nearer.solvers.run import Run


@dataclass(frozen=True)
class Adam(Solver[WithBatches]):
    """Adam whose step decreases geometrically from `step` to `final_step` over its epochs, then ends.

    Adam divides a gradient by its size, so a step is a length in the space of the points. Both steps are in the unit of
    length of the loss.

    Parameters
    ----------
    step : float
        Length of the first step.
    final_step : float
        Length of the last step.
    n_batches : int
        Mini-batches per epoch.
    epochs : int, optional
        Length of the schedule; None means the budget of epochs.
    beta1, beta2 : float
        Memory of the mean gradient and of its square.
    """

    step: float = 0.3
    final_step: float = 0.03
    n_batches: int = 10
    epochs: int | None = None
    beta1: float = 0.9
    beta2: float = 0.99
    name = "adam"
    ends = True
    requires = members(WithBatches)

    @property
    def default_epochs(self) -> int:
        return self.epochs or 30

    def __post_init__(self) -> None:
        positive("step", self.step)
        positive("final_step", self.final_step)
        whole("n_batches", self.n_batches)
        check_memories(beta1=self.beta1, beta2=self.beta2)
        if self.epochs is not None:
            whole("epochs", self.epochs)

    def solve(self, objective: WithBatches, x: np.ndarray, rng: np.random.Generator, run: Run) -> np.ndarray:
        n_terms = objective.n_terms
        epochs = self.epochs or run.budget.max_epochs or self.default_epochs
        edges = np.linspace(0, n_terms, min(self.n_batches, n_terms) + 1).astype(int)
        batches = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
        steps = np.geomspace(self.step, self.final_step, epochs * len(batches)) * objective.unit_length
        walk = objective.walk(rng)
        update = AdamMoments(x, self.beta1, self.beta2)
        run.begin(x, objective.value(x), steps[0])
        for epoch in range(epochs):
            total = 0.0
            for b, (start, stop) in enumerate(batches):
                value, gradient = objective.batch_gradient(x, walk, start, stop)
                total += value * (stop - start)
                update(x, gradient, steps[epoch * len(batches) + b])
            run.count(n_terms)
            walk.shuffle()
            run.record(x, total / n_terms, steps[epoch * len(batches)], exact=False, settled=False)
        return x


@dataclass(frozen=True)
class FullAdam(Solver[WithGradient]):
    """Adam on full gradients; an epoch is one step.

    Parameters
    ----------
    step : float
        Length of the first step in each coordinate.
    final_step : float, optional
        Length of the last step; steps decrease linearly to it over the epochs. By default all are equal.
    epochs : int, optional
        Length of the schedule, after which the solver ends; None means the budget of epochs.
    warm_up : int
        Steps over which the length grows linearly to that of the schedule. Long steps from random parameters can leave
        a network on a plateau.
    beta1, beta2 : float
        Memory of the mean gradient and of its square.
    """

    step: float = 0.003
    final_step: float | None = None
    epochs: int | None = None
    warm_up: int = 0
    beta1: float = 0.9
    beta2: float = 0.999
    name = "full-adam"
    ends = True
    _exact: ClassVar[bool] = True
    requires = members(WithGradient)

    @property
    def default_epochs(self) -> int:
        return self.epochs or 1000

    def __post_init__(self) -> None:
        positive("step", self.step)
        if self.final_step is not None:
            positive("final_step", self.final_step)
        if self.epochs is not None:
            whole("epochs", self.epochs)
        whole("warm_up", self.warm_up, at_least=0)
        check_memories(beta1=self.beta1, beta2=self.beta2)

    def solve(self, objective: WithGradient, x: Any, rng: np.random.Generator, run: Run) -> Any:
        epochs = self.epochs or run.budget.max_epochs or self.default_epochs
        update = self._moments(objective, x)
        update.restore(run.memory, x)
        run.remember(update.stored)
        run.expected = epochs * objective.n_terms
        value, gradient = self._gradient(objective, x, rng)
        run.count(objective.n_terms)
        run.begin(x, value, self.step)
        decrease = (self.step - (self.final_step or self.step)) / max(epochs - 1, 1)
        for count in range(update.count, epochs):
            step = (self.step - count * decrease) * min((count + 1) / (self.warm_up + 1), 1.0)
            update(x, gradient, step)
            value, gradient = self._gradient(objective, x, rng)
            run.count(objective.n_terms)
            run.record(x, value, step, exact=self._exact, settled=self.final_step is None)
        return x

    def _moments(self, objective: WithGradient, x: Any) -> AdamMoments:
        return AdamMoments(x, self.beta1, self.beta2)

    def _gradient(self, objective: WithGradient, x: Any, rng: np.random.Generator) -> tuple[float, Any]:
        return objective.value_and_gradient(x)


class WithNewNoise:
    """Full gradients of an objective whose inputs are drawn again for each step; to be mixed into `FullAdam`."""

    _exact: ClassVar[bool] = False  # values with other noise do not compare

    def solve(self, objective: Any, x: Any, rng: np.random.Generator, run: Run) -> Any:
        """Minimise, and leave the objective without noise."""
        try:
            return super().solve(objective, x, rng, run)  # type: ignore[misc]
        finally:
            objective.refresh(None)

    def _gradient(self, objective: Any, x: Any, rng: np.random.Generator) -> tuple[float, Any]:
        objective.refresh(rng)
        return objective.value_and_gradient(x)


@dataclass(frozen=True)
class NoisyAdam(WithNewNoise, FullAdam):
    """Adam on full gradients of an objective whose inputs are drawn again for each step.

    The parameters are those of `FullAdam`, with other defaults.
    """

    step: float = 0.01
    final_step: float | None = 1e-4
    epochs: int | None = 500
    beta2: float = 0.99
    name = "noisy-adam"
    requires = members(WithNoise)


def check_memories(**memories: float) -> None:
    """Refuse shares of the past outside [0, 1)."""
    for name, value in memories.items():
        not_negative(name, value)
        if value >= 1:
            raise InputError(f"must be below 1, not {value!r}", parameter=name)


def towards(mean: Any, value: Any, share: float) -> None:
    """Move a running mean towards a value, in place.

    >>> mean = np.zeros(2)
    >>> towards(mean, np.array([1.0, 2.0]), 0.1)
    >>> mean
    array([0.1, 0.2])
    """
    if namespace(mean) is np:
        mean += share * (value - mean)
    else:
        mean.lerp_(value, share)


def squares_towards(mean: Any, value: Any, share: float) -> None:
    """Move a running mean towards the squares of a value, in place."""
    if namespace(mean) is np:
        mean += share * (value * value - mean)
    else:
        mean.mul_(1 - share).addcmul_(value, value, value=share)


class AdamMoments:
    """Adam's running mean and square of the gradient, corrected for their start at zero."""

    def __init__(self, x: Any, beta1: float, beta2: float):
        self.mean = namespace(x).zeros_like(x)
        self.square = namespace(x).zeros_like(x)
        self.beta1, self.beta2 = beta1, beta2
        self.count = 0

    def stored(self) -> State:
        """Return what a later run needs to continue."""
        arrays = {name: to_numpy(getattr(self, name)) for name in ("mean", "square")}
        return State(arrays, {"count": self.count})

    def restore(self, state: State, like: Any) -> None:
        """Continue where an earlier run ended, if there was one."""
        if "count" in state.numbers:
            self.count = int(state.numbers["count"])
            self.mean, self.square = (as_like(state.arrays[name], like) for name in ("mean", "square"))

    def __call__(self, x: Any, gradient: Any, step: float) -> None:
        """Move x, which is changed in place as the gradient is."""
        self.count += 1
        towards(self.mean, gradient, 1 - self.beta1)
        squares_towards(self.square, gradient, 1 - self.beta2)
        root = namespace(x).sqrt(self.square)
        # a row without any gradient so far does not move
        root += float(namespace(x).finfo(x.dtype).tiny) ** 0.5
        move = namespace(x).divide(self.mean, root, out=gradient)
        move *= self.length(step)
        x -= move

    def length(self, step: float) -> float:
        """Return the step, corrected for the start of both moments at zero."""
        return float(step) * (1 - self.beta2**self.count) ** 0.5 / (1 - self.beta1**self.count)
