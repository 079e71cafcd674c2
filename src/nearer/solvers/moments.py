"""OPAUC: the square loss over pairs by the means and covariances of the classes, row by row (Gao and others, 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nearer._compiled.pairwise_reference import COUNT
from nearer._utils.validation import whole
from nearer.errors import InputError
from nearer.objectives._pair_weights import add_distances, block_length, floor_of, length_of, rule_of
from nearer.objectives.stochastic_pairs import TwoClassPairs
from nearer.solvers._passes import Pass, RowSolver, samples_of
from nearer.solvers.run import Run

_FLOOR = 0.5
#: features up to which "auto" keeps whole covariances, and the rank beyond
_MOST_WHOLE = 1000
_RANK = 50
#: features up to which whole covariances are kept at all: two of them take 16 bytes for each pair of features
_MOST = 20_000


@dataclass(frozen=True)
class OPAUC(RowSolver):
    """One-pass AUC: every row makes a step against all rows of the other class seen so far, by their moments.

    Parameters
    ----------
    rank : int, None or "auto"
        None keeps whole covariance matrices: d² numbers and as much work a step. A number keeps that many directions of
        each, by a sketch of centred rows that never overstates the covariance and stays positive semidefinite, at
        d * rank a step. "auto" is None up to 1000 features and 50 beyond.
    passes : int
        Of a fit, over all rows; the moments are complete after the first.

    Examples
    --------
    >>> import nearer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3)) + [1.0, 0.0, 0.0] * (np.arange(400)[:, None] < 100)
    >>> model = nearer.AUCClassifier("square", OPAUC(), random_state=0).fit(X, np.arange(400) < 100)
    >>> int(model.coef_.argmax()), model.result_.stop_reason
    (0, 'epochs')
    """

    rank: int | str | None = "auto"
    passes: int = 1
    name: ClassVar[str] = "opauc"
    losses: ClassVar[frozenset[str] | None] = frozenset({"square"})

    def __post_init__(self) -> None:
        if self.rank is not None and self.rank != "auto":
            whole("rank", self.rank)
        whole("passes", self.passes)

    def _pass(
        self, objective: TwoClassPairs, x: np.ndarray, rng: np.random.Generator, run: Run, number: int
    ) -> np.ndarray:
        """Meet every row once; moments grow in the first pass over the rows."""
        pairs, memory = objective.pairs, run.memory
        if pairs.both:
            add_distances(memory.numbers, *pairs.spread())
        floor = floor_of(memory.numbers, objective.loss, _FLOOR) * max(memory.numbers.get("repeats", 0), 1)
        rule = rule_of(floor, objective.regularization / np.sqrt(max(samples_of(memory.numbers), 1)))
        moments = Moments.resumed(memory.arrays, pairs.n_features, self._rank(pairs.n_features))
        order, sides = pairs.mixed(rng)
        # blocks of few rows would spend their time on taking them out of the matrix
        block = min(max(32 * block_length(pairs.n_features * moments.height), 8), moments.room)
        begin = 0
        try:
            with Pass(run, moments.average.copy, length_of(rule), max(run.epoch, 0) + 1) as now:
                while begin < len(order):
                    stop = min(begin + run.room(block), len(order))
                    rows = pairs.X[order[begin:stop]]
                    rows = (rows.toarray() if pairs.is_sparse else rows).astype(np.float64, copy=False)
                    before = moments.held[COUNT]
                    taken, met = moments.steps(rows, sides[begin:stop], number == 0, rule)
                    begin += taken
                    now.add(int(moments.held[COUNT] - before), met)
        finally:
            memory.arrays.update(moments.stored())
        return moments.average.copy()

    def _rank(self, n_features: int) -> int | None:
        if self.rank == "auto":
            return None if n_features <= _MOST_WHOLE else _RANK
        if self.rank is None and n_features > _MOST:
            raise InputError(
                f"whole covariances of {n_features} features do not fit: choose rank={_RANK} or another number"
            )
        return self.rank if isinstance(self.rank, int) else None


class Moments:
    """Means and scatter matrices of two classes as they grow, and the weights that learn from them.

    The names are those of `nearer._compiled.pairwise_moments`.
    """

    _SAVED = ("means", "counts", "traces", "factors", "ridges", "latest", "average", "held")

    def __init__(self, n_features: int, rank: int | None):
        self.whole = rank is None
        self.height = n_features if rank is None else rank
        self.means = np.zeros((2, n_features))
        self.counts, self.traces, self.ridges = np.zeros(2), np.zeros(2), np.zeros(2)
        self.factors = np.zeros((2, self.height, n_features))
        #: places for rows that are to be added to the scatter matrices
        self.room = int(np.clip(self.height, 16, 256))
        self._pending = np.empty((2, self.room, n_features))
        self._n_pending = np.zeros(2, np.int64)
        self.latest, self.average = np.zeros(n_features), np.zeros(n_features)
        self.held = np.zeros(4)

    @classmethod
    def resumed(cls, arrays: dict[str, np.ndarray], n_features: int, rank: int | None) -> Moments:
        """Return those that `stored` returned; new ones if there are none."""
        moments = cls(n_features, rank)
        if "factors" in arrays:
            if arrays["factors"].shape != moments.factors.shape:
                raise InputError(
                    "the stream began with another rank of OPAUC: keep that rank, or call fit to start again"
                )
            for name in cls._SAVED:
                setattr(moments, name, arrays[name])
        return moments

    def stored(self) -> dict[str, np.ndarray]:
        """Return the arrays to continue with."""
        for side in (0, 1):
            self._absorb(side)
        return {name: getattr(self, name) for name in self._SAVED}

    def steps(self, rows: np.ndarray, sides: np.ndarray, learns: bool, rule: np.ndarray) -> tuple[int, float]:
        """Make steps for these rows, or for the first of them; return how many, and the sum of the losses met."""
        from nearer._compiled.pairwise_moments import moment_steps

        for side in (0, 1):
            if self._n_pending[side] == self.room:
                self._absorb(side)
        return moment_steps(
            rows,
            sides,
            learns,
            self.means,
            self.counts,
            self.traces,
            self.factors,
            self.ridges,
            self.whole,
            self._pending,
            self._n_pending,
            rule,
            self.latest,
            self.average,
            self.held,
        )

    def covariance(self, side: int) -> np.ndarray:
        """The covariance matrix of a class, in full."""
        self._absorb(side)
        factor = self.factors[side]
        scatter = factor if self.whole else factor.T @ factor
        return (scatter + self.ridges[side] * np.eye(factor.shape[1])) / max(self.counts[side], 1)

    def _absorb(self, side: int) -> None:
        """Work the pending vectors into the scatter matrix, or into the sketch of it."""
        new = self._pending[side, : self._n_pending[side]]
        if len(new) == 0:
            return
        if self.whole:
            self.factors[side] += new.T @ new
        else:
            self.factors[side], lost = frequent_directions(
                np.concatenate([self.factors[side], new]), self.height
            )
            # between nothing and `lost` is missing in every direction that was dropped: the middle is the best guess
            self.ridges[side] += lost / 2
        self._n_pending[side] = 0


def frequent_directions(vectors: np.ndarray, rank: int) -> tuple[np.ndarray, float]:
    """The `rank` rows whose outer products come nearest to those of the vectors, each shortened by what is left out.

    In every direction the sum of outer products of the result is below that of the vectors by between nothing and the
    second number; they are equal where the vectors span no more than `rank` directions (Liberty, 2013).

    >>> rows, lost = frequent_directions(np.diag([3.0, 2.0, 1.0]), 2)
    >>> np.abs(rows).round(3), round(lost, 3)
    (array([[2.828, 0.   , 0.   ],
           [0.   , 1.732, 0.   ]]), 1.0)
    """
    squares, turns = np.linalg.eigh(vectors @ vectors.T)
    squares, turns = np.maximum(squares[::-1], 0.0), turns[:, ::-1]
    lost = float(squares[rank]) if rank < min(vectors.shape) else 0.0
    kept = squares[:rank]
    shrunk = np.sqrt(np.maximum(kept - lost, 0.0) / np.where(kept > 0, kept, 1.0))
    rows = shrunk[:, None] * (turns[:, :rank].T @ vectors)
    if len(rows) < rank:
        rows = np.concatenate([rows, np.zeros((rank - len(rows), vectors.shape[1]))])
    return rows, lost
