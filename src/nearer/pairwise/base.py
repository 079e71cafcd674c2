"""What a solver of pairs is: it walks over rows of two classes and gives weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from nearer._utils.schema import Settings
from nearer._utils.validation import not_negative
from nearer.errors import InputError
from nearer.losses.margins import MarginLoss
from nearer.pairwise.pairs import Pairs
from nearer.pairwise.state import Callback, Limits, State, Watch


class PairSolver(ABC):
    """A way to find weights whose scores are higher for positive rows. Subclasses are frozen dataclasses of settings.

    The objective is the mean of the loss over all pairs of a positive and a negative row, plus
    `regularization / sqrt(rows) / 2` times the squared length of the weights.
    """

    name: ClassVar[str]
    #: the names of the losses that it can minimise; None means any
    losses: ClassVar[frozenset[str] | None] = None
    _schema = Settings()
    #: whether steps depend on what rows are measured from, and not on differences of rows alone
    centred: ClassVar[bool] = False

    def run(
        self,
        pairs: Pairs,
        loss: MarginLoss,
        regularization: float,
        rng: np.random.Generator,
        *,
        state: State | None = None,
        limits: Limits | None = None,
        callback: Callback | None = None,
        stream: bool = False,
    ) -> State:
        """Learn from the pairs.

        Parameters
        ----------
        pairs : Pairs
        loss : MarginLoss
        regularization : float
            The constant of the L2 term.
        rng : numpy Generator
            For all draws.
        state : State, optional
            What an earlier run of the same solver gave: go on from there. It is not changed.
        limits : Limits, optional
            End early; the answer is what was found so far.
        callback : callable, optional
            Called with a `PairProgress` between blocks of steps; a true answer ends the run.
        stream : bool
            The rows are new ones of a stream, met once: go over them a fixed number of times, and keep what later
            chunks need. Otherwise, carry out the solver's whole schedule on them.

        Returns
        -------
        State
        """
        self._check(pairs, loss, state, stream)
        not_negative("regularization", regularization)
        state = State(np.zeros(pairs.n_features)) if state is None else state.copy()
        watch = Watch(state, limits, callback)
        if not stream:
            state.positives = max(state.positives, len(pairs.positives))
            state.negatives = max(state.negatives, len(pairs.negatives))
        before = state.w.copy()
        with np.errstate(over="ignore", invalid="ignore"):  # divergence is watched for, not warned of
            run = self._run_stream if stream else self._run_batch
            run(pairs, loss, regularization, rng, watch)
        if not state.is_sound():
            state.w = before
            watch.stop("diverged")
        return state

    @abstractmethod
    def _run_batch(
        self, pairs: Pairs, loss: MarginLoss, regularization: float, rng: np.random.Generator, watch: Watch
    ) -> None:
        """Carry out the schedule on all rows; the answer goes into the watch's state."""

    @abstractmethod
    def _run_stream(
        self, pairs: Pairs, loss: MarginLoss, regularization: float, rng: np.random.Generator, watch: Watch
    ) -> None:
        """Go over the rows of a chunk; the answer goes into the watch's state."""

    def _check(self, pairs: Pairs, loss: MarginLoss, state: State | None, stream: bool) -> None:
        if self.losses is not None and loss.name not in self.losses:
            raise InputError(
                f"the solver {self.name!r} minimises the loss {' or '.join(sorted(self.losses))} only, not "
                f"{loss.name!r}: choose that loss or another solver"
            )
        if state is not None and len(state.w) != pairs.n_features:
            raise InputError(
                f"the rows have {pairs.n_features} features but those before had {len(state.w)}: give the same"
            )
        if not stream and min(len(pairs.positives), len(pairs.negatives)) == 0:
            raise InputError("pairs need at least one positive and one negative row")
