"""Inner products X C Xᵀ of rows under a metric C = Q Qᵀ, against target similarities."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer.errors import InputError
from nearer.objectives.base import Plane, Product, WithFactors, members
from nearer.objectives.parameters import OneArray
from nearer.objectives.planes import checked_factor


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
    provides = members(WithFactors) | {"convexity", "smoothness"}

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

    def _points(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self._rows @ X)

    def _residuals(self, points: np.ndarray) -> np.ndarray:
        return self._target - points @ points.T

    def _value(self, X: np.ndarray, residuals: np.ndarray) -> float:
        loss = self._rest + float(np.vdot(residuals, residuals))
        return self._share * loss + self.trace_penalty * float(np.vdot(X, X))
