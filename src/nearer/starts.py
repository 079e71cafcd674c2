"""Where a fit begins: points at random, or from the spectrum of the comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nearer.errors import InputError
from nearer.losses import Loss

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons
    from nearer.objectives import PointObjective

#: starts from the spectrum are the default up to this many dimensions: with few, random starts fold
_LOW_DIMENSION = 3


def starting_points(
    init: str | np.ndarray,
    comparisons: Comparisons,
    loss: Loss,
    n_components: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Points to begin with, at the scale at which the loss bends (a given array keeps its own)."""
    if isinstance(init, str) and init == "auto":
        init = "spectral" if n_components <= _LOW_DIMENSION else "random"
    if isinstance(init, str) and init == "random":
        return random_points(comparisons.n_objects, n_components, loss.unit, rng)
    if isinstance(init, str) and init == "spectral":
        return spectral_points(comparisons, n_components, loss.unit, rng)
    if isinstance(init, str):
        raise InputError(f'init must be "auto", "random", "spectral" or an array, not {init!r}')
    points = np.array(init, dtype=np.float64)
    if points.shape != (comparisons.n_objects, n_components):
        raise InputError(
            f"init has shape {points.shape} but the fit needs ({comparisons.n_objects}, {n_components}): "
            "one row an object, one column a component"
        )
    if not np.isfinite(points).all():
        raise InputError("init holds NaN or infinity: give finite starting points")
    return points


def random_points(n_objects: int, n_components: int, unit: float, rng: np.random.Generator) -> np.ndarray:
    """Gaussian points whose mean squared distance is `unit`."""
    return rng.normal(size=(n_objects, n_components)) * np.sqrt(unit / (2 * n_components))


def spectral_points(
    comparisons: Comparisons, n_components: int, unit: float, rng: np.random.Generator
) -> np.ndarray:
    """The direction in which a kernel at zero improves most, as points.

    "i and j are nearer than l and k" asks of a kernel K that K_ii + K_jj - 2 K_ij fall and the same for l, k rise: a
    Laplacian with weight -1 on the near pair and +1 on the far one. Summed over the comparisons, its leading
    eigenvectors are the best first step of a kernel method from K = 0, cut to rank `n_components`.
    """
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import eigsh

    n, q = comparisons.n_objects, len(comparisons)
    if n <= n_components + 1:  # Lanczos needs room, and so small a problem needs no help
        return random_points(n, n_components, unit, rng)
    i, j, l, k = comparisons.quadruplets().T
    weights = np.ones(q) if comparisons.weights is None else comparisons.weights
    values, rows, columns = (
        np.concatenate([weights, -weights]),
        np.concatenate([i, l]),
        np.concatenate([j, k]),
    )
    nearness = coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
    nearness = nearness + nearness.T
    rise = nearness - diags_array(nearness.sum(axis=1))
    share = np.sqrt(1 / (1 + np.bincount(np.concatenate([rows, columns]), minlength=n)))
    rise = diags_array(share) @ rise @ diags_array(share)  # busy objects would otherwise drown the rest
    if not abs(rise).max() > 0:  # the comparisons cancel each other: no direction is better than another
        return random_points(n, n_components, unit, rng)
    rise /= abs(rise).max()
    eigenvalues, vectors = eigsh(rise, k=n_components, which="LA", tol=1e-2, v0=rng.normal(size=n))
    points = vectors * np.sqrt(np.maximum(eigenvalues, 0)) * share[:, None]
    points -= points.mean(axis=0)
    size = float(np.vdot(points, points)) / n
    if not size > 0:
        return random_points(n, n_components, unit, rng)
    points *= np.sqrt(unit / (2 * size))
    # a column of zeros is a saddle that no descent leaves
    empty = np.linalg.norm(points, axis=0) < 1e-6 * np.linalg.norm(points)
    points[:, empty] = 0.1 * random_points(n, n_components, unit, rng)[:, empty]
    return points


def brought_back(objective: PointObjective, points: np.ndarray) -> np.ndarray:
    """Points far beyond the loss's unit, brought back along their ray to where the objective is least.

    Far out a loss is flat or linear and a descent crawls; within ten units the points stay as they are.
    """
    from scipy.optimize import minimize_scalar

    centred = points - points.mean(axis=0)
    mean_squared_distance = 2 * float(np.vdot(centred, centred)) / len(points)
    if mean_squared_distance <= 10 * objective.unit_length**2:
        return points
    least = 0.5 * np.log(objective.unit_length**2 / mean_squared_distance)
    found = minimize_scalar(
        lambda log_scale: objective.value((points * np.exp(log_scale)).astype(objective.dtype)),
        bounds=(least, 0.0),
        method="bounded",
        options={"xatol": 0.1},
    )
    return points * np.exp(found.x)
