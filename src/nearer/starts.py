"""Choose starting points: random, or from the spectrum of the comparisons."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from nearer._utils.arrays import relative
from nearer.errors import InputError
from nearer.losses import Loss

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from nearer.comparisons import Comparisons
    from nearer.objectives import PointObjective

#: spectral starts are the default up to this many dimensions: in few dimensions, random starts end up folded
_LOW_DIMENSION = 3
#: seconds per comparison and per object that the matrix of a spectral start takes, on a slow machine
_MATRIX_SECONDS = 2e-6
#: relative to the longest direction of given points: lengths below the first count as missing, and get the second
_FLAT, _NUDGE = 1e-7, 3e-3


class _TooLong(Exception):  # noqa: N818 - a spent budget, not an error
    """The time for a better start has run out."""


def starting_points(
    init: str | np.ndarray,
    comparisons: Comparisons,
    loss: Loss,
    n_components: int,
    rng: np.random.Generator,
    seconds: float | None = None,
    *,
    dtype: DTypeLike = np.float64,
) -> np.ndarray:
    """Return the points to start from, at the scale where the loss has its curvature (an array keeps its own scale).

    An array without spread in some direction, such as a column of zeros, gets a few thousandths of its size there:
    otherwise no descent would ever use that direction. It is refused if its squares overflow or vanish in
    `dtype`, the precision of the fit. A spectral start that takes longer than `seconds` is replaced by a random one.
    """
    if isinstance(init, str) and init == "auto":
        init = "spectral" if n_components <= _LOW_DIMENSION else "random"
    if isinstance(init, str) and init == "random":
        return random_points(comparisons.n_objects, n_components, loss.unit, rng)
    if isinstance(init, str) and init == "spectral":
        return spectral_points(comparisons, n_components, loss.unit, rng, seconds)
    if isinstance(init, str):
        raise InputError(f'init must be "auto", "random", "spectral" or an array, not {init!r}')
    return _in_all_directions(
        _given_points(init, (comparisons.n_objects, n_components), np.dtype(dtype)), rng
    )


def _given_points(init: np.ndarray, shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
    """Return a checked copy of a user's own points, from which a fit of this precision can start."""
    points = np.array(init, dtype=np.float64)
    if points.shape != shape:
        raise InputError(
            f"init has shape {points.shape} but the fit needs {shape}: one row per object, one column per component"
        )
    if not np.isfinite(points).all():
        raise InputError("init contains NaN or infinity: give finite starting points")
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = points.astype(dtype).astype(np.float64)
        size = float(np.square(rounded).sum())  # enters the L2 term
        spread = float(np.square(rounded - rounded[0]).sum())
    if not max(size, spread) <= float(np.finfo(dtype).max):
        raise InputError(f"the squares of init overflow in {dtype}: give smaller numbers")
    if (points == points[0]).all():
        raise InputError("init puts all objects at one point, where gradients vanish: spread the points")
    if spread < float(np.finfo(dtype).tiny):
        raise InputError(f"the squared distances of init vanish in {dtype}: spread the points")
    return points


def _in_all_directions(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return points with some spread in every direction, as far as there are enough of them.

    Without spread in a direction the gradient is zero there too: a saddle point.
    """
    centred = points - points.mean(axis=0)
    centred /= np.abs(centred).max()  # otherwise squares of tiny or huge numbers vanish or overflow
    variances, directions = np.linalg.eigh(centred.T @ centred)
    missing = directions[:, variances <= _FLAT**2 * variances[-1]]
    if points.shape[1] - missing.shape[1] >= min(points.shape[1], len(points) - 1):
        return points
    size = np.linalg.norm(points - points.mean(axis=0)) / np.sqrt(len(points))
    return points + _NUDGE * size * rng.normal(size=(len(points), missing.shape[1])) @ missing.T


def random_points(n_objects: int, n_components: int, unit: float, rng: np.random.Generator) -> np.ndarray:
    """Draw Gaussian points whose mean squared distance is `unit`."""
    return rng.normal(size=(n_objects, n_components)) * np.sqrt(unit / (2 * n_components))


def spectral_points(
    comparisons: Comparisons,
    n_components: int,
    unit: float,
    rng: np.random.Generator,
    seconds: float | None = None,
) -> np.ndarray:
    """Return, as points, the direction in which a kernel at zero improves most.

    "i and j are nearer than l and k" asks that K_ii + K_jj - 2 K_ij of a kernel K decrease and the same term of l, k
    increase: a Laplacian with weight -1 on the near pair and +1 on the far pair. The leading eigenvectors of the
    sum over the comparisons are the best first step of a kernel method from K = 0, cut to rank `n_components`.
    If there are none, or not within `seconds`, the points are random.
    """
    n = comparisons.n_objects
    end = None if seconds is None else time.perf_counter() + seconds
    try:
        rise, share = _rise(comparisons, seconds)
        eigenvalues, vectors = _leading(rise, n_components, rng, end)
    except _TooLong:
        return random_points(n, n_components, unit, rng)
    points = vectors * np.sqrt(np.maximum(eigenvalues, 0)) * share[:, None]
    points -= points.mean(axis=0)
    size = float(np.vdot(points, points)) / n
    if not size > 0:
        return random_points(n, n_components, unit, rng)
    points *= np.sqrt(unit / (2 * size))
    # no descent leaves a column of zeros: it is a saddle point
    empty = np.linalg.norm(points, axis=0) < 1e-6 * np.linalg.norm(points)
    points[:, empty] = 0.1 * random_points(n, n_components, unit, rng)[:, empty]
    return points


def _rise(comparisons: Comparisons, seconds: float | None) -> tuple[csr_array, np.ndarray]:
    """Return the sum of the Laplacians with every object scaled by its share, and the shares."""
    from scipy.sparse import coo_array, diags_array

    n, q = comparisons.n_objects, len(comparisons)
    if seconds is not None and _MATRIX_SECONDS * (n + q) > seconds:
        raise _TooLong
    i, j, l, k = comparisons.quadruplets().T
    weights = np.ones(q) if comparisons.weights is None else relative(comparisons.weights)
    values, rows, columns = (
        np.concatenate([weights, -weights]),
        np.concatenate([i, l]),
        np.concatenate([j, k]),
    )
    nearness = coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
    nearness = nearness + nearness.T
    rise = nearness - diags_array(nearness.sum(axis=1))
    share = np.sqrt(1 / (1 + np.bincount(np.concatenate([rows, columns]), minlength=n)))
    # the scaling keeps objects with many comparisons from dominating
    return diags_array(share) @ rise @ diags_array(share), share


def _leading(
    matrix: csr_array, count: int, rng: np.random.Generator, end: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues and their vectors, with memory for a few dozen vectors."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    n = matrix.shape[0]
    largest = abs(matrix).max()
    # Lanczos needs more rows than this, and such a small problem needs no help; and if the comparisons cancel
    # each other, no direction is better than another
    if n <= count + 1 or not largest > 0:
        return np.zeros(count), np.zeros((n, count))
    matrix = matrix / largest

    def product(vector: np.ndarray) -> np.ndarray:
        if end is not None and time.perf_counter() > end:
            raise _TooLong
        return matrix @ vector

    operator = LinearOperator((n, n), matvec=product, dtype=matrix.dtype)
    try:
        return eigsh(operator, k=count, which="LA", tol=1e-2, v0=rng.normal(size=n))
    except ArpackNoConvergence as error:
        raise _TooLong from error


def brought_back(objective: PointObjective, points: np.ndarray) -> np.ndarray:
    """Shrink points far larger than the loss's unit to the scale with the smallest objective.

    Far out a loss is flat or linear, and a descent is slow. Points within ten units are returned unchanged.
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
