"""Gauss-Newton steps by conjugate gradients, with a line search, for parameters of any kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer._utils.namespaces import namespace
from nearer._utils.validation import positive, whole
from nearer.errors import InputError
from nearer.objectives.base import WithCurvature, members
from nearer.objectives.parameters import VectorSpace
from nearer.solvers.backtracking import Backtracking
from nearer.solvers.base import Solver
from nearer.solvers.newton import Product, conjugate_gradients
from nearer.solvers.run import Run

_PRECONDITIONERS = ("gradients", "none")
#: share of the past in the mean squared gradient
_MEMORY = 0.9
#: added to roots of mean squares, relative to their mean: a coordinate without any gradient must not take all the step
_LEAST_SIZE = 1e-3


@dataclass(frozen=True)
class GaussNewton(Solver[WithCurvature]):
    """Newton's method with the Gauss-Newton matrix in place of the second derivatives.

    Parameters
    ----------
    cg_tolerance : float
        Conjugate gradients end when the residual is this share of the gradient, both in the preconditioner's norm.
    max_products : int
        Products with the matrix per step at most.
    preconditioner : {"gradients", "none"}
        "gradients" divides each coordinate by the root mean square of its gradients so far, as Adam does: curvatures
        of the layers of a network differ by orders of magnitude. "none" is the method of the paper.
    armijo : float
        A step must bring this share of the decrease that the slope promises.
    """

    cg_tolerance: float = 0.1
    max_products: int = 20
    preconditioner: str = "gradients"
    armijo: float = 1e-4
    name = "newton"
    requires = members(WithCurvature)

    @property
    def default_epochs(self) -> int:
        return 100

    def __post_init__(self) -> None:
        positive("cg_tolerance", self.cg_tolerance)
        positive("armijo", self.armijo)
        whole("max_products", self.max_products)
        if self.preconditioner not in _PRECONDITIONERS:
            raise InputError(
                f"must be one of {', '.join(_PRECONDITIONERS)}, not {self.preconditioner!r}",
                parameter="preconditioner",
            )

    def solve(self, objective: WithCurvature, x: Any, rng: np.random.Generator, run: Run) -> Any:
        def counted(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
            def wrapped(argument: Any) -> Any:
                run.count(objective.n_terms)
                return function(argument)

            return wrapped

        space: VectorSpace = objective.parameters  # type: ignore[assignment]
        value_and_gradient, value_at = counted(objective.value_and_gradient), counted(objective.value)
        sizes = GradientSizes(space) if self.preconditioner == "gradients" else None
        # the paper tries a longer step every five steps; a step of Newton's own length is worth a value each time
        search = Backtracking(1.0, armijo=self.armijo, every=1 if sizes else 5, most=1.0)
        value, gradient = value_and_gradient(x)
        run.begin(x, value, 0.0)
        while True:
            direction, products = conjugate_gradients(
                counted(objective.curvature(x)),
                gradient * -1.0,
                space,
                share=self.cg_tolerance,
                inverse=None if sizes is None else sizes.inverse(gradient),
                most=self.max_products,
            )
            x, step = search.move(value_at, x, value, direction, space.inner(gradient, direction), space)
            value, gradient = value_and_gradient(x)
            run.record(x, value, step, products=products)


class GradientSizes:
    """The root mean square of each coordinate's gradients so far, where later gradients count more.

    >>> from nearer.objectives.parameters import OneArray
    >>> sizes = GradientSizes(OneArray())
    >>> sizes.inverse(np.array([1.0, 100.0]))(np.array([1.0, 100.0])).round(1)
    array([1., 1.])
    """

    def __init__(self, space: VectorSpace) -> None:
        self._space = space
        self._squares: Any = 0.0
        self._weight = 0.0

    def inverse(self, gradient: Any) -> Product:
        """Return the division by the sizes, after one more gradient."""
        self._squares = _MEMORY * self._squares + (1 - _MEMORY) * gradient * gradient
        self._weight = _MEMORY * self._weight + (1 - _MEMORY)
        sizes = namespace(gradient).sqrt(self._squares / self._weight)
        sizes = sizes + (_LEAST_SIZE * self._space.mean(sizes) or 1.0)
        return lambda vector: vector / sizes
