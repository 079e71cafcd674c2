"""The kernel that an online kernel begins with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nearer._utils.blas import threads_for
from nearer._utils.finite import LARGEST
from nearer.comparisons import Comparisons
from nearer.comparisons.store import check_numbers
from nearer.errors import InputError
from nearer.kernels._forms import Factored, Whole
from nearer.kernels._full import FullKernel

if TYPE_CHECKING:
    from nearer.kernels.online import OnlineKernel

#: a start counts as positive semidefinite down to this share of its largest eigenvalue
_START_TOLERANCE = 1e-10


def n_at_start(n_objects: int | None, comparisons: Comparisons) -> int:
    """How many objects there are: as many as the user says, or as the first answers speak of."""
    if n_objects is None:
        check_numbers(comparisons)
    n = comparisons.n_objects if n_objects is None else n_objects
    if n == 0:
        raise InputError("the first answers are none, so that nobody knows the objects: give n_objects")
    if comparisons.names is not None and n != comparisons.n_objects:
        raise InputError(
            f"n_objects is {n} but the first answers name {comparisons.n_objects} objects: leave n_objects out, or "
            "name all objects in the answers"
        )
    return n


def held_at_start(model: OnlineKernel, n: int, random: np.random.Generator) -> Whole | Factored:
    """The kernel before the first answer, in the form that `rank` asks for."""
    if model.rank is not None:
        if np.ndim(model.start) == 0:
            points = random.normal(size=(n, model.rank)) * math.sqrt(start_scale(model) / model.rank)
        else:
            points = _array(
                "start", model.start, (n, model.rank), "points, one row an object and `rank` columns"
            )
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
            f"start makes a kernel with entries above {LARGEST:g}, which overflow: give smaller numbers"
        )


def start_scale(model: OnlineKernel) -> float:
    """The mean of the kernel's diagonal at the start, which new objects get too."""
    if np.ndim(model.start) == 0:
        return float(model.start)  # type: ignore[arg-type]
    given = np.asarray(model.start, dtype=float)
    squares = given**2 if model.rank is not None else np.diagonal(given)
    return float(squares.sum() / len(given)) or 1.0


def largest_at_start(start: ArrayLike, rank: int | None) -> float:
    """The largest entry of the kernel that begins with `start`."""
    given = np.asarray(start, dtype=float)
    with np.errstate(over="ignore"):
        sizes = given if given.ndim == 0 or rank is None else (given**2).sum(axis=1)
    return float(np.abs(sizes).max(initial=0.0))


def _array(name: str, values: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    array = np.array(values, dtype=float, order="C")
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape} but must have shape {shape}: {what}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds numbers that are not finite: give finite ones")
    return array


def _psd(kernel: np.ndarray) -> np.ndarray:
    """A start that is symmetric and positive semidefinite."""
    if not np.allclose(kernel, kernel.T, rtol=1e-10, atol=1e-12 * max(np.abs(kernel).max(), 1.0)):
        raise InputError("start is not symmetric: a kernel is, and (start + start.T) / 2 would be")
    kernel = (kernel + kernel.T) / 2
    try:
        with threads_for(len(kernel)):
            values = np.linalg.eigvalsh(kernel)
    except np.linalg.LinAlgError as error:  # numbers of all sizes up to the largest
        raise InputError(
            f"start has no eigenvalues that can be computed ({error}): give smaller numbers"
        ) from error
    if values[0] < -_START_TOLERANCE * max(values[-1], 1.0):
        raise InputError(
            f"start has the eigenvalue {values[0]:.3g}, but a kernel has none below 0: remove the negative ones"
        )
    return kernel
