"""How far a positive semidefinite C = Q Qᵀ is from the minimum at most, and the directions that lead there.

F(C) = L(C) + beta * tr C with L convex, never below l: 0, or what an objective declares as `least_loss`. With S the
gradient of F at C, and lambda the largest eigenvalue of -S, or 0 if that is negative, every positive semidefinite
matrix C' obeys

    F(C) - F(C') <= <S, C> - <S, C'> <= <S, C> + lambda * tr C',      beta * tr C' <= F(C') - l

The first inequality is convexity; the last holds because L is not below l. With the minimum for C', the two together
bound the gap g = F(C) - F(C'): beta * g <= beta * <S, C> + lambda * (F(C) - l - g), so

    g <= (beta * <S, C> + lambda * (F(C) - l)) / (beta + lambda)

At a minimum over Q, S Q = 0. All that is missing then are directions orthogonal to Q with a positive eigenvalue of -S.
They are looked for in the complement of Q alone: in the whole space, the largest eigenvalue of -S + beta * I would be
beta, as many times as Q has columns, and Lanczos is slow to separate equal eigenvalues.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer._utils.runtime import heed, threads_for
from nearer.objectives.base import Objective, Product, WithFactors
from nearer.solvers.spectrum import lanczos_is_quicker

#: with more rows than this, a matrix of that size is never formed
_MOST_DENSE = 3000
#: Lanczos may be this many times less accurate before it is given up
_LOOSER = (1.0, 10.0, 100.0)
_ROUNDING = 1e-13


@dataclass(frozen=True)
class Certificate:
    """What is known about the distance of C from the minimum.

    Attributes
    ----------
    eigenvalue : float
        The largest eigenvalue of -S, or an upper bound on it; 0 or less at the minimum.
    slack : float
        <S, C>, the complementary slackness; 0 at the minimum.
    gap : float
        By how much the objective can still fall at most.
    directions : array (p, j)
        Orthonormal, orthogonal to Q: eigenvectors in the complement of Q whose eigenvalues are positive.
    """

    eigenvalue: float
    slack: float
    gap: float
    directions: np.ndarray


def gap_bound(value: float, slack: float, eigenvalue: float, trace_penalty: float) -> float:
    """Return by how much an objective can still fall at most; `value` is measured from the least that the loss can be.

    >>> gap_bound(2.0, 0.0, 0.1, 0.4)
    0.4
    """
    excess = max(eigenvalue, 0.0)
    if trace_penalty + excess == 0:
        return np.inf
    return max((trace_penalty * slack + excess * value) / (trace_penalty + excess), 0.0)


def least_loss(objective: Objective) -> float:
    """Return a number that the loss, without the penalty, is never below."""
    return float(getattr(objective, "least_loss", 0.0))


def certify(
    objective: WithFactors,
    Q: np.ndarray,
    value: float,
    most: int,
    rng: np.random.Generator,
    accuracy: float = 1e-4,
    rough: float = 0.0,
) -> Certificate:
    """Bound the gap at Q Qᵀ, and find up to `most` directions that lead on.

    Parameters
    ----------
    objective : WithFactors
        What is minimised.
    Q : array (p, d)
        Its columns are orthogonal, none of them zero; there may be none.
    value : float
        The objective at Q.
    most : int
        How many directions to return at most.
    rng : numpy Generator
        Draws where Lanczos begins.
    accuracy : float
        Of eigenvalues, as a share of the trace penalty. An eigenvalue below it is not positive.
    rough : float
        A lower accuracy that will do if directions are found with it: Lanczos is asked for no more then.
    """
    beta = objective.trace_penalty
    basis = Q / np.linalg.norm(Q, axis=0)
    gradient = objective.gradient_at(Q)
    inside = gradient(basis) if Q.shape[1] else basis
    if not np.isfinite(inside).all():
        return Certificate(np.nan, np.nan, np.inf, Q[:, :0])
    within = basis.T @ inside
    coupling = inside - basis @ within
    slack = float(np.diagonal(within) @ np.einsum("ij,ij->j", Q, Q))
    complement = _Complement(gradient, basis, beta)
    wanted = max(most, 1)
    if "gradient_range" in objective.provides:
        values, vectors, error = _leading_within(complement, objective.gradient_range(Q), wanted)  # type: ignore[attr-defined]
    else:
        values, vectors, error = _leading(complement, wanted, rng, max(accuracy, rough))
        if rough > accuracy and most > 0 and error > 0 and not values[0] > rough * beta:
            values, vectors, error = _leading(complement, wanted, rng, accuracy)
    outside = float(values[0]) + error if len(values) else -np.inf
    eigenvalue = _largest(within, coupling, outside)
    above = values > (rough if (values > rough * beta).any() else accuracy) * beta
    return Certificate(
        eigenvalue,
        slack,
        gap_bound(value - least_loss(objective), slack, eigenvalue, beta),
        vectors[:, above][:, :most],
    )


def strongest_penalty(objective: WithFactors, n_rows: int, rng: np.random.Generator) -> float:
    """Return the smallest trace penalty that leaves nothing but C = 0, whatever the objective's own penalty is.

    >>> import nearer
    >>> X = np.eye(2)
    >>> f = nearer.objectives.SimilarityObjective(X, np.diag([4.0, 1.0]))
    >>> round(strongest_penalty(f, 2, np.random.default_rng(0)), 6)
    2.0
    """
    nothing = np.zeros((n_rows, 0))
    found = certify(objective, nothing, objective.value(nothing), 1, rng)
    return max(found.eigenvalue + objective.trace_penalty, 0.0)


def _largest(within: np.ndarray, coupling: np.ndarray, outside: float) -> float:
    """Bound the largest eigenvalue of -S by its blocks: in the span of Q, across, and in the complement."""
    if not len(within):
        return outside
    inside = -float(np.linalg.eigvalsh((within + within.T) / 2)[0])
    if not np.isfinite(outside):
        return inside if outside < 0 else outside
    across = float(np.linalg.norm(coupling, 2))
    return (inside + outside) / 2 + float(np.hypot((inside - outside) / 2, across))


class _Complement:
    """The matrix -S between directions orthogonal to Q, and beta less in those of Q, by products alone."""

    def __init__(self, gradient: Product, basis: np.ndarray, beta: float):
        self.gradient, self.basis, self.beta = gradient, basis, beta
        self.free = len(basis) - basis.shape[1]

    def out(self, V: np.ndarray) -> np.ndarray:
        """Return the part of vectors that is orthogonal to Q."""
        return V - self.basis @ (self.basis.T @ V)

    def times(self, V: np.ndarray) -> np.ndarray:
        """Return the product of beta * I - S in the complement, and of 0 in the span of Q, with vectors."""
        heed()  # Lanczos asks for hundreds
        V = self.out(V)
        return self.beta * V - self.out(self.gradient(V))

    def dense(self) -> np.ndarray:
        """Return the whole matrix, for few rows."""
        matrix = self.times(np.eye(len(self.basis)))
        return (matrix + matrix.T) / 2


def _leading_within(matrix: _Complement, V: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the same as `_leading` if the gradient of the loss maps everything into the span of a few columns V.

    Whatever is orthogonal to these and to Q has the eigenvalue -beta.
    """
    from scipy.linalg import qr

    # with pivots: columns may depend on each other once the part in the span of Q is taken away
    W, R, _ = qr(matrix.out(V), mode="economic", pivoting=True, check_finite=False)
    sizes = np.abs(np.diagonal(R))
    W = matrix.out(W[:, sizes > _ROUNDING * max(sizes.max(initial=0.0), 1e-300)])
    if not W.shape[1]:
        return np.array([-matrix.beta]), np.zeros((len(matrix.basis), 1)), 0.0
    small = W.T @ matrix.times(W)
    with threads_for(len(small)):
        values, vectors = np.linalg.eigh((small + small.T) / 2)
    return values[::-1][:count] - matrix.beta, W @ vectors[:, ::-1][:, :count], 0.0


def _leading(
    matrix: _Complement, count: int, rng: np.random.Generator, accuracy: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the largest eigenvalues of -S in the complement, largest first, eigenvectors and the largest's error."""
    p = len(matrix.basis)
    count = min(count, matrix.free)
    if count == 0:
        return np.empty(0), np.empty((p, 0)), 0.0
    if p <= _MOST_DENSE and not lanczos_is_quicker(p, count):
        with threads_for(p):
            values, vectors = np.linalg.eigh(matrix.dense())
        # eigenvalues 0 belong to the span of Q; those of the complement that are as small are no use anyway
        return values[::-1][:count] - matrix.beta, matrix.out(vectors[:, ::-1][:, :count]), 0.0
    values, vectors = _lanczos(matrix, min(count, p // 4), rng, accuracy)
    if not len(values):
        return np.array([np.inf]), np.zeros((p, 1)), 0.0
    residual = matrix.times(vectors[:, 0]) - values[0] * vectors[:, 0]
    return values - matrix.beta, matrix.out(vectors), float(np.linalg.norm(residual))


def _lanczos(
    matrix: _Complement, count: int, rng: np.random.Generator, accuracy: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenpairs, largest first; fewer or less accurate ones if they are hard to separate."""
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

    p = len(matrix.basis)
    operator = LinearOperator((p, p), matvec=matrix.times, dtype=np.float64)
    start = matrix.out(rng.normal(size=p))
    for looser in _LOOSER:
        width = min(p, max(2 * count + 1, 20) * (1 if looser == 1 else 2))
        try:
            values, vectors = eigsh(
                operator, count, which="LA", v0=start, tol=max(accuracy * looser, _ROUNDING), ncv=width
            )
        except ArpackError as found:  # no convergence, of which some pairs may be left, or a breakdown
            values, vectors = (getattr(found, name, np.empty(0)) for name in ("eigenvalues", "eigenvectors"))
            if not len(values):
                continue
        order = np.argsort(values)[::-1]
        return values[order], vectors[:, order]
    return np.empty(0), np.empty((p, 0))
