"""The kernels with which fits begin, checked before anything large is allocated."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nearer._utils.arrays import LARGEST
from nearer._utils.runtime import threads_for
from nearer.comparisons import Comparisons
from nearer.comparisons.store import check_numbers
from nearer.errors import InputError
from nearer.kernels._forms import Factored, Whole
from nearer.kernels._full import FullKernel
from nearer.objectives import GramObjective
from nearer.starts import random_points

if TYPE_CHECKING:
    from nearer.kernels.online import OnlineKernel

#: a start counts as positive semidefinite down to this share of its largest eigenvalue
_START_TOLERANCE = 1e-10
#: slopes at zero above this, in the loss's unit, are a pole, at which a fit cannot begin
_POLE = 1e6
_BYTES_PER_NUMBER = 8


# -- memory ----------------------------------------------------------------------------------------------------------


def check_room(n_objects: int, rank: int | None, remedy: str) -> None:
    """Refuse a kernel that does not fit into memory: n × n numbers, or n × `rank`.

    `remedy` says what to do instead.
    """
    needed = _BYTES_PER_NUMBER * n_objects * (n_objects if rank is None else rank)
    if needed > machine_memory():
        what = "a whole kernel" if rank is None else f"a kernel of rank {rank}"
        raise InputError(
            f"{what} over {n_objects:,} objects takes {needed / 2**30:,.0f} GiB, more memory than this machine has: "
            f"{remedy}, or pass names instead if most indices are unused"
        )


def machine_memory() -> int:
    """Return the bytes that this process may use; if the system does not say, more than any machine has."""
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        import resource  # not on every system

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        return physical if limit == resource.RLIM_INFINITY else min(physical, limit)
    except (AttributeError, ImportError, OSError, ValueError):
        return 2**60


# -- online kernels --------------------------------------------------------------------------------------------------


def n_at_start(n_objects: int | None, comparisons: Comparisons) -> int:
    """Return the number of objects: `n_objects` if set, else the number that the first answers are about."""
    if n_objects is None:
        check_numbers(comparisons)
    n = comparisons.n_objects if n_objects is None else n_objects
    if n == 0:
        raise InputError("the first batch of answers is empty, so the objects are unknown: set n_objects")
    if comparisons.names is not None and n != comparisons.n_objects:
        raise InputError(
            f"n_objects is {n} but the first answers name {comparisons.n_objects} objects: leave n_objects out, or "
            "name all objects in the answers"
        )
    return n


def held_at_start(model: OnlineKernel, n: int, random: np.random.Generator) -> Whole | Factored:
    """Return the kernel before the first answer, in the form that `rank` asks for."""
    if model.rank is not None:
        if np.ndim(model.start) == 0:
            points = random.normal(size=(n, model.rank)) * math.sqrt(start_scale(model) / model.rank)
        else:
            points = _array("start", model.start, (n, model.rank), "one row per object and `rank` columns")
        _check_size(model)
        return Factored(points)
    if np.ndim(model.start) == 0:
        kernel = start_scale(model) * np.eye(n)
    else:
        kernel = _psd(_array("start", model.start, (n, n), "a kernel over all objects"))
    _check_size(model)
    return Whole(FullKernel.start(kernel, model.skip), model.direction or "paper")


def _check_size(model: OnlineKernel) -> None:
    if largest_at_start(model.start, model.rank) > LARGEST:
        raise InputError(
            f"start makes a kernel with entries above {LARGEST:g}, which overflow: use smaller numbers"
        )


def start_scale(model: OnlineKernel) -> float:
    """Return the mean of the kernel's diagonal at the start, which new objects get too."""
    if np.ndim(model.start) == 0:
        return float(model.start)  # type: ignore[arg-type]
    given = np.asarray(model.start, dtype=float)
    squares = given**2 if model.rank is not None else np.diagonal(given)
    return float(squares.sum() / len(given)) or 1.0


def largest_at_start(start: ArrayLike, rank: int | None) -> float:
    """Return the largest entry of the kernel that begins with `start`."""
    given = np.asarray(start, dtype=float)
    with np.errstate(over="ignore"):
        sizes = given if given.ndim == 0 or rank is None else (given**2).sum(axis=1)
    return float(np.abs(sizes).max(initial=0.0))


def _psd(kernel: np.ndarray) -> np.ndarray:
    """Return a start that is exactly symmetric; refuse one that is not positive semidefinite."""
    if not np.allclose(kernel, kernel.T, rtol=1e-10, atol=1e-12 * max(np.abs(kernel).max(), 1.0)):
        raise InputError("start is not symmetric: use (start + start.T) / 2")
    kernel = (kernel + kernel.T) / 2
    try:
        with threads_for(len(kernel)):
            values = np.linalg.eigvalsh(kernel)
    except np.linalg.LinAlgError as error:  # numbers of all sizes up to the largest
        raise InputError(
            f"the eigenvalues of start cannot be computed ({error}): use smaller numbers"
        ) from error
    if values[0] < -_START_TOLERANCE * max(values[-1], 1.0):
        raise InputError(
            f"start has the negative eigenvalue {values[0]:.3g}: use a positive semidefinite kernel"
        )
    return kernel


# -- batch kernels ---------------------------------------------------------------------------------------------------


def starting_factor(init: str | np.ndarray, objective: GramObjective, rng: np.random.Generator) -> np.ndarray:
    """Return a factor of the kernel to begin with, centred, which changes no distance."""
    n = objective.shape[0]
    if not isinstance(init, str):
        return _factor_of(_array("init", init, (n, n), "a kernel over all objects"))
    if init != "auto":
        raise InputError(f'init must be "auto" or a kernel of shape ({n}, {n}), not {init!r}')
    zero = np.zeros(1)
    steepest = max(float(np.abs(slopes).max()) for slopes in objective.loss.derivatives(zero, zero))
    if steepest * objective.loss.unit < _POLE:
        return np.zeros((n, 1))
    if objective.max_rank is not None:  # equal distances take as many dimensions as there are objects
        points = random_points(n, min(objective.max_rank, n), objective.loss.unit, rng)
        return points - points.mean(axis=0)
    return np.sqrt(objective.loss.unit / 2) * (np.eye(n) - 1 / n)


def _factor_of(kernel: np.ndarray) -> np.ndarray:
    if np.abs(kernel).max() > LARGEST:
        raise InputError(f"init has entries above {LARGEST:g}, which overflow: use smaller numbers")
    if not np.allclose(kernel, kernel.T, rtol=1e-8, atol=1e-12):
        raise InputError("init is not symmetric: use a positive semidefinite kernel")
    with threads_for(len(kernel)):
        values, vectors = np.linalg.eigh(kernel)
    if values[0] < -1e-8 * max(values[-1], 1.0):
        raise InputError(
            f"init has the negative eigenvalue {values[0]:.3g}: use a positive semidefinite kernel"
        )
    factor = vectors * np.sqrt(np.maximum(values, 0))
    return factor - factor.mean(axis=0)


def _array(name: str, values: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    array = np.array(values, dtype=float, order="C")
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape} but must have shape {shape}: {what}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds NaN or infinity: use finite numbers")
    return array
