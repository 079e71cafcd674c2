"""Solvers of cones as rivals: FISTA with whole eigendecompositions, and cvxpy with SCS."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._convex_problems import similarities
from nearer import datasets, losses
from nearer.objectives import GramObjective

#: value and gradient of an objective, penalty included, at a whole matrix
Whole = Callable[[np.ndarray], tuple[float, np.ndarray]]

#: FISTA's steps grow by this after each iteration, and are halved if the quadratic bound fails
_GROWTH = 1.1
_TIGHTER = (1e-3, 1e-4, 1e-5, 1e-6)


class Similarities:
    """Eq. 12 with twice as many rows as features, in the basis of the right singular vectors of the rows.

    There, products with the rows are products with their singular values: the rivals' gradients cost nothing.
    """

    def __init__(self, p: int, seed: int, beta: float):
        self.X, self.objective = similarities(p, 2 * p, seed, beta)
        self.p, self.share = p, 1 / (2 * p) ** 2
        self.sizes, self.basis, self.target = self.objective._decomposed

    def whole(self, C: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient at a whole matrix."""
        weights = np.outer(self.sizes, self.sizes)
        residuals, penalty = self.target - weights * C, self.objective.trace_penalty
        value = self.share * float(np.sum(residuals**2)) + penalty * float(np.trace(C))
        return value, penalty * np.eye(self.p) - 2 * self.share * weights * residuals

    def in_cvxpy(self, C: Any) -> Any:
        """Return the objective as an expression of cvxpy."""
        import cvxpy

        weights = np.outer(self.sizes, self.sizes)
        residuals = self.target - cvxpy.multiply(weights, C)
        return self.share * cvxpy.sum_squares(residuals) + self.objective.trace_penalty * cvxpy.trace(C)


class Kernel:
    """STE of answers about p objects: a kernel from 20 noisy comparisons per object of points in three dimensions."""

    def __init__(self, p: int, seed: int, penalty: float):
        self.answers, _ = datasets.planted(p, 3, 20 * p, noise=0.1, random_state=seed)
        self.p, self.objective = p, GramObjective(self.answers, losses.STE(), trace_penalty=penalty / p)

    def whole(self, K: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient at a whole matrix."""
        value, gradient = self.objective.of_kernel(K)
        return value, gradient

    def in_cvxpy(self, K: Any) -> Any:
        """Return the objective as an expression of cvxpy."""
        import cvxpy

        i, j, l, k = self.answers.quadruplets().T
        own = cvxpy.diag(K)
        near, far = own[i] + own[j] - 2 * K[i, j], own[l] + own[k] - 2 * K[l, k]
        loss = cvxpy.sum(cvxpy.logistic(near - far)) / len(i)
        return loss + self.objective.trace_penalty * cvxpy.trace(K)


Problem = Similarities | Kernel


def positive_part(C: np.ndarray) -> np.ndarray:
    """Return the nearest positive semidefinite matrix, by a whole eigendecomposition.

    >>> positive_part(np.diag([2.0, -1.0]))
    array([[2., 0.],
           [0., 0.]])
    """
    values, vectors = np.linalg.eigh(C)
    some = values > 0
    return (vectors[:, some] * values[some]) @ vectors[:, some].T


def fista(whole: Whole, p: int, enough: float, most_seconds: float) -> dict[str, Any]:
    """Minimise by accelerated proximal gradients with backtracking and restarts until a value is reached.

    >>> whole = Similarities(5, 0, 0.5).whole
    >>> fista(whole, 5, whole(np.eye(5))[0], 10.0)["reached"]
    True
    """
    began = time.process_time()
    C = origin = np.zeros((p, p))
    value, momentum, step, count = whole(C)[0], 1.0, 1.0, 0
    while value > enough and time.process_time() - began < most_seconds:
        count += 1
        at, gradient = whole(origin)
        while True:
            moved = positive_part(origin - step * gradient)
            change = moved - origin
            found = whole(moved)[0]
            bound = at + float(np.vdot(gradient, change)) + float(np.vdot(change, change)) / (2 * step)
            if found <= bound + 1e-12 * abs(at):
                break
            step /= 2
        if found > value:  # momentum led up: begin again from the last matrix
            if momentum == 1:
                break
            origin, momentum = C, 1.0
            continue
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        origin = moved + (momentum - 1) / following * (moved - C)
        C, value, momentum, step = moved, found, following, step * _GROWTH
    return {
        "seconds": time.process_time() - began,
        "objective": value,
        "reached": bool(value <= enough),
        "rounds": count,
    }


def scs(problem: Problem, enough: float, most_seconds: float) -> dict[str, Any]:
    """Solve with SCS, with ever tighter tolerances until a value is reached; only the last solve is timed."""
    found: dict[str, Any] = {}
    for eps in _TIGHTER:
        found = solved(problem, eps, most_seconds)
        found["reached"] = bool(found["objective"] <= enough)
        if found["reached"] or found.pop("ended"):
            break
    return found


def solved(problem: Problem, eps: float, most_seconds: float) -> dict[str, Any]:
    """Solve with SCS once. Neither the translation by cvxpy nor the projection of the result counts."""
    import cvxpy

    C = cvxpy.Variable((problem.p, problem.p), PSD=True)
    scale = problem.whole(np.zeros((problem.p, problem.p)))[0]
    stated = cvxpy.Problem(cvxpy.Minimize(problem.in_cvxpy(C) / scale))
    settings = {
        "eps_abs": eps,
        "eps_rel": eps,
        "max_iters": 10**6,
        "time_limit_secs": most_seconds,
        "acceleration_lookback": 10,
    }
    data, chain, inverse = stated.get_problem_data(cvxpy.SCS)
    began = time.process_time()
    raw = chain.solve_via_data(stated, data, warm_start=False, verbose=False, solver_opts=settings)
    seconds = time.process_time() - began
    ended = raw["info"]["status"] != "solved"
    stated.unpack_results(raw, chain, inverse)
    value = float("inf") if C.value is None else problem.whole(positive_part((C.value + C.value.T) / 2))[0]
    return {
        "seconds": seconds,
        "objective": min(value, 1e300),
        "rounds": int(raw["info"]["iter"]),
        "eps": eps,
        "ended": ended,
    }
