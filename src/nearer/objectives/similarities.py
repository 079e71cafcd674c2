"""Inner products X C Xᵀ of rows under a metric C = Q Qᵀ, against target similarities."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from nearer._utils.runtime import threads_for
from nearer.errors import InputError
from nearer.objectives.base import Plane, Product, Rescaled, WithFactors, members
from nearer.objectives.parameters import OneArray
from nearer.objectives.planes import checked_factor

#: columns of a factor count as at least this share of their mean square in scales
_LEAST_COLUMN = 1e-3


class SimilarityObjective:
    """F(C) = mean over all pairs of rows of (target - x' C x)² + trace_penalty * tr C, for positive semidefinite C.

    With fewer features than rows, X = O R with orthonormal columns of O. The loss is then `|Oᵀ T O - R C Rᵀ|²` plus
    what no metric can explain, so that matrices of the size of C replace those over all pairs of rows. Values are sums
    of squared residuals, never differences of large sums: they keep their digits where the loss is nearly 0.

    Parameters
    ----------
    X : array or CSR matrix (t, p)
        Rows.
    target : array (t, t)
        The similarity of every two rows; only the symmetric part of it matters.
    trace_penalty : float
        Strength of the trace, for a *mean* over pairs.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> f = SimilarityObjective(X, X @ X.T, trace_penalty=0.0)
    >>> abs(f.value(np.eye(3))) < 1e-12
    True
    """

    parameters = OneArray()

    def __init__(self, X: Any, target: np.ndarray, *, trace_penalty: float = 0.0):
        if target.shape != (X.shape[0], X.shape[0]):
            raise InputError(
                f"has shape {target.shape}, but X has {X.shape[0]} rows: give one similarity for every two rows",
                parameter="target",
            )
        target = (target + target.T) / 2
        self.trace_penalty = float(trace_penalty)
        self.shape = (X.shape[1], X.shape[1])
        self.n_terms = target.size
        self._share = 1.0 / target.size
        self._rows, self._target, self._rest = X, target, 0.0
        if isinstance(X, np.ndarray) and X.shape[1] < X.shape[0]:
            basis, self._rows = np.linalg.qr(X)
            self._target = basis.T @ target @ basis
            self._rest = float(np.sum((target - basis @ self._target @ basis.T) ** 2))

    @property
    def provides(self) -> frozenset[str]:
        """Return what solvers may use; sparse rows are never decomposed."""
        parts = members(WithFactors) | {"convexity", "smoothness"}
        return parts | {"rescaled"} if isinstance(self._rows, np.ndarray) else parts

    def start(self, x: np.ndarray) -> np.ndarray:
        """Return a copy of a factor with any number of columns."""
        return checked_factor(x, self.shape[0])

    def value(self, X: np.ndarray) -> float:
        """Return F(X Xᵀ)."""
        return self._value(X, self._residuals(self._points(X)))

    def value_and_factor_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F(X Xᵀ) and its gradient by X."""
        points = self._points(X)
        residuals = self._residuals(points)
        gradient = 2 * self.trace_penalty * X - 4 * self._share * (self._rows.T @ (residuals @ points))
        return self._value(X, residuals), gradient

    def gradient_at(self, X: np.ndarray) -> Product:
        """Return the product of the gradient by C, at C = X Xᵀ, with a vector or with columns."""
        rows, residuals = self._rows, self._residuals(self._points(X))
        return lambda V: self.trace_penalty * V - 2 * self._share * (rows.T @ (residuals @ (rows @ V)))

    def plane(self, X: np.ndarray, U: np.ndarray) -> Plane:
        """Return F(a X Xᵀ + b U Uᵀ) and its derivatives by a and b: a quadratic function of both."""
        first, second = self._points(X), self._points(U)
        residuals, across = self._residuals(first), float(np.sum((first.T @ second) ** 2))
        own = [float(np.sum((points.T @ points) ** 2)) for points in (first, second)]
        squares = self._share * np.array([[own[0], across], [across, own[1]]])
        traces = np.array([np.vdot(X, X), np.vdot(U, U)])
        pulls = np.array([np.vdot(residuals @ points, points) for points in (first, second)])
        linear = self.trace_penalty * traces - 2 * self._share * pulls
        here = self._value(X, residuals)

        def at(a: float, b: float) -> tuple[float, float, float]:
            step = np.array([a - 1, b])  # from X Xᵀ
            bent = squares @ step
            slopes = linear + 2 * bent
            return float(here + step @ (linear + bent)), float(slopes[0]), float(slopes[1])

        return at

    def rescaled(self, X: np.ndarray) -> Rescaled:
        """Return descent from a factor X in units in which all directions have about the same curvature.

        A change of X by u vᵀ curves the loss by about |rows u|² |rows X v|². In the basis of the right singular vectors
        of the rows, and of those of rows X, both are diagonal, and dividing by their roots evens them out. What of X
        no row has is left out: it has a trace, but no effect.
        """
        sizes, basis, target = self._decomposed
        inside = basis.T @ X
        _, lengths, turn = np.linalg.svd(sizes[:, None] * inside, full_matrices=False)
        least = self.trace_penalty / (self._share * max(float(np.linalg.norm(target)), 1e-300))
        left = 1 / np.sqrt(sizes**2 + max(least, 1e-12 * sizes[0] ** 2, 1e-300))
        squares = lengths**2
        right = 1 / np.sqrt(squares + max(_LEAST_COLUMN * float(squares.mean()), 1e-300))
        scales = np.outer(left, right)

        def value_and_gradient(W: np.ndarray) -> tuple[float, np.ndarray]:
            factor = scales * W
            points = sizes[:, None] * factor
            residuals = target - points @ points.T
            slopes = self.trace_penalty * factor - 2 * self._share * sizes[:, None] * (residuals @ points)
            return self._value(factor, residuals), 2 * scales * slopes

        return Rescaled(inside @ turn.T / scales, value_and_gradient, lambda W: basis @ (scales * W))

    @cached_property
    def _decomposed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return singular values and right singular vectors of the rows, and the target between left ones."""
        with threads_for(min(self._rows.shape)):
            left, sizes, right = np.linalg.svd(self._rows, full_matrices=False)
        return sizes, np.ascontiguousarray(right.T), left.T @ self._target @ left

    def _points(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self._rows @ X)

    def _residuals(self, points: np.ndarray) -> np.ndarray:
        return self._target - points @ points.T

    def _value(self, X: np.ndarray, residuals: np.ndarray) -> float:
        loss = self._rest + float(np.vdot(residuals, residuals))
        return self._share * loss + self.trace_penalty * float(np.vdot(X, X))
