"""Points X: mean loss over comparisons of squared distances, and an L2 term."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from nearer._compiled import loops_for
from nearer._utils.arrays import relative
from nearer._utils.runtime import in_threads
from nearer.errors import InputError
from nearer.losses import Loss
from nearer.objectives.parameters import OneArray

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons

_BLOCK_TERMS = 12_288  # comparisons that are worth a thread
_MAX_BLOCKS = 8
_CALLS = 2  # per thread: one that begins late leaves work to the others


@dataclass
class Walk:
    """A private copy of the comparisons in random order, and the slopes of each at the last full gradient."""

    Q: np.ndarray
    W: np.ndarray
    C: np.ndarray
    rng: np.random.Generator

    def shuffle(self) -> None:
        """Put the comparisons, with their weights and slopes, into a new random order."""
        from nearer._compiled.epochs import shuffle

        shuffle(self.Q, self.W, self.C, self.rng.integers(2**63))


class PointObjective:
    """f(X) = weighted mean over comparisons of loss(near, far) + l2 * mean over objects of |x|².

    Parameters
    ----------
    comparisons : Comparisons
        The answers.
    loss : Loss
        The loss of a comparison.
    n_components : int
        The columns of X.
    l2 : float
        Strength of the L2 term.
    dtype : float64 or float32
        Precision of points and gradients; sums over comparisons are always float64.
    n_jobs : int
        Threads for full gradients. Sums run over blocks that do not depend on it, so neither does the result.

    Examples
    --------
    >>> import nearer
    >>> answers, truth = nearer.datasets.planted(10, 2, 100, random_state=0)
    >>> f = PointObjective(answers, nearer.losses.STE(), n_components=2)
    >>> value, gradient = f.value_and_gradient(np.zeros((10, 2)))
    >>> round(value, 4), float(abs(gradient).max())
    (0.6931, 0.0)
    """

    provides: frozenset[str] = frozenset(
        {
            *("value_and_gradient", "search_along", "with_penalty", "unit_length", "dtype"),
            *("walk", "batch_gradient", "sgd_epoch", "snapshot_gradient", "svrg_epoch"),
        }
    )
    parameters = OneArray()

    def __init__(
        self,
        comparisons: Comparisons,
        loss: Loss,
        n_components: int,
        *,
        l2: float = 0.0,
        dtype: DTypeLike = np.float64,
        n_jobs: int = 1,
    ):
        self.dtype = np.dtype(dtype)
        self.shape = (comparisons.n_objects, n_components)
        self.n_terms = len(comparisons)
        self.loss = loss.resolved(n_components)
        self.l2 = float(l2)
        self.unit_length = float(np.sqrt(self.loss.unit))
        self._shrink = self.l2 / comparisons.n_objects
        self.n_jobs = n_jobs
        self._loops = loops_for(self.loss)
        self._Q = comparisons.indices
        self._W = mean_one(comparisons.weights, self.dtype)
        self._no_slopes = np.empty((0, 2), self.dtype)
        # threads may share several blocks. Their number, not that of threads, decides: compiled together, sums round
        # in another way
        if len(self._starts(self.n_terms)) > 2:
            self.provides = type(self).provides - {"search_along"}

    @property
    def compiled(self) -> bool:
        """Whether the loss runs in compiled loops."""
        return self._loops.compiled

    def start(self, x: np.ndarray) -> np.ndarray:
        """Return a copy of the points in the precision and order that the compiled loops need."""
        x = np.array(x, dtype=self.dtype, order="C")  # numba would compile the loops again for another order
        if x.shape != self.shape:
            raise InputError(f"the start has shape {x.shape} but the objective needs {self.shape}")
        return x

    def value(self, X: np.ndarray) -> float:
        """Return f(X)."""
        self._check(X)
        starts = self._starts(self.n_terms).tolist()
        totals = [0.0] * (len(starts) - 1)

        def work(some: slice) -> None:
            for b in range(some.start, some.stop):
                at = slice(starts[b], starts[b + 1])
                totals[b] = self._loops.value(X, self._Q[at], self._W[at])

        self._share(work, len(totals))
        return sum(totals) / self.n_terms + self._penalty(X)

    def value_and_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """Return f(X) and its gradient."""
        self._check(X)
        return self._means(X, self._Q, self._W, self._no_slopes, self._shrink)

    def search_along(
        self, x: np.ndarray, direction: np.ndarray, bracket: np.ndarray, end: np.ndarray
    ) -> tuple[int, float, np.ndarray | None]:
        """Search from x along a direction in one call; leave the point that it ends at in `end`.

        All are flat, and `end` holds `x + direction`. `_compiled/line_search.py` explains the bracket. Return how many
        gradients were taken, the objective there and its gradient, which is None if the search failed.
        """
        gradient = np.empty(self.shape, self.dtype)
        line = x, direction, bracket, end
        count, value = self._loops.search(self._Q, self._W, self._no_slopes, self._shrink, *line, gradient)
        return (count, value, gradient.ravel()) if count > 0 else (-count, value, None)

    # -- stochastic parts: all along a walk ---------------------------------------------------------------------

    def walk(self, rng: np.random.Generator, *, slopes: bool = False) -> Walk:
        """Return a shuffled copy of the comparisons to walk along, with room for slopes if asked."""
        room = np.empty((self.n_terms if slopes else 0, 2), self.dtype)
        walk = Walk(self._Q.copy(), self._W.copy(), room, rng)
        walk.shuffle()
        return walk

    def snapshot_gradient(self, X: np.ndarray, walk: Walk) -> tuple[float, np.ndarray]:
        """Return f(X) and the gradient of its loss part alone; keep the slopes of every comparison in the walk."""
        value, gradient = self._means(X, walk.Q, walk.W, walk.C)
        return value + self._penalty(X), gradient

    def batch_gradient(self, X: np.ndarray, walk: Walk, start: int, stop: int) -> tuple[float, np.ndarray]:
        """Return value and gradient of f on the comparisons start:stop of the walk alone."""
        at = slice(start, stop)
        return self._means(X, walk.Q[at], walk.W[at], self._no_slopes, self._shrink)

    def sgd_epoch(self, X: np.ndarray, walk: Walk, steps: np.ndarray, batch_size: int) -> float:
        """Move X along one walk, step s by -steps[s] times the gradient on its batch; return the mean value met."""
        log_kept = np.empty(0)
        if self.l2:
            log_kept = np.concatenate(
                [[0.0], np.cumsum(np.log1p(-np.minimum(2 * self._shrink * steps, 0.5)))]
            )
        total = self._loops.sgd(X, walk.Q, walk.W, steps, batch_size, log_kept)
        return total / self.n_terms + self._penalty(X)

    def svrg_epoch(
        self,
        X: np.ndarray,
        snapshot: np.ndarray,
        gradient: np.ndarray,
        walk: Walk,
        step: float,
        batch_size: int,
        count: int,
    ) -> None:
        """Move X along `count` comparisons of the walk by variance-reduced steps of size `step` per batch.

        `gradient` is the result of `snapshot_gradient` at `snapshot` on this walk.
        """
        shrink = min(2 * self._shrink * step, 0.5)
        self._loops.svrg(
            X, snapshot, gradient, walk.Q[:count], walk.W[:count], walk.C[:count], step, batch_size, shrink
        )

    # -- sums over blocks ---------------------------------------------------------------------------------------

    def _means(
        self, X: np.ndarray, Q: np.ndarray, W: np.ndarray, C: np.ndarray, shrink: float = 0.0
    ) -> tuple[float, np.ndarray]:
        """Return the mean loss + shrink |X|² and its gradient; store the slopes in C if it has room."""
        starts = self._starts(len(Q))
        n_blocks = len(starts) - 1
        parts, totals = np.empty((n_blocks, *X.shape), X.dtype), np.empty(n_blocks)

        def work(some: slice) -> None:
            self._loops.gradients(X, Q, W, C, starts[some.start : some.stop + 1], parts[some], totals[some])

        self._share(work, n_blocks)
        penalty = self._loops.join(parts, len(Q), shrink, X)
        return sum(totals.tolist()) / len(Q) + penalty, parts[0] if n_blocks == 1 else parts[0].copy()

    def _starts(self, count: int) -> np.ndarray:
        """Return where the blocks of comparisons begin that are summed separately, and the end of the last."""
        # a block costs a pass over an (n, p) array: worth it only if its comparisons cost several
        by_rows = count // (2 * self.shape[0]) if self.compiled else 1
        n_blocks = max(1, min(_MAX_BLOCKS, count // _BLOCK_TERMS, by_rows))
        return np.arange(n_blocks + 1) * count // n_blocks

    def _share(self, work: Callable[[slice], None], n_blocks: int) -> None:
        """Do the work of all blocks, several consecutive ones per call: a thread needs Python's lock after each."""
        n_calls = min(_CALLS * self.n_jobs, n_blocks) if self.n_jobs > 1 else 1
        ends = [n_blocks * k // n_calls for k in range(n_calls + 1)]
        in_threads([partial(work, slice(*each)) for each in pairwise(ends)], self.n_jobs)

    def _check(self, X: np.ndarray) -> None:
        """Refuse points of another shape: the compiled loops do not check bounds."""
        if X.shape != self.shape or X.dtype != self.dtype:
            raise InputError(
                f"the points must be {self.dtype} of shape {self.shape}, not {X.dtype} of shape {X.shape}"
            )

    def _penalty(self, X: np.ndarray) -> float:
        return self._shrink * float(np.vdot(X, X)) if self.l2 else 0.0

    def with_penalty(self, gradient: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return the gradient of the loss part plus that of the L2 term."""
        return gradient + X.dtype.type(2 * self._shrink) * X if self.l2 else gradient


def mean_one(weights: np.ndarray | None, dtype: np.dtype) -> np.ndarray:
    """Return weights scaled to mean one: a weighted mean is then the weighted sum divided by the number."""
    if weights is None:
        return np.empty(0, dtype)
    weights = relative(weights)
    return (weights / weights.mean()).astype(dtype)
