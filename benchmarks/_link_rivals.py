"""Rivals of `links`: counts of common neighbours, and a logistic matrix factorisation."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.special import expit

from benchmarks._link_data import Question
from nearer.solvers.lbfgs import descend

_ITERATIONS, _MEMORY, _FALL = 100, 10, 1e-4


def neighbour_scores(asked: Question, both_directions: bool, rarity: bool) -> np.ndarray:
    """Count common neighbours, each weighted by 1 / ln(number of its links) for Adamic and Adar's score.

    In a directed graph, neighbours are linked in either direction, or on a path of two links from the first to the
    second object.
    """
    A = asked.graph.matrix(asked.known)
    S = sparse.csr_matrix(((A + A.T) > 0).astype(float)) if both_directions else A
    weights = np.ones(S.shape[0])
    if rarity:
        links = (
            np.asarray(S.sum(axis=1)).ravel()
            if both_directions
            else np.asarray((A + A.T).sum(axis=1)).ravel()
        )
        weights = 1 / np.log(np.maximum(links, 2))
    paths = (S @ sparse.diags(weights) @ S).tocsr()
    return np.asarray(paths[asked.pairs[:, 0], asked.pairs[:, 1]]).ravel()


class LogisticFactors:
    """A link has the log odds u_i · v_j + b_i + c_j + d; in an undirected graph u = v and b = c.

    The log loss of links and that of a sample of other pairs, with `balance` times the total weight of the links, plus
    `l2 * (|U|² + |V|² + |b|² + |c|²)`, is minimised by L-BFGS.

    Parameters
    ----------
    asked : Question
    others : int array (k, 2)
        Pairs without a link to learn from.
    rank : int
        Length of u and v.
    l2 : float
    rng : numpy Generator
        Draws the start.
    balance : float
    """

    def __init__(
        self,
        asked: Question,
        others: np.ndarray,
        rank: int,
        l2: float,
        rng: np.random.Generator,
        balance: float = 1.0,
    ):
        self.n, self.directed, self.l2 = asked.graph.size, asked.graph.directed, l2
        known = asked.known
        self.pairs = np.concatenate([known, others])
        signs = np.repeat([1.0, -1.0], [len(known), len(others)])
        shares = np.repeat([1.0, balance * len(known) / len(others)], [len(known), len(others)])
        self.signs, self.shares = signs, shares
        rows, columns = self.pairs.T
        shape = (self.n, self.n)
        places = sparse.csr_matrix((np.arange(1.0, len(rows) + 1), (rows, columns)), shape=shape)
        self.order, self.pattern = places.data.astype(int) - 1, places
        sides = 2 if self.directed else 1
        start = rng.normal(size=(sides * self.n, rank + 1)) * 0.1
        start[:, -1] = 0
        self.x = np.append(start.ravel(), 0.0)
        self.width = rank + 1
        recent = [np.inf]

        def record(x: np.ndarray, value: float, length: float) -> bool:
            self.x = x
            recent.append(value)
            return len(recent) > 10 and recent[-10] - value < _FALL * abs(value)

        descend(self.value_and_gradient, self.x, record, _MEMORY, _ITERATIONS)

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient; the last entry of x is the offset of all."""
        left, right = self._sides(x)
        odds = self._odds(left, right, x[-1], self.pairs)
        margins = self.signs * odds
        value = float(self.shares @ np.logaddexp(0, -margins)) + self.l2 * float(x[:-1] @ x[:-1])
        slopes = -self.signs * self.shares * expit(-margins)
        S = sparse.csr_matrix(
            (slopes[self.order], self.pattern.indices, self.pattern.indptr), shape=self.pattern.shape
        )
        ones = np.ones(self.n)
        to_left = np.column_stack([S @ right[:, :-1], S @ ones])
        to_right = np.column_stack([S.T @ left[:, :-1], S.T @ ones])
        found = np.vstack([to_left, to_right]) if self.directed else to_left + to_right
        return value, np.append(found.ravel() + 2 * self.l2 * x[:-1], slopes.sum())

    def scores(self, pairs: np.ndarray) -> np.ndarray:
        """The log odds of pairs."""
        return self._odds(*self._sides(self.x), self.x[-1], pairs)

    def _sides(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        points = x[:-1].reshape(-1, self.width)
        return (points[: self.n], points[self.n :]) if self.directed else (points, points)

    @staticmethod
    def _odds(left: np.ndarray, right: np.ndarray, offset: float, pairs: np.ndarray) -> np.ndarray:
        i, j = pairs.T
        inner = np.einsum("ij,ij->i", left[i, :-1], right[j, :-1])
        return inner + left[i, -1] + right[j, -1] + offset
