"""Adam on large mini-batches with a decreasing step: the quick first phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer._utils.validation import not_negative, positive, whole
from nearer.errors import InputError
from nearer.objectives.base import WithBatches, members
from nearer.solvers.base import Solver
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
        for name in ("beta1", "beta2"):
            not_negative(name, getattr(self, name))
            if getattr(self, name) >= 1:
                raise InputError(f"{name} must be below 1, not {getattr(self, name)!r}")
        if self.epochs is not None:
            whole("epochs", self.epochs)

    def solve(self, objective: WithBatches, x: np.ndarray, rng: np.random.Generator, run: Run) -> np.ndarray:
        n_terms = objective.n_terms
        epochs = self.epochs or run.budget.max_epochs or self.default_epochs
        edges = np.linspace(0, n_terms, min(self.n_batches, n_terms) + 1).astype(int)
        batches = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
        steps = np.geomspace(self.step, self.final_step, epochs * len(batches)) * objective.unit_length
        walk = objective.walk(rng)
        update = _Moments(x, self.beta1, self.beta2)
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


class _Moments:
    """Adam's running mean and square of the gradient, corrected for their start at zero."""

    def __init__(self, x: np.ndarray, beta1: float, beta2: float):
        self.mean = np.zeros_like(x)
        self.square = np.zeros_like(x)
        self.beta1, self.beta2 = beta1, beta2
        self.count = 0

    def __call__(self, x: np.ndarray, gradient: np.ndarray, step: float) -> None:
        self.count += 1
        self.mean += (1 - self.beta1) * (gradient - self.mean)
        gradient *= gradient
        self.square += (1 - self.beta2) * (gradient - self.square)
        size = np.sqrt(self.square / (1 - self.beta2**self.count))
        size += np.finfo(x.dtype).tiny ** 0.5  # a row without any gradient so far does not move
        np.divide(self.mean, size, out=size)
        x -= x.dtype.type(step / (1 - self.beta1**self.count)) * size
