"""A kernel stored as a matrix: a step that makes an eigenvalue negative is followed by the projection that removes it.

Three tiers, each more expensive than the one before, decide whether a step keeps the kernel K positive semidefinite:

1. A certificate of a few operations. K - diag(slack) is positive semidefinite. A step subtracts a block over three or
   four objects. If diag(slack) minus that block is still positive semidefinite over those objects, so is the new
   kernel, and the rest is the new slack. Steps over different objects do not add up.
2. As long as K is positive definite, its inverse, which is kept up to date: a step over three or four objects keeps K
   positive definite if and only if the determinant of a matrix of that size is positive.
3. The smallest eigenpair, which the projection needs anyway: by LAPACK if there are few objects or if K has many zero
   eigenvalues (like a start of low rank), otherwise by `_smallest_eigenpair`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from nearer._utils.runtime import threads_for
from nearer._utils.schema import COUNT, Array, Fields, Flag, Items, Number, Part, Row, optional
from nearer.kernels._smallest_eigenpair import LOW, Answer, Eigenpair, LowSpace, lowest_of, smallest_eigenpair
from nearer.kernels._symmetric import Symmetric, inverse

#: accuracy of eigenvalues (times the kernel's scale), and so the most that may be left below zero
_TOLERANCE = 2e-11
#: with fewer objects than this, LAPACK is faster than the bookkeeping of `_smallest_eigenpair`
_FEW = 300
#: an eigenvalue is zero below this share of the largest; with more zeros than this, LAPACK is used too
_ZERO, _MOST_NULL = 1e-9, 30
#: shift of the resolvent of a singular kernel: about the size of the eigenvalues to remove. First a share of the step's
#: norm, later this multiple of the mean of those removed, if the shift differs from that by more than this factor.
_SHIFT_PER_NORM = 0.07
_SHIFT_PER_EIGENVALUE, _AWAY = 2.0, 4.0
#: removing an eigenvalue of this multiple of the shift costs the resolvent too many digits
_LOSSY = 50.0
#: smallest shift, as a share of the mean of the diagonal: steps may be tiny, and a singular kernel has no inverse
_LEAST_SHIFT = 1e-5
#: the inverse is used until a step would shrink the determinant to this share, or an entry of the inverse exceeds this
_SAFE_DETERMINANT = 1e-3
_SAFE_INVERSE = 1e4
#: projections between two checks of the rounding errors of the resolvent (or, with LAPACK, of the number of zero
#: eigenvalues), and the largest error allowed
_CHECK_EVERY, _WORN = 200, 1e-8


@dataclass
class Slack:
    """One number per object: K - diag(values) is positive semidefinite.

    >>> slack = Slack(np.ones(4))
    >>> step = np.array([[0, -0.2, 0.2], [-0.2, 0.1, 0], [0.2, 0, -0.1]])
    >>> slack.covers(np.array([0, 1, 2]), step, 0.3), slack.covers(np.array([0, 1, 3]), 3 * step, 0.9)
    (True, False)
    >>> slack.values
    array([0.7, 0.7, 0.7, 1. ])
    """

    values: np.ndarray
    _schema = Fields(values=Array("n", at_least=0, dtype="float64"))

    def covers(self, rows: np.ndarray, block: np.ndarray, norm: float) -> bool:
        """Return whether K minus this block is certainly PSD; if so, subtract what the step used.

        `norm` is the block's largest eigenvalue.
        """
        mine = self.values[rows]
        if mine.min() >= norm:
            self.values[rows] = mine - norm
            return True
        if not mine.all():  # an object without slack covers only a block that leaves it alone
            return False
        left = float(np.linalg.eigvalsh(np.diag(mine) - block)[0])
        if left < 0:
            return False
        self.values[rows] = left
        return True

    def multiply(self, factor: float) -> None:
        """Follow K -> factor K."""
        self.values *= factor


@dataclass
class WeylBound:
    """The paper's certificate: one number for the whole kernel, lowered by the norm of every step."""

    value: float
    _schema = Fields(value=Number())

    def covers(self, rows: np.ndarray, block: np.ndarray, norm: float) -> bool:
        """Return whether K minus the block is certainly PSD; the bound falls by the norm either way."""
        self.value -= norm
        return self.value >= 0

    def found(self, lowest: float) -> None:
        """Set the bound: the smallest eigenvalue is now known to be at least this."""
        self.value = max(lowest, 0.0)

    def multiply(self, factor: float) -> None:
        """Follow K -> factor K."""
        self.value *= factor


@dataclass
class FullKernel:
    """A PSD matrix changed by answers: `subtract` subtracts a block and projects if needed."""

    matrix: Symmetric
    low: LowSpace
    scale: float
    #: the first tier; None once it is used up
    certificate: Slack | WeylBound | None
    #: whether the kernel is positive definite: then its inverse takes the resolvent's place
    definite: bool
    #: (K + shift)^-1
    resolvent: Symmetric | None = None
    shift: float = 0.0
    #: sum of the eigenvalues removed since the last check
    removed: float = 0.0
    #: steps that the resolvent has not seen: (rows, block) of each
    unseen: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    n_skipped: int = 0
    n_projections: int = 0
    n_negative: int = 0
    n_products: int = 0
    _schema = Fields(
        matrix=Part(Symmetric, shares=("n",)),
        low=Part(LowSpace, shares=("n",)),
        scale=Number(above=0),
        certificate=optional(Part(Slack, shares=("n",)), Part(WeylBound)),
        definite=Flag(),
        resolvent=optional(Part(Symmetric, shares=("n",))),
        shift=Number(at_least=0),
        removed=Number(at_least=0),
        unseen=Items(Row(Array("rows", kinds="i", below="n"), Array("rows", "rows")), kind=list, own=True),
        n_skipped=COUNT,
        n_projections=COUNT,
        n_negative=COUNT,
        n_products=COUNT,
    )

    @classmethod
    def start(cls, kernel: np.ndarray, skip: str) -> FullKernel:
        """Start with a PSD matrix, which is not copied; `skip` is "local", "bound" or "never"."""
        n = len(kernel)
        values = _eigenvalues(kernel)
        lowest = float(values[0])
        certificate: Slack | WeylBound | None = None
        if skip == "local" and lowest > 0:
            certificate = Slack(np.full(n, lowest))
        elif skip == "bound":
            certificate = WeylBound(max(lowest, 0.0))
        scale = float(kernel.diagonal().mean()) or 1.0
        usable = skip == "local" and lowest * _SAFE_INVERSE > scale
        started = cls(Symmetric(kernel), LowSpace.empty(n), scale, certificate, definite=usable)
        started.low.crowded = _many_null(values)
        return started

    def block(self, rows: np.ndarray) -> np.ndarray:
        """Return the kernel between these objects."""
        return self.matrix.block(rows)

    def dense(self) -> np.ndarray:
        """Return the whole kernel, a copy."""
        return self.matrix.copy()

    def subtract(self, rows: np.ndarray, block: np.ndarray, norm: float) -> None:
        """K <- PSD part of K - block over these rows; `norm` is the block's largest eigenvalue."""
        if self.certificate is not None and self.certificate.covers(rows, block, norm):
            if self.resolvent is not None:  # one computed later will include the step
                self.unseen.append((rows, block))
            self.low.change(rows, block)
            self.matrix.change(rows, -block)
            self.n_skipped += 1
        elif self._stays_definite(rows, block):
            self.matrix.change(rows, -block)
            self.n_skipped += 1
        else:
            if isinstance(self.certificate, Slack):
                self.certificate = None  # it does not hold for a projected kernel
            if len(self.matrix.base) < _FEW or self._crowded(norm):
                self._project_whole(rows, block)
            else:
                self._project(Answer(rows, block))

    def grow(self, count: int, diagonal: float) -> None:
        """Add objects that are similar to no other yet."""
        if isinstance(self.certificate, Slack):
            self.certificate = Slack(np.append(self.certificate.values, np.full(count, diagonal)))
        elif self.certificate is not None:
            self.certificate.value = min(self.certificate.value, diagonal)
        if self.resolvent is not None:
            self.resolvent = self._ready_resolvent().grown(count, 1 / (diagonal + self.shift))
        self.matrix = self.matrix.grown(count, diagonal)
        self.low = self.low.grown(count, diagonal)

    def multiply(self, factor: float) -> None:
        """K <- factor K."""
        self.matrix.multiply(factor)
        self.low.multiply(factor)
        self.scale *= factor
        self.shift *= factor
        self.removed *= factor
        if self.certificate is not None:
            self.certificate.multiply(factor)
        if self.resolvent is not None:
            self.resolvent.multiply(1 / factor)
        self.unseen = [(rows, factor * block) for rows, block in self.unseen]

    # -- second tier ---------------------------------------------------------------------------------------------

    def _stays_definite(self, rows: np.ndarray, block: np.ndarray) -> bool:
        """Return whether K minus the block is positive definite, by the inverse, which is then updated."""
        if not self.definite:
            return False
        columns = self._ready_resolvent().column(rows)
        if isinstance(self.certificate, Slack):
            self.certificate = None  # it did not follow this change of the kernel
        products = columns[rows]
        # K has no negative eigenvalue and a step makes at most one, so the sign of the determinant decides
        with np.errstate(over="ignore", invalid="ignore"):  # of the inverse of a tiny kernel
            share = float(np.linalg.det(np.eye(len(rows)) - block @ products))
        if (
            math.inf > share > _SAFE_DETERMINANT
            and products.diagonal().max() * self.scale < share * _SAFE_INVERSE
        ):
            assert self.resolvent is not None
            _follow(self.resolvent, columns, -block, products)
            return True
        self.definite, self.resolvent, self.unseen = False, None, []
        return False

    # -- third tier ----------------------------------------------------------------------------------------------

    def _project_whole(self, rows: np.ndarray, block: np.ndarray) -> None:
        """Project by an eigenproblem of the whole kernel; what `_smallest_eigenpair` uses is dropped."""
        self.resolvent, self.unseen, self.low.size = None, [], 0
        kernel = self.matrix.dense()
        kernel[rows[:, None], rows] -= block
        lowest, vector = lowest_of(kernel)
        self.n_projections += 1
        if lowest < 0:
            self.n_negative += 1
            kernel -= np.outer(lowest * vector, vector)
        if isinstance(self.certificate, WeylBound):
            self.certificate.found(max(lowest, 0.0))
        if self.low.crowded and self.n_projections % _CHECK_EVERY == 0:
            self.low.crowded = _many_null(_eigenvalues(kernel))  # answers fill a null space

    def _crowded(self, norm: float) -> bool:
        """Return whether the low space is too small for all null directions; fill it if it is empty."""
        if self.low.size == 0 and not self.low.crowded:
            if self.shift == 0:
                self.shift = max(_SHIFT_PER_NORM * norm, _LEAST_SHIFT * self.scale)
            self.low.fill(self.matrix.dense(), LOW * self.shift)
        return self.low.crowded

    def _project(self, answer: Answer) -> None:
        resolvent = self._ready_resolvent()
        rows, block = answer.rows, answer.block
        answer.resolved = resolvent.column(rows)
        self.low.change(rows, block)
        tolerance = _TOLERANCE * max(1.0, float(self.matrix.base.diagonal().max()))
        pair = smallest_eigenpair(self.low, self.matrix, resolvent, self.shift, answer, tolerance)
        self.matrix.change(rows, -block)
        self.n_projections += 1
        self.n_products += pair.products
        if pair.value < 0:
            self._lift(pair, answer)
        else:
            _follow(resolvent, answer.resolved, -block, answer.resolved[rows])
        self.low.clear_out(LOW * self.shift, self.matrix)
        if isinstance(self.certificate, WeylBound):
            self.certificate.found(0.0 if pair.value < 0 else _smallest_eigenvalue(resolvent, self.shift))

    def _lift(self, pair: Eigenpair, answer: Answer) -> None:
        """Set the negative eigenvalue to zero."""
        assert self.resolvent is not None
        size, vector, rows = -pair.value, pair.vector, answer.rows
        self.n_negative += 1
        self.n_products += 1
        self.removed += size
        columns = np.column_stack([answer.resolved, self.resolvent.times(vector)])
        change = np.zeros((len(rows) + 1, len(rows) + 1))
        change[:-1, :-1] = -answer.block
        change[-1, -1] = size
        _follow(self.resolvent, columns, change, np.vstack([columns[rows], vector @ columns]))
        self.matrix.add(vector[:, None], np.array([[size]]))
        self.low.lift(size, vector, pair.coordinates)
        if size > _LOSSY * self.shift:
            self._begin_again(size / _AWAY)
        elif self.n_negative % _CHECK_EVERY == 0:
            self._check(vector)

    def _check(self, vector: np.ndarray) -> None:
        """Recompute the resolvent and the low space if rounding errors have grown or the shift does not fit."""
        assert self.resolvent is not None
        there_and_back = self.resolvent.times(self.matrix.times(vector) + self.shift * vector)
        worn = not np.abs(there_and_back - vector).max() < _WORN
        fitting = max(_SHIFT_PER_EIGENVALUE * self.removed / _CHECK_EVERY, _LEAST_SHIFT * self.scale)
        self.removed = 0.0
        if worn or not fitting / _AWAY < self.shift < fitting * _AWAY:
            self._begin_again(fitting)

    def _begin_again(self, shift: float) -> None:
        self.resolvent, self.unseen, self.shift = None, [], shift
        self.low = LowSpace.empty(len(self.matrix.base))

    def _ready_resolvent(self) -> Symmetric:
        if self.resolvent is None:
            self.resolvent = Symmetric(inverse(self.matrix.dense(), self.shift))
        else:
            for rows, block in self.unseen:
                columns = self.resolvent.column(rows)
                _follow(self.resolvent, columns, -block, columns[rows])
        self.unseen = []
        return self.resolvent


def _eigenvalues(kernel: np.ndarray) -> np.ndarray:
    """Return the eigenvalues in ascending order."""
    diagonal = kernel.diagonal()
    if np.count_nonzero(kernel) == np.count_nonzero(diagonal):
        return np.sort(diagonal)
    with threads_for(len(kernel)):
        return np.linalg.eigvalsh(kernel)


def _many_null(values: np.ndarray) -> bool:
    """Return whether too many eigenvalues are zero for the low space."""
    return bool(np.sum(values <= _ZERO * values[-1]) > _MOST_NULL)


def _follow(resolvent: Symmetric, columns: np.ndarray, change: np.ndarray, products: np.ndarray) -> None:
    """Update P from K to K + U change U' (Woodbury), given `columns` P U and `products` U' P U."""
    middle = np.linalg.solve(np.eye(len(change)) + change @ products, change)
    resolvent.add(columns, -(middle + middle.T) / 2)


def _smallest_eigenvalue(resolvent: Symmetric, shift: float) -> float:
    """Return a close lower bound of the kernel's smallest eigenvalue, from the largest one of its resolvent."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    n = len(resolvent.base)
    if n < 4:  # too small for Lanczos
        largest = np.linalg.eigvalsh(resolvent.dense())[-1]
    else:
        operator = LinearOperator(
            (n, n), matvec=lambda vector: resolvent.times(np.ravel(vector)), dtype=float
        )
        start = np.random.default_rng(0).normal(size=n)
        largest = eigsh(operator, k=1, which="LA", tol=1e-4, v0=start, return_eigenvectors=False)[0]
    return float((1 - 1e-3) / largest - shift)
