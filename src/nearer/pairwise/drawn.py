"""AdaDSG and DSGD over pairs that a source draws: within groups, by a user's function, of equal and other labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from nearer.errors import InputError
from nearer.losses.margins import MarginLoss
from nearer.pairwise._courses import Course, Steps
from nearer.pairwise._walker import Walker
from nearer.pairwise._weights import LinearWeights
from nearer.pairwise.doubly_stochastic import DSGD, AdaDSG
from nearer.pairwise.maps import Mapped
from nearer.pairwise.pairs import Pairs
from nearer.pairwise.sources import Source
from nearer.pairwise.state import Callback, Limits, State, Watch

#: pairs that the first steps' length is found from
PROBED = 256
_NONE = np.empty(0, np.int64)


class Strides(ABC):
    """Weights of any kind on their way over drawn pairs: what stages of steps ask of a `Walker`."""

    #: with the methods of `LinearWeights` that give answers
    weights: Any

    @abstractmethod
    def steps(self, count: int, rule: np.ndarray) -> tuple[int, float]:
        """Up to `count` steps; gives how many there were and the sum of the losses met."""

    @abstractmethod
    def probe(self) -> float:
        """Mean over pairs of the squared length of the margin's gradient."""

    def finish(self) -> None:
        """Bring the weights up to date."""
        assert self.weights is not None  # steps that work on the weights themselves leave nothing behind

    def restart_average(self) -> None:
        """Begin the average of the weights anew."""
        self.weights.restart_average()


class DrawnWalker(Walker):
    """Linear scores over drawn pairs.

    Parameters
    ----------
    X : array, CSR matrix or Mapped
        Features; those that are not there yet are worked out for a block of pairs at a time.
    """

    def __init__(
        self,
        X: Any,
        source: Source,
        loss: MarginLoss,
        weights: LinearWeights,
        rng: np.random.Generator,
    ):
        super().__init__(Pairs(X, _NONE, _NONE), loss, weights, "listed", 0)
        self._X, self._source, self._rng = X, source, rng

    def steps(self, count: int, rule: np.ndarray) -> tuple[int, float]:
        count = min(count, self.block)
        self._shown = self._source.draw(count, self._rng)
        self._cursors[:] = 0  # both lists from their start: what is drawn together is met together
        if isinstance(self._X, Mapped):
            self._matrix = (self._X[np.concatenate(self._shown)],)
            self._shown = (np.arange(count), np.arange(count, 2 * count))
        return count, self._walk(count, rule)

    def probe(self) -> float:
        first, second = self._source.draw(PROBED, self._rng)
        if isinstance(self._X, Mapped):
            difference = self._X[first] - self._X[second]
            return float(np.einsum("ij,ij->", difference, difference, dtype=np.float64)) / PROBED
        return Pairs(self._X, first, second).spread(PROBED)[0]


def linear_walker(
    X: Any, source: Source, loss: MarginLoss, state: State, rng: np.random.Generator
) -> DrawnWalker:
    """A walker that goes on from a state."""
    return DrawnWalker(X, source, loss, LinearWeights.resumed(state.arrays, state.w), rng)


class _DrawnCourse(Course):
    """Pairs of a source; steps go on over all of them until a stage counts on fewer."""

    def __init__(self, source: Source, steps: Steps):
        self._source, self.n_rows = source, source.n_rows
        self.steps: Steps = steps

    def begin(self, size: int | None) -> Steps:
        if size is not None:
            self._source.count_on(size)
        return self.steps


def run_drawn(
    solver: Any,
    source: Source,
    walker: Strides | DrawnWalker,
    loss: MarginLoss,
    regularization: float,
    state: State,
    *,
    limits: Limits | None = None,
    callback: Callback | None = None,
    stream: bool = False,
) -> State:
    """Learn from drawn pairs by the schedule of AdaDSG or DSGD.

    Parameters
    ----------
    solver : AdaDSG or DSGD
    source : Source
        The pairs; it knows how many rows take part.
    walker : Strides
        The weights, which belong to `state`.
    loss, regularization, limits, callback, stream
        As in `PairSolver.run`.
    state : State
        Where the weights come from; its counts go on. It is changed and given back.
    """
    check_draws(solver)
    watch = Watch(state, limits, callback)
    before = state.w.copy()
    seen = state.numbers.get("distances", 0.0)
    state.numbers["distance"] = state.numbers.get("distance", 0.0) + PROBED * walker.probe()
    state.numbers["distances"] = seen + PROBED
    course = _DrawnCourse(source, walker)
    with np.errstate(over="ignore", invalid="ignore"):  # divergence is watched for, not warned of
        if stream:
            state.positives += source.n_rows
            solver._chunk(course, loss, regularization, watch, 2 * source.n_rows)
        else:
            state.positives = max(state.positives, source.n_rows)
            solver._schedule(course, loss, regularization, watch)
    solver._keep(course, state)
    if not state.is_sound():
        state.w = before
        watch.stop("diverged")
    return state


def check_draws(solver: Any) -> None:
    """Refuse solvers that cannot work on drawn pairs."""
    if not isinstance(solver, AdaDSG | DSGD):
        raise InputError(
            f"the solver {solver.name!r} is for rows of two classes and linear scores of them: choose 'adadsg' or "
            f"'dsgd' for this pair and model"
        )
