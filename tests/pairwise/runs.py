"""Solvers of pairs run on rows of two classes, without an estimator around them."""

from dataclasses import dataclass

import numpy as np

from nearer.losses.margins import HingeLoss, SquareLoss
from nearer.objectives.pair_rows import Pairs
from nearer.objectives.stochastic_pairs import TwoClassPairs
from nearer.solvers import Result, State, minimise

STRENGTH = 0.1


@dataclass
class Outcome:
    """Where a run ended."""

    w: np.ndarray
    result: Result
    state: State

    @property
    def seen(self):
        """Rows of either class so far."""
        return self.state.numbers["positives"], self.state.numbers["negatives"]


def suited(solver):
    return SquareLoss() if solver.losses else HingeLoss()


def run(solver, pairs, loss, rng, *, strength=STRENGTH, stream=False, after=None, **more):
    """Run a solver on pairs, on from an earlier outcome if there is one."""
    objective = TwoClassPairs(pairs, loss, strength, stream)
    x = objective.initial(rng) if after is None else after.w
    state = None if after is None else after.state
    w, result = minimise(solver, objective, x, rng=rng, state=state, **more)
    return Outcome(w, result, result.state)


def learn(solver, X, positive, loss, seed=0, **more):
    rng = np.random.default_rng(seed)
    return run(solver, Pairs.from_labels(X, positive, rng), loss, rng, **more)
