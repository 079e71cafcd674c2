"""What an objective is: the one contract between what is minimised and how.

`Objective` is what every objective has. The protocols below add what some solvers need. A solver names one of them,
`requires` its members, and uses nothing else. An objective lists what it can do in `provides`, so incompatible parts
raise an error before fitting.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from nearer.objectives.parameters import Parameters


class Objective(Protocol):
    """Something to minimise over parameters of any type."""

    #: comparisons, pairs or samples that the objective sums over: the cost of one full pass, in evaluations
    n_terms: int

    @property
    def parameters(self) -> Parameters:
        """How its parameters are copied, shown and stored."""

    @property
    def provides(self) -> frozenset[str]:
        """The names of the methods and attributes that solvers may use in addition to these."""

    def start(self, x: Any) -> Any:
        """Return a copy of the first parameters in the form that the objective needs, or raise an `InputError`."""

    def value(self, x: Any) -> float:
        """Return the objective at x."""


class WithGradient(Objective, Protocol):
    """An objective with full gradients."""

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective at x and its gradient."""


class WithPrecision(WithGradient, Protocol):
    """An objective with full gradients for arrays of one precision."""

    @property
    def dtype(self) -> np.dtype:
        """The precision of the parameters."""


class WithInitial(Objective, Protocol):
    """An objective that knows where to start."""

    def initial(self, rng: np.random.Generator) -> np.ndarray:
        """Return the parameters of a model that has learned nothing."""


class Shuffled(Protocol):
    """The terms of an objective in random order."""

    def shuffle(self) -> None:
        """Draw a new order."""


class WithBatches(Objective, Protocol):
    """An objective with gradients of parts of its terms."""

    @property
    def unit_length(self) -> float:
        """The scale of the parameters at which the loss has its curvature."""

    def walk(self, rng: np.random.Generator) -> Shuffled:
        """Return the terms in random order."""

    def batch_gradient(self, x: np.ndarray, walk: Any, start: int, stop: int) -> tuple[float, np.ndarray]:
        """Return value and gradient on the terms start:stop of the walk alone."""


class WithStochasticEpochs(WithGradient, Protocol):
    """An objective that runs epochs of stochastic gradient descent."""

    def walk(self, rng: np.random.Generator) -> Shuffled:
        """Return the terms in random order."""

    def sgd_epoch(self, x: np.ndarray, walk: Any, steps: np.ndarray, batch_size: int) -> float:
        """Move x along one walk, batch s by `-steps[s]` times its gradient; return the mean value met."""


class WithSnapshots(WithGradient, Protocol):
    """An objective that runs epochs of variance-reduced steps."""

    def walk(self, rng: np.random.Generator, *, slopes: bool) -> Shuffled:
        """Return the terms in random order, with room for the slopes at a snapshot."""

    def snapshot_gradient(self, x: np.ndarray, walk: Any) -> tuple[float, np.ndarray]:
        """Return the objective and the gradient of its loss part; keep the slope of every term in the walk."""

    def with_penalty(self, gradient: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the gradient of the loss part plus that of the penalty."""

    def svrg_epoch(
        self,
        x: np.ndarray,
        snapshot: np.ndarray,
        gradient: np.ndarray,
        walk: Any,
        step: float,
        batch_size: int,
        count: int,
    ) -> None:
        """Move x along `count` terms of the walk by variance-reduced steps of size `step` per batch."""


def members(protocol: type) -> frozenset[str]:
    """Return the names that a protocol adds to those of every objective.

    >>> sorted(members(WithPrecision))
    ['dtype', 'value_and_gradient']
    """
    return _names(protocol) - _names(Objective)


def _names(protocol: type) -> frozenset[str]:
    named = [
        name for part in protocol.__mro__ for name in (*vars(part), *vars(part).get("__annotations__", ()))
    ]
    return frozenset(name for name in named if not name.startswith("_"))
