"""What the estimators of pairs share: how a call of `fit` or `partial_fit` becomes a model, and what it scores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nearer._fitting import watched
from nearer._utils.schema import (
    COUNT,
    SEED,
    SWITCH,
    AnyOf,
    Array,
    Fields,
    Flag,
    Integer,
    Items,
    Literal,
    MayLack,
    Number,
    Part,
    Size,
    Spec,
    Strings,
    Text,
    need,
    optional,
)
from nearer._utils.validation import RandomState, generator, not_negative, positive
from nearer.errors import InputError
from nearer.losses.margins import MarginLoss, find_margin_loss
from nearer.objectives.all_pairs import AllPairs
from nearer.objectives.pair_sources import Dealer
from nearer.objectives.stochastic_pairs import TwoClassPairs
from nearer.pairwise._scales import check_scale, sample_of
from nearer.pairwise.inputs import check_not_constant, checked_rows
from nearer.pairwise.learning import Setting, learn, learn_kernel_weights
from nearer.pairwise.maps import (
    FourierMap,
    Joined,
    RandomFourier,
    Rows,
    centre_of,
    features_of,
    fit_map,
    is_map_of,
    level_of,
    scores_of,
    sees_to_scales,
)
from nearer.pairwise.networks import FittedNetwork, NetworkPairs, is_network
from nearer.pairwise.saved_state import PAIR_STATE, check_state, is_metric
from nearer.pairwise.tasks import Task, TwoClassTask, unsuited
from nearer.solvers import Budget, Progress, Result, Run, Solver, State, find
from nearer.solvers._passes import samples_of


@dataclass(frozen=True)
class Learned:
    """A model after some chunks of rows: numbers and arrays only, unless a network or a transformer is among its parts.

    Attributes
    ----------
    row_map : RowMap or FittedNetwork
        What makes features, or scores, of rows.
    state : State
        The solver's; its arrays have the weights to score with as "w".
    seed : int
        Of all draws; the n-th chunk's begin at (seed, n).
    chunks : int
        Calls of `fit` or `partial_fit` so far.
    kernel_weights : array, optional
    centre : array, optional
        The features of a row between the others: scores are measured from it, or where it is missing from 0.
    """

    row_map: Any
    state: State
    seed: int
    chunks: int
    kernel_weights: np.ndarray | None = None
    centre: np.ndarray | None = None
    _schema = Fields(
        row_map=Part(Rows, FourierMap, Joined, shares=("d",)),
        state=Part(State, schema=PAIR_STATE),
        seed=Integer(0, 2**62),
        chunks=COUNT,
        centre=optional(Array(None, dtype="float64", order="C")),
        kernel_weights=optional(Array("kernels", at_least=0, dtype="float64")),
    )

    @property
    def w(self) -> np.ndarray:
        """Return the weights to score with."""
        return self.state.arrays["w"]

    @property
    def is_metric(self) -> bool:
        """Return whether a distance was learned."""
        return is_metric(self.state)

    def _check_loaded(self) -> None:
        check_state(self.state)
        width, w = self.row_map.width, self.w
        if self.is_metric:
            need(len(w) > 1 and (len(w) - 1) % width == 0, f"{len(w)} weights are not of {width} features")
            arrays = self.state.arrays
            need("v" not in arrays or len(arrays["v"]) == width, "v is not of the features")
        else:
            need(len(w) == width, f"there are {len(w)} weights for {width} features")
        need(self.centre is None or len(self.centre) == width, f"centre is not of {width} features")
        kernels = len(self.row_map.parts) if isinstance(self.row_map, Joined) else 0
        weights = 0 if self.kernel_weights is None else len(self.kernel_weights)
        need(kernels == weights, f"there are {weights} weights for {kernels} kernels")

    def fits(self, model: Any, task: Task) -> bool:
        """Return whether a stream can continue with this model and these pairs."""
        if is_network(model) or isinstance(self.row_map, FittedNetwork):
            is_same = is_network(model) and isinstance(self.row_map, FittedNetwork)
            return is_same and self.row_map.is_metric == task.is_metric
        return is_map_of(self.row_map, model) and self.is_metric == task.is_metric

    def outputs(self, X: Any) -> np.ndarray:
        """Scores of rows."""
        if isinstance(self.row_map, FittedNetwork):
            return self.row_map.outputs(X)
        return scores_of(X, self.row_map, self.w, self.centre)

    def level(self, weights: np.ndarray) -> Any:
        """What to subtract from products of rows with weights of features, which run along the last axis."""
        return level_of(self.row_map, weights, self.centre)


_MODEL = AnyOf(Text(), Part(RandomFourier))
#: parameters of all estimators of pairs
PARAMS: dict[str, Spec] = {
    "loss": AnyOf(Text(), Part(MarginLoss)),
    "solver": AnyOf(Text(), Part(Solver)),
    "model": AnyOf(Text(), Part(RandomFourier), Items(_MODEL, kind=list), Items(_MODEL)),
    "regularization": Number(),
    "scale": AnyOf(Flag(), Text()),
    "max_seconds": optional(Number()),
    "random_state": SEED,
    "verbose": SWITCH,
    "callback": Literal(None),
}
#: fitted attributes of all of them; d is the number of features
FITTED: dict[str, Spec | MayLack] = {
    "learned_": Part(Learned, shares=("d",)),
    "result_": Part(Result),
    "n_features_in_": Size("d"),
    "feature_names_in_": MayLack(Strings("d")),
}
CLASSES = AnyOf(Array(2, kinds="biufUS"), Strings(2))


def check_classes(classes: np.ndarray) -> None:
    """Refuse classes of a file that are not two, in order."""
    need(bool(classes[0] < classes[1]), "classes_ are not two different ones in order")


def goes_on(model: Any) -> bool:
    """Return whether the solver learns from chunks."""
    try:
        solver = find(model.solver)
    except InputError:
        return True  # partial_fit refuses it
    if not solver.online:
        raise AttributeError(
            f"the solver {solver.name!r} needs all rows at once: call fit, or choose 'adadsg'"
        )
    return True


class PairwiseModel(BaseEstimator):
    """The part of an estimator of pairs that does not depend on what its labels mean."""

    loss: Any
    solver: Any
    model: Any
    regularization: float
    scale: bool | str
    max_seconds: float | None
    random_state: RandomState
    verbose: bool
    callback: Any
    learned_: Learned
    result_: Result

    # -- learning ------------------------------------------------------------------------------------------------

    @contextmanager
    def _running(self, stream: bool) -> Iterator[Setting]:
        """Yield the parameters, checked, and the run of one call of `fit` or `partial_fit`."""
        if self.callback is not None and not callable(self.callback):
            raise InputError(f"must be a function or None, not {self.callback!r}", parameter="callback")
        solver = self._solver()
        if is_network(self.model) and not solver.requires <= NetworkPairs.provides:
            raise unsuited(solver, NetworkPairs)
        budget = Budget(max_seconds=self.max_seconds, tol=0)
        components = getattr(self, "n_components", None)
        asked = None if self.callback is None else self._asked
        with watched(self.verbose, asked, self.max_seconds) as (callback, finish):
            yield Setting(
                find_margin_loss(self.loss),
                solver,
                float(self.regularization),
                Run(budget, callback),
                components,
                stream,
            )
            finish(self.result_)
        if stream and self.result_.stop_reason == "interrupted":
            raise KeyboardInterrupt  # what was learned is kept

    def _asked(self, progress: Progress) -> object:
        """Ask the user's callback; it hears only of the fit itself, not of what is tried before or after it."""
        return None if progress.stage else self.callback(progress)

    def _solver(self) -> Solver:
        """Return the solver; refuse other parameters that all estimators of pairs have."""
        not_negative("regularization", self.regularization)
        check_scale(self.scale)
        return find(self.solver, TwoClassPairs, AllPairs)

    def _check(self) -> None:
        """Refuse parameters that an estimator has besides these."""

    def _check_settings(self) -> None:
        self._check()
        self._solver()
        find_margin_loss(self.loss)
        if self.max_seconds is not None:
            positive("max_seconds", self.max_seconds)

    def _learn(self, X: Any, task: Task, setting: Setting) -> Any:
        """Begin again, or go on where a stream has begun; return the features that were learned from."""
        learned = getattr(self, "learned_", None) if setting.stream else None
        if learned is not None and not learned.fits(self.model, task):
            raise InputError(
                "the stream began with another kind of model or pair: keep them, or call fit to start again"
            )
        if learned is None:
            seed = int(generator(self.random_state).integers(2**62))
            learned = self._begin(X, task, setting, seed)
        rng = np.random.default_rng([learned.seed, learned.chunks])
        setting.run.enter("")
        features = X if isinstance(learned.row_map, FittedNetwork) else features_of(X, learned.row_map)
        state, result = self._state(learned, features, task, setting, rng)
        self.learned_ = replace(learned, state=state, chunks=learned.chunks + 1)
        result = self.result_ if result is None else result  # a chunk may hold no pairs
        self.result_ = replace(result, state=None, details={**result.details, **self._details(task, setting)})
        return features

    def _details(self, task: Task, setting: Setting) -> dict[str, Any]:
        return {
            "loss": setting.loss.name,
            "solver": setting.solver.name,
            "regularization": setting.regularization,
            "rows_seen": int(samples_of(self.learned_.state.numbers)) or task.n_rows,
            **task.details(),
        }

    def _begin(self, X: Any, task: Task, setting: Setting, seed: int) -> Learned:
        """Return a model that has seen nothing; its features are found from these rows."""
        if not setting.stream:
            check_not_constant(X)
        elif self._needs_pairs_first(task) and not task.has_pairs():
            raise InputError("the first rows of a stream hold no pairs to begin with: begin with more rows")
        state = State()
        if is_network(self.model):
            sees_to_scales(self.model, self.scale)
            return Learned(FittedNetwork(self.model, task.is_metric, sample_of(X)), state, seed, 0)
        rng = np.random.default_rng([seed, 2**32])  # other numbers than those of chunks
        centred = getattr(setting.solver, "centred", False)
        row_map, weights = fit_map(self.model, X, rng, self.scale, centred), None
        if isinstance(row_map, Joined):
            if task.is_metric:
                raise InputError("a list of kernels is for scores, not for pair='metric': give one of them")
            row_map, weights = learn_kernel_weights(task, X, row_map, setting, rng)
        return Learned(row_map, state, seed, 0, weights, centre_of(X, row_map))

    def _needs_pairs_first(self, task: Task) -> bool:
        """Rows of two classes may come one class after the other: solvers keep some of either. Others may not."""
        return (
            not isinstance(task, TwoClassTask)
            or is_network(self.model)
            or isinstance(self.model, list | tuple)
        )

    def _state(
        self, learned: Learned, features: Any, task: Task, setting: Setting, rng: np.random.Generator
    ) -> tuple[State, Result | None]:
        """Return what the solver makes of features, or a network of rows, as `learn` does."""
        before = learned.state if learned.chunks else None
        if isinstance(learned.row_map, FittedNetwork):
            if not task.has_pairs():
                return learned.state, None
            return learned.row_map.learn(Dealer(task.source(rng)), features, setting, rng, before)
        if isinstance(learned.row_map, Rows) and not task.is_metric:  # a distance has a unit of its own
            penalty = setting.regularization * learned.row_map.length**2
            setting = replace(setting, regularization=penalty)
        return learn(task, features, setting, rng, before)

    # -- what was learned ----------------------------------------------------------------------------------------

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "learned_")
        return self.learned_.outputs(checked_rows(self, X))

    @property
    def kernel_weights_(self) -> np.ndarray:
        """The weight of each kernel of a list; they sum to 1."""
        check_is_fitted(self, "learned_")
        if self.learned_.kernel_weights is None:
            raise AttributeError("kernel_weights_ is for a model that is a list of kernels")
        return self.learned_.kernel_weights

    def _weights(self) -> np.ndarray:
        """Weights of linear scores."""
        row_map, w = self.learned_.row_map, self.learned_.w
        if isinstance(row_map, FittedNetwork):
            raise AttributeError("a network has no coef_: its module is in learned_.row_map.module")
        return row_map.for_rows(w) if isinstance(row_map, Rows) else w

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
