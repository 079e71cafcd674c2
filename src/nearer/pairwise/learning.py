"""One run of a solver on a task, whatever the pairs, the features and the solver are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nearer.losses.margins import MarginLoss
from nearer.objectives.base import WithInitial
from nearer.pairwise.maps import Joined, features_of
from nearer.pairwise.tasks import Task, TwoClassTask, maker_for
from nearer.solvers import Budget, Result, Run, Solver, State, minimise

#: alternations between weights of features and weights of kernels
ROUNDS = 8
#: weights of kernels that change by less than this are found
_SETTLED = 0.01


@dataclass(frozen=True)
class Setting:
    """What all runs of one fit share.

    Attributes
    ----------
    run : Run
        The whole fit: its clock, budget and callback.
    n_components : int, optional
        Rows of a learned distance's L.
    stream : bool
        Whether the rows are a chunk of many.
    share : float
        The share of the seconds left that one solver may take.
    """

    loss: MarginLoss
    solver: Solver
    regularization: float
    run: Run
    n_components: int | None = None
    stream: bool = False
    share: float = 1.0

    def l2(self, n_rows: int) -> float:
        """Return the strength of the L2 term."""
        return self.regularization / float(np.sqrt(n_rows))

    def budget(self) -> Budget:
        """Return the budget of the next solver."""
        left = self.run.seconds_left
        if left is None or self.share == 1.0:
            return self.run.budget
        return replace(self.run.budget, max_seconds=self.run.seconds + self.share * max(left, 1e-9))


def learn(
    task: Task, X: Any, setting: Setting, rng: np.random.Generator, state: State | None = None
) -> tuple[State, Result | None]:
    """Find weights for these features: those of scores, or those of a distance with its threshold.

    Parameters
    ----------
    task : Task
        The labels of the rows.
    X : array, CSR matrix or LazyRows
        Features.
    state : State, optional
        What an earlier chunk left; it is not changed.

    Returns
    -------
    State, Result
        Where the solver stands, its weights among the arrays as "w", and the course of the run; None if the chunk
        holds no pairs that could be drawn.
    """
    make = maker_for(setting.solver, task, X)
    if state is not None and not task.has_pairs() and not _pairs_reach_back(task, X):
        return state, None
    return descend(make(X, setting, rng, state), setting, rng, state)


def _pairs_reach_back(task: Task, X: Any) -> bool:
    """Return whether rows of one class are of use, since solvers keep rows of the other."""
    return isinstance(task, TwoClassTask) and hasattr(X, "dtype")


def descend(
    objective: WithInitial, setting: Setting, rng: np.random.Generator, state: State | None
) -> tuple[State, Result]:
    """Run the solver from its beginning, or on from a state; return as `learn`."""
    x = objective.initial(rng) if state is None else state.arrays["w"]
    w, result = minimise(
        setting.solver, objective, x, budget=setting.budget(), rng=rng, state=state, run=setting.run
    )
    found = result.state or State(history=result.history)
    return State({**found.arrays, "w": w}, found.numbers, found.history), result


def learn_kernel_weights(
    task: Task, X: Any, joined: Joined, setting: Setting, rng: np.random.Generator
) -> tuple[Joined, np.ndarray]:
    """Return weights of kernels, and the features that go with them.

    With features phi_k of each kernel and scores `sum over k of w_k · phi_k(x)`, what is minimised over all w_k and
    over weights d_k of at least 0 that sum to 1 is

        mean loss  +  regularization / sqrt(rows) / 2 * sum over k of |w_k|² / d_k,

    which is learning with the kernel `sum over k of d_k K_k`; with the best d_k the penalty is that of the squared
    sum of lengths, `(sum over k of |w_k|)²`, so that kernels without use get weight 0. For given d the features
    `sqrt(d_k) phi_k` make it an ordinary problem; for given w the best weights are `d_k = |w_k| / sum of |w|`. The
    two are taken in turn.

    Returns
    -------
    Joined, array
        The maps, scaled by the root of the weights, and the weights.
    """
    weights = np.full(len(joined.parts), 1 / len(joined.parts))
    scales, setting = joined.scales, replace(setting, stream=False, share=0.5)
    setting.run.enter("weighing kernels", ROUNDS)
    for _ in range(ROUNDS):
        features = features_of(X, joined.scaled(scales * np.sqrt(weights)))
        state, result = learn(task, features, setting, rng)
        w = state.arrays["w"]
        lengths = np.sqrt(weights) * [np.linalg.norm(w[part]) for part in joined.slices]
        if result is None or result.stop_reason not in ("epochs", "tolerance") or not lengths.any():
            break  # out of time, or nothing was learned
        before, weights = weights, lengths / lengths.sum()
        if np.abs(weights - before).max() < _SETTLED:
            break
    return joined.scaled(scales * np.sqrt(weights)), weights
