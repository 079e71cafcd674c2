"""The smallest eigenpair of a kernel that changes a little at every step.

A kernel that was projected has an eigenvalue zero and, after many answers, a cluster of others just above it, so an
eigensolver that starts from scratch, such as Lanczos, needs dozens of products with the matrix. Two facts save nearly
all of them:

- *The cluster moves slowly.* A basis of the low eigenvectors, its image under K and its Gram matrix are kept and
  updated along with K, at O(n) per column.
- *What is new lies near the objects of the answer.* If K - E C E' has the eigenvalue t < 0, its eigenvector is
  (K - t)^-1 E y. The resolvent P = (K + shift)^-1 is kept and updated (Woodbury); its columns P E are there to be read,
  and K P E = E - shift P E needs no product either.

The basis, E and P E together hold the eigenvector to three or four digits; each product with P (of the residual, as
in Davidson's method) adds three or four more. An eigenvalue's error is the residual's square divided by the gap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh

from nearer._utils.runtime import threads_for
from nearer._utils.schema import Array, Fields, Flag, Integer, Number, need
from nearer.kernels._symmetric import Symmetric

#: a direction is new if more than this share of it is outside the basis
_NEW = 1e-6
#: below this share the image of the part outside is not the difference of two images, whose rounding errors would be
#: magnified (and again by the next such part), but a product with the kernel
_SAFE = 0.1
#: eigenvalues below this multiple of the shift are kept
LOW = 4.0
#: columns kept after a clear-out, columns between two, and room for one step's
_KEPT, _BETWEEN, _STEP = 100, 48, 24
#: error that a projection may have, in units of the tolerance of its eigenvalue
_ASTRAY = 200
#: directions that are left out are as good as null below this multiple of the shift
_NULL = 1e-3
#: clear-outs between two renewals of the image
_RENEW_EVERY = 8


@dataclass
class LowSpace:
    """An orthonormal basis of (at least) the low eigenvectors: its image K basis and Gram matrix basis' K basis."""

    basis: np.ndarray
    image: np.ndarray
    gram: np.ndarray
    size: int = 0
    #: K outside the basis is at least this. That holds because `fill` begins with all low eigenvectors of K: steps and
    #: projections only change K within the basis.
    rest: float = 0.0
    #: whether null directions had to be left out: then there is no bound on the rest, and the basis cannot be used
    crowded: bool = False
    #: clear-outs since the image was recomputed
    age: int = 0
    _schema = Fields(
        basis=Array("n", "room", dtype="float64", order="F"),
        image=Array("n", "room", dtype="float64", order="F"),
        gram=Array("room", "room", dtype="float64"),
        size=Integer(),
        rest=Number(),
        crowded=Flag(),
        age=Integer(0, _RENEW_EVERY),
    )

    def _check_loaded(self) -> None:
        room = self.basis.shape[1]
        need(self.size + _STEP <= room, f"{self.size} directions leave no room for a step in {room} columns")

    @classmethod
    def empty(cls, n: int) -> LowSpace:
        """Return a space without directions, over n objects."""
        room = min(n, _KEPT + _BETWEEN) + _STEP
        return cls(np.zeros((n, room), order="F"), np.zeros((n, room), order="F"), np.zeros((room, room)))

    def fill(self, matrix: np.ndarray, low: float) -> None:
        """Begin again with the eigenvectors of a matrix whose eigenvalues are below `low`, by LAPACK."""
        values, vectors = _lowest(matrix, _KEPT + 1)
        kept = self._keep(values, low)
        self.basis[:, :kept], self.image[:, :kept] = vectors[:, :kept], vectors[:, :kept] * values[:kept]
        self.age = 0

    def _keep(self, values: np.ndarray, low: float) -> int:
        """Make room for the eigenvectors with values below `low`, at least one; return their number."""
        kept = int(np.clip(np.sum(values < low), 1, _KEPT))
        self.gram[:] = 0
        self.gram[range(kept), range(kept)] = values[:kept]
        self.size, self.rest = kept, float(min(low, values[kept] if kept < len(values) else low))
        self.crowded = self.rest < _NULL * low
        return kept

    def change(self, rows: np.ndarray, block: np.ndarray) -> None:
        """Follow K -> K - block over these rows."""
        basis = self.basis[rows, : self.size]
        moved = block @ basis
        self.gram[: self.size, : self.size] -= basis.T @ moved
        self.image[rows, : self.size] -= moved

    def lift(self, size: float, vector: np.ndarray, coordinates: np.ndarray) -> None:
        """Follow K -> K + size vector vector', with the coordinates of the vector in the basis."""
        self.gram[: self.size, : self.size] += np.outer(size * coordinates, coordinates)
        self.image[:, : self.size] += np.outer(size * vector, coordinates)

    def multiply(self, factor: float) -> None:
        """Follow K -> factor K."""
        self.image *= factor
        self.gram *= factor
        self.rest *= factor

    def extend(
        self, vectors: np.ndarray, images: np.ndarray, times: Callable[[np.ndarray], np.ndarray]
    ) -> int:
        """Add unit vectors with these images, as far as they are new; return how often `times` was called."""
        vectors, images = self._outside(vectors, images, 0)
        start, products = self.size, 0
        for vector, image in zip(vectors.T, images.T, strict=True):
            vector, image = self._outside(vector, image, start)
            length = np.linalg.norm(vector)
            if length > _SAFE:
                self._append(vector / length, image / length)
            elif length > _NEW:
                vector = vector / length
                self._append(vector, times(vector))
                products += 1
        return products

    def _outside(self, vectors: np.ndarray, images: np.ndarray, start: int) -> tuple[np.ndarray, np.ndarray]:
        basis, image = self.basis[:, start : self.size], self.image[:, start : self.size]
        for _ in range(2):  # once leaves rounding errors, twice is enough
            coordinates = basis.T @ vectors
            vectors, images = vectors - basis @ coordinates, images - image @ coordinates
        return vectors, images

    def _append(self, vector: np.ndarray, image: np.ndarray) -> None:
        size = self.size
        self.basis[:, size], self.image[:, size] = vector, image
        self.gram[size, : size + 1] = self.gram[: size + 1, size] = self.basis[:, : size + 1].T @ image
        self.size += 1

    def lowest(self) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Return the smallest eigenvalue within the basis, its coordinates, its vector, and the vector's residual."""
        value, coordinates = lowest_of(self.gram[: self.size, : self.size])
        vector = self.basis[:, : self.size] @ coordinates
        return value, coordinates, vector, self.image[:, : self.size] @ coordinates - value * vector

    def clear_out(self, low: float, kernel: Symmetric) -> None:
        """Keep only the directions with eigenvalues below `low` if room is short."""
        if self.size + _STEP <= self.basis.shape[1]:
            return
        size = self.size
        values, vectors = np.linalg.eigh(self.gram[:size, :size])
        kept = self._keep(values, low)
        for held in (self.basis, self.image):
            held[:, :kept] = held[:, :size] @ vectors[:, :kept]
        self.age += 1
        if self.age == _RENEW_EVERY:
            self._renew(kernel)

    def _renew(self, kernel: Symmetric) -> None:
        """Recompute image and Gram matrix: updates slowly accumulate rounding errors."""
        basis = np.linalg.qr(self.basis[:, : self.size])[0]
        image = kernel.times(basis)
        gram = basis.T @ image
        self.basis[:, : self.size], self.image[:, : self.size] = basis, image
        self.gram[: self.size, : self.size] = (gram + gram.T) / 2
        self.age = 0

    def grown(self, count: int, diagonal: float) -> LowSpace:
        """Return the same directions among `count` more objects, which are similar to no other."""
        larger = LowSpace.empty(len(self.basis) + count)
        size = min(self.size, larger.basis.shape[1] - _STEP)
        larger.basis[: len(self.basis), :size] = self.basis[:, :size]
        larger.image[: len(self.basis), :size] = self.image[:, :size]
        larger.gram[:size, :size] = self.gram[:size, :size]
        larger.size, larger.rest, larger.crowded = size, min(self.rest, diagonal), self.crowded
        return larger


@dataclass
class Eigenpair:
    """The smallest eigenvalue and its vector, with the vector's coordinates in the low space."""

    value: float
    vector: np.ndarray
    coordinates: np.ndarray
    products: int


@dataclass
class Answer:
    """The rows and the block of a step, with P E, the columns of the resolvent."""

    rows: np.ndarray
    block: np.ndarray
    resolved: np.ndarray = field(default_factory=lambda: np.empty(0))


def lowest_of(matrix: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the smallest eigenvalue of a symmetric matrix and its vector, by LAPACK.

    >>> lowest_of(np.diag([2.0, 1.0]))[0]
    1.0
    """
    values, vectors = _lowest(matrix, 1)
    return float(values[0]), vectors[:, 0]


def _lowest(matrix: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest eigenvalues, in ascending order, and their vectors."""
    with threads_for(len(matrix)):
        values, vectors = eigh(matrix, subset_by_index=(0, min(count, len(matrix)) - 1), check_finite=False)
    if not len(values) or not np.isfinite(values[0]):  # LAPACK finds none if there is a NaN
        raise np.linalg.LinAlgError("the kernel holds numbers that are not finite")
    return values, vectors


def smallest_eigenpair(
    low: LowSpace, kernel: Symmetric, resolvent: Symmetric, shift: float, answer: Answer, tolerance: float
) -> Eigenpair:
    """Return the smallest eigenpair of kernel - E block E'; the low space already is that of the changed kernel.

    An eigenvalue above zero is found to a tenth of itself, which is enough to know its sign.
    """

    def minus_block(image: np.ndarray, vector: np.ndarray) -> np.ndarray:
        image[answer.rows] -= answer.block @ vector[answer.rows]
        return image

    def times(vector: np.ndarray) -> np.ndarray:
        return minus_block(kernel.times(vector), vector)

    vectors, images = _around(kernel, shift, answer)
    products = low.extend(vectors, minus_block(images, vectors), times)
    size = 0
    while True:
        value, coordinates, vector, residual = low.lowest()
        # a step makes no second eigenvalue negative; above zero only the sign is needed
        rest = max(low.rest, 0.0)
        gap = rest - value if value < 0 else max(rest - value, shift)
        error = float(residual @ residual) / gap
        # how far a projection with this vector would be from the one with the true vector
        astray = max(-value, 0.0) * np.sqrt(error / gap)
        below = max(error, _below_zero(astray, rest))
        if below <= max(tolerance, 0.1 * value) and astray <= _ASTRAY * tolerance:
            return Eigenpair(float(value), vector, coordinates, products)
        if low.size in (size, low.basis.shape[1]):  # the last product brought nothing new, or no room is left
            return _from_scratch(low, kernel, shift, answer, products)
        size = low.size
        direction = resolvent.times(residual)
        length = np.linalg.norm(direction)
        direction /= length
        image = minus_block(residual / length - shift * direction, direction)
        products += 1 + low.extend(direction[:, None], image[:, None], times)


def _below_zero(astray: float, rest: float) -> float:
    """Return what an inexact projection leaves below zero, by [[0, astray], [astray, rest]]: all of it if rest is 0."""
    return 2 * astray**2 / (rest + np.hypot(rest, 2 * astray)) if astray > 0 else 0.0


def _from_scratch(low: LowSpace, kernel: Symmetric, shift: float, answer: Answer, products: int) -> Eigenpair:
    """Return the smallest eigenpair by LAPACK, from which the low space begins again."""
    changed = kernel.dense().copy()
    changed[answer.rows[:, None], answer.rows] -= answer.block
    low.fill(changed, LOW * shift)
    first = np.zeros(low.size)
    first[0] = 1
    return Eigenpair(float(low.gram[0, 0]), low.basis[:, 0].copy(), first, products)


def _around(kernel: Symmetric, shift: float, answer: Answer) -> tuple[np.ndarray, np.ndarray]:
    """Return the unit vectors E of the answer's objects and P E, normalised, and their images under the kernel."""
    rows, resolved = answer.rows, answer.resolved
    count = len(rows)
    unit = np.zeros((len(kernel.base), count), order="F")
    unit[rows, range(count)] = 1
    lengths = np.linalg.norm(resolved, axis=0)
    resolved_image = unit - shift * resolved
    return (
        np.concatenate([unit, resolved / lengths], axis=1),
        np.concatenate([kernel.column(rows), resolved_image / lengths], axis=1),
    )
