"""One run of a solver on a task, whatever the pairs, the features and the solver are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nearer.errors import InputError
from nearer.losses.margins import MarginLoss
from nearer.pairwise._watching import Watching, planned_steps
from nearer.pairwise.drawn import check_draws, linear_walker, run_drawn
from nearer.pairwise.exactly import Exact
from nearer.pairwise.maps import Joined, Mapped, features_of
from nearer.pairwise.metric import MetricWalker, start_of_metric
from nearer.pairwise.sources import Dealer
from nearer.pairwise.state import State
from nearer.pairwise.tasks import Task, TwoClassTask

#: alternations between weights of features and weights of kernels
ROUNDS = 8
#: weights of kernels that change by less than this are found
_SETTLED = 0.01


@dataclass(frozen=True)
class Setting:
    """What all runs of one fit share.

    Attributes
    ----------
    n_components : int, optional
        Rows of a learned distance's L.
    stream : bool
        The rows are a chunk of many.
    ask : bool
        Whether the user's callback hears of the run.
    share : float
        Of the seconds that are left, what a run may take.
    """

    loss: MarginLoss
    solver: Any
    regularization: float
    watching: Watching
    n_components: int | None = None
    stream: bool = False
    ask: bool = True
    share: float = 1.0

    def how(self, n_rows: int) -> dict[str, Any]:
        """Limits and callback of a run."""
        planned = planned_steps(self.solver, n_rows, self.stream)
        return {
            "limits": self.watching.limits(self.share),
            "callback": self.watching.callback(planned, self.ask),
        }


def learn(
    task: Task, X: Any, setting: Setting, rng: np.random.Generator, state: State | None = None
) -> State:
    """Weights for these features: those of scores, or those of a distance with its threshold.

    Parameters
    ----------
    task : Task
        The labels of the rows.
    X : array, CSR matrix or Mapped
    state : State, optional
        What the run on an earlier chunk gave; it is not changed.
    """
    how = setting.how(task.n_rows)
    if isinstance(setting.solver, Exact):
        found = _exactly(task, X, setting, how)
    elif isinstance(task, TwoClassTask) and not isinstance(X, Mapped):
        found = setting.solver.run(
            task.pairs(X, rng),
            setting.loss,
            setting.regularization,
            rng,
            state=state,
            stream=setting.stream,
            **how,
        )
    else:
        found = _drawn(task, X, setting, rng, state, how)
    return setting.watching.close(found)


def _exactly(task: Task, X: Any, setting: Setting, how: dict[str, Any]) -> State:
    if isinstance(X, Mapped):
        raise InputError(
            f"the solver 'exact' needs all features at once, and {X.shape[0]:,} rows of {X.shape[1]:,} are too many: "
            "choose 'adadsg' or fewer features"
        )
    objective = task.all_pairs(X, setting.loss, setting.regularization / np.sqrt(task.n_rows))
    return setting.solver.minimise(objective, **how)


def _drawn(
    task: Task, X: Any, setting: Setting, rng: np.random.Generator, state: State | None, how: dict[str, Any]
) -> State:
    check_draws(setting.solver)
    if state is not None and not task.has_pairs():
        return state  # a chunk that says nothing
    source = Dealer(task.source(rng))
    walker: Any
    if task.is_metric:
        state = start_of_metric(X, source, setting.n_components, rng) if state is None else state.copy()
        walker = MetricWalker(X, source, setting.loss, state, rng)
    else:
        state = State(np.zeros(X.shape[1])) if state is None else state.copy()
        walker = linear_walker(X, source, setting.loss, state, rng)
    return run_drawn(
        setting.solver,
        source,
        walker,
        setting.loss,
        setting.regularization,
        state,
        stream=setting.stream,
        **how,
    )


def learn_kernel_weights(
    task: Task, X: Any, joined: Joined, setting: Setting, rng: np.random.Generator
) -> tuple[Joined, np.ndarray]:
    """Weights of kernels, and the features that go with them.

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
    scales, setting = joined.scales, replace(setting, stream=False, ask=False, share=0.5)
    for number in range(ROUNDS):
        setting.watching.enter("weighing kernels", number + 1, ROUNDS)
        state = learn(task, features_of(X, joined.scaled(scales * np.sqrt(weights))), setting, rng)
        lengths = np.sqrt(weights) * [np.linalg.norm(state.w[part]) for part in joined.slices]
        if state.stop_reason not in ("epochs", "tolerance") or not lengths.any():
            break  # out of time, or nothing was learned
        before, weights = weights, lengths / lengths.sum()
        if np.abs(weights - before).max() < _SETTLED:
            break
    return joined.scaled(scales * np.sqrt(weights)), weights
