"""A point of co-embedding with a barrier, and what Newton's method asks of it; see `central_path.py`."""

from __future__ import annotations

import numpy as np

from nearer._utils.runtime import threads_for
from nearer.objectives.base import WithInnerProducts
from nearer.solvers.newton import Product

#: share of the way to where M is singular
_INSIDE = 0.97


class Point:
    """Features at the rows of U (n, m) and labels at those of V (m, m), which is not singular; M = V Vᵀ.

    The objective with strength beta and barrier mu is `loss + beta * trace - 2 mu log |det V|`.
    """

    def __init__(self, objective: WithInnerProducts, Q: np.ndarray):
        self.objective, self.Q = objective, Q
        self.U, self.V = Q[: objective.n_features], Q[objective.n_features :]
        self.products, self.lengths = self.U @ (2 * self.V.T), np.einsum("ij,ij->i", self.V, self.V)
        self.loss, self.by_products, self.by_lengths = objective.inner_products.slopes(
            self.products, self.lengths
        )
        self.trace = float(np.vdot(Q, Q))
        self.inverse = np.linalg.inv(self.V)
        self.volume = float(np.linalg.slogdet(self.V)[1])

    def value(self, beta: float, mu: float = 0.0) -> float:
        """Return the objective, with the barrier if mu is not 0."""
        return self.loss + beta * self.trace - 2 * mu * self.volume

    def gradient(self, beta: float, mu: float) -> np.ndarray:
        """Return the gradient by U and V."""
        found = 2 * beta * self.Q
        found[: len(self.U)] += 2 * (self.by_products @ self.V)
        found[len(self.U) :] += 2 * (self.by_products.T @ self.U + self.by_lengths[:, None] * self.V)
        found[len(self.U) :] -= 2 * mu * self.inverse.T
        return found

    def certificate(self, beta: float) -> tuple[float, float]:
        """Return the largest eigenvalue of -S and <S, C>, for the gradient S by C; see `certificate.py`."""
        slack = beta * self.trace + float(np.vdot(self.by_products, self.products))
        slack += float(self.by_lengths @ self.lengths)
        return steepest(self.by_products, self.by_lengths) - beta, slack

    def curvature(self, beta: float, mu: float) -> Product:
        """Return the product of second derivatives with changes of U and V.

        They are those by A and M, for what the changes mean to first order: with F = V⁻¹ dV, M becomes
        V (I + F + Fᵀ) Vᵀ and A becomes (U + R + U (F + Fᵀ)) Vᵀ for R = dU - U F. Turning U and V together changes
        nothing, and has no curvature. Matrices are in single precision: only directions come from this.
        """
        n = len(self.U)
        U, V, inverse = (part.astype(np.float32) for part in (self.U, self.V, self.inverse))
        product = self.objective.inner_products.products(self.products, self.lengths)

        def times(changes: np.ndarray) -> np.ndarray:
            changes = changes.astype(np.float32)
            F = inverse @ changes[n:]
            R, E = changes[:n] - U @ F, F + F.T
            VE = V @ E
            by_products, by_lengths = product(
                ((R + U @ E) @ (2 * V.T)).astype(float), np.einsum("ij,ij->i", VE, V).astype(float)
            )
            of_features = 2 * (by_products.astype(np.float32) @ V)
            by_E = U.T @ of_features + V.T @ (by_lengths.astype(np.float32)[:, None] * V) + mu * E
            of_features += 2 * beta * R
            found = np.empty(changes.shape)
            found[:n] = of_features
            found[n:] = inverse.T @ (by_E + by_E.T - U.T @ of_features)
            return found

        return times

    def preconditioner(self, beta: float, mu: float) -> Product:
        """Return about the inverse of these second derivatives: that of a block for every row."""
        n = len(self.U)
        bent = np.einsum("ij,ij->j", self.inverse, self.inverse)
        mixed = self.U @ self.inverse
        labels = 2 * beta * np.einsum("ij,ij->j", mixed, mixed) + 2 * mu * bent
        first, second = self.objective.row_coordinates(self.Q, 2 * beta, labels)

        def times(changes: np.ndarray) -> np.ndarray:
            parts = first.out(first.back(changes[:n])), second.out(second.back(changes[n:]))
            return np.concatenate(parts)

        return times

    def line(self, changes: np.ndarray, beta: float, mu: float) -> Line:
        """Return the objective with the barrier along the line through A and M that changes of U and V begin."""
        return Line(self, changes, beta, mu)


def steepest(by_products: np.ndarray, by_lengths: np.ndarray) -> float:
    """Return the largest eigenvalue of minus the gradient of the loss by C, from its derivatives.

    The gradient is 0 between features, so those that matter span no more dimensions than there are labels.

    >>> steepest(np.array([[3.0]]), np.array([-8.0])), steepest(np.zeros((1, 1)), np.array([2.0]))
    (9.0, 0.0)
    """
    R = np.asarray(np.linalg.qr(by_products, mode="r"))
    k, m = R.shape
    small = np.zeros((k + m, k + m))
    small[:k, k:], small[k:, :k] = R, R.T
    small[k:, k:] = np.diag(by_lengths)
    with threads_for(len(small)):
        return max(0.0, -float(np.linalg.eigvalsh(small)[0]))


class Line:
    """The line A + t dA, M + t dM as far as M stays positive definite."""

    def __init__(self, point: Point, changes: np.ndarray, beta: float, mu: float):
        n = len(point.U)
        F = point.inverse @ changes[n:]
        self._at, self._beta, self._mu = point, beta, mu
        #: A and M become (U + t B) Vᵀ and V (I + t E) Vᵀ
        self._E, self._B = F + F.T, changes[:n] + point.U @ F.T
        VE = point.V @ self._E
        self._products, self._lengths = self._B @ (2 * point.V.T), np.einsum("ij,ij->i", VE, point.V)
        self._rates, vectors = np.linalg.eigh(self._E)
        U, B = point.U @ vectors, self._B @ vectors
        #: lengths of the columns of U + t B, squared, as polynomials in t
        self._squares = [np.einsum("ij,ij->j", *pair) for pair in ((U, U), (U, B), (B, B))]
        self._traces = float(np.vdot(point.V, point.V)), float(np.vdot(VE, point.V))
        least = float(self._rates.min(initial=0.0))
        self.longest = -_INSIDE / least if least < 0 else np.inf

    def __call__(self, t: float) -> tuple[float, float]:
        """Return value and slope; infinity where M is singular or nearly so."""
        if t > self.longest:
            return np.inf, np.inf
        point = self._at
        loss, by_products, by_lengths = point.objective.inner_products.slopes(
            point.products + t * self._products, point.lengths + t * self._lengths
        )
        slope = float(np.vdot(by_products, self._products)) + float(by_lengths @ self._lengths)
        sizes, (own, mixed, new) = 1 + t * self._rates, self._squares
        squares = own + 2 * t * mixed + t * t * new
        trace = float((squares / sizes).sum()) + self._traces[0] + t * self._traces[1]
        by_trace = 2 * (mixed + t * new) / sizes - squares * self._rates / sizes**2
        barrier = -2 * point.volume - float(np.log(sizes).sum())
        value = loss + self._beta * trace + self._mu * barrier
        slope += self._beta * (float(by_trace.sum()) + self._traces[1])
        return value, slope - self._mu * float((self._rates / sizes).sum())

    def factor(self, t: float) -> np.ndarray:
        """Return U and V after a step."""
        root = np.linalg.cholesky(np.eye(len(self._E)) + t * self._E)
        U = np.linalg.solve(root, (self._at.U + t * self._B).T).T
        return np.concatenate([U, self._at.V @ root])
