"""Points from comparisons: the estimator that users hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nearer._comparing.joining import joined, reindexed
from nearer._points import compared_distances
from nearer._random import RandomState, generator
from nearer._validation import not_negative, whole
from nearer.calibration import STRENGTHS, Choice, Stopped, Trials
from nearer.comparisons import Comparisons
from nearer.errors import InputError
from nearer.losses import LOSSES, Loss
from nearer.losses import find as find_loss
from nearer.metrics import triplet_error
from nearer.objectives import PointObjective
from nearer.solvers import (
    SOLVERS,
    SVRG,
    Budget,
    Monitor,
    Progress,
    Result,
    Solver,
    StabilizedBB,
    minimise,
)
from nearer.solvers import find as find_solver
from nearer.solvers.monitor import Callback
from nearer.starts import brought_back, random_points, starting_points

#: what "auto" runs from points that short fits have found already
_GO_ON = SVRG(step=StabilizedBB(first_step="careful"))
#: order in which loss="auto" tries them: a later one must be clearly better
_ORDER = ("soe", "tste", "ste", "ckl", "gnmds")


def _has_probability(estimator: OrdinalEmbedding) -> bool:
    loss = getattr(estimator, "loss_", estimator.loss)
    if loss == "auto":
        raise AttributeError(
            'with loss="auto" there is a probability only after fit, where the chosen loss has one'
        )
    if not find_loss(loss).has_probability:
        raise AttributeError(f"the loss {find_loss(loss).name!r} has no probability: use ste, tste or ckl")
    return True


class OrdinalEmbedding(BaseEstimator):
    """Place objects as points so that the comparisons hold: ordinal embedding.

    Minimises the mean loss over the comparisons of squared distances plus `l2` times the mean squared length of the
    points.

    Parameters
    ----------
    n_components : int
        Dimension of the embedding; `nearer.choose_dimension` helps to find it.
    loss : {"gnmds", "ckl", "ste", "tste", "soe", "auto"} or nearer.losses.Loss
        "soe" did best or nearly so on most data we tried; "ste", "tste" and "ckl" also give probabilities; "auto"
        chooses on held-out comparisons.
    l2 : float or "auto"
        Strength of the L2 term. "auto" chooses it on held-out comparisons by short fits.
    solver : str or nearer.solvers.Solver
        "auto" (Adam on large batches, then SVRG-SBB), "svrg-sbb", "svrg-sbb0", "svrg-sbb-restarts", "svrg", "sgd",
        "adam", "batch" or "lbfgs".
    init : {"auto", "spectral", "random"} or array of shape (n_objects, n_components)
        Where to begin; "auto" is spectral up to three dimensions and random beyond.
    n_init : int
        Starts; the fit with the least objective is kept. All but the first are random.
    max_epochs, max_evaluations, max_seconds : number, optional
        Budget; whichever comes first. The last two include the trials of automatic choices.
    tol : float
        Stop when two epochs in a row lower the objective by less than this share.
    n_jobs : int
        Threads. The result does not depend on it.
    dtype : {"float64", "float32"}
    random_state : int, Generator, RandomState or None
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called with a `nearer.solvers.Progress` after each epoch; a true answer stops the fit.

    Attributes
    ----------
    embedding_ : array of shape (n_objects, n_components)
    result_ : nearer.solvers.Result
        The course of the fit; `result_.details` says what automatic choices chose.
    loss_ : nearer.losses.Loss
    l2_ : float
    names_ : tuple of str or None
        Names of the objects.

    Examples
    --------
    >>> import nearer
    >>> answers, truth = nearer.datasets.planted(30, 2, 3000, random_state=0)
    >>> train, test = answers.split(test_size=0.2, random_state=0)
    >>> est = nearer.OrdinalEmbedding(n_components=2, random_state=0).fit(train)
    >>> est.embedding_.shape, est.score(test) > 0.95
    ((30, 2), True)
    """

    _saved_attributes = ("embedding_", "result_", "loss_", "l2_", "names_")

    def __init__(
        self,
        n_components: int = 2,
        *,
        loss: str | Loss = "soe",
        l2: float | str = "auto",
        solver: str | Solver = "auto",
        init: str | np.ndarray = "auto",
        n_init: int = 1,
        max_epochs: int | None = None,
        max_evaluations: int | None = None,
        max_seconds: float | None = None,
        tol: float = 1e-3,
        n_jobs: int = 1,
        dtype: DTypeLike = "float64",
        random_state: RandomState = None,
        verbose: bool = False,
        callback: Callback | None = None,
    ):
        self.n_components = n_components
        self.loss = loss
        self.l2 = l2
        self.solver = solver
        self.init = init
        self.n_init = n_init
        self.max_epochs = max_epochs
        self.max_evaluations = max_evaluations
        self.max_seconds = max_seconds
        self.tol = tol
        self.n_jobs = n_jobs
        self.dtype = dtype
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    # -- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> OrdinalEmbedding:
        """Find the points.

        Parameters
        ----------
        X : Comparisons, or array of shape (q, 3) or (q, 4)
        y : array of shape (q,), optional
            Responses where X holds questions rather than answers: +1 or True where the first pair is nearer.
        """
        comparisons = _as_comparisons(X, y)
        self._check(comparisons)
        return self._fit(comparisons, self.init)

    def partial_fit(self, X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> OrdinalEmbedding:
        """Go on from the current points with more answers, which are added to those already given.

        Objects that are new begin near the middle. The first call is `fit`.
        """
        comparisons = _as_comparisons(X, y)
        if not hasattr(self, "embedding_"):
            return self.fit(comparisons)
        seen = getattr(self, "_comparisons", None)
        together = comparisons if seen is None else joined(seen, comparisons)
        self._check(together)
        start = self.embedding_
        if together.n_objects > len(start):
            rng = generator(self.random_state)
            new = random_points(together.n_objects - len(start), self.n_components, self.loss_.unit, rng)
            start = np.concatenate([start, start.mean(axis=0) + new])
        return self._fit(together, start, loss=self.loss_, l2=self.l2_)

    def fit_transform(self, X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> np.ndarray:
        """Fit, and give the points."""
        return self.fit(X, y).embedding_

    # -- asking -------------------------------------------------------------------------------------------------

    def predict(self, X: Comparisons | ArrayLike) -> np.ndarray:
        """Whether the first pair of each comparison is nearer in the embedding; a tie is False."""
        near, far = self._distances(X)
        return near < far

    @available_if(_has_probability)
    def predict_proba(self, X: Comparisons | ArrayLike) -> np.ndarray:
        """Probability that the first pair is called nearer; absent where the loss has none."""
        near, far = self._distances(X)
        return self.loss_.probability(near, far)

    def score(self, X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> float:
        """Share of the comparisons that hold (weighted where they have weights)."""
        check_is_fitted(self)
        return 1.0 - triplet_error(self.embedding_, self._known(_as_comparisons(X, y, len(self.embedding_))))

    # -- inside -------------------------------------------------------------------------------------------------

    def _fit(
        self,
        comparisons: Comparisons,
        init: str | np.ndarray,
        loss: Loss | None = None,
        l2: float | None = None,
    ) -> OrdinalEmbedding:
        rng = generator(self.random_state)
        with self._progress() as callback:
            try:
                choice = self._choose(comparisons, init, rng, callback, loss, l2)
                try:
                    points, result = self._solve(comparisons, init, choice, rng, callback)
                except KeyboardInterrupt:  # before the solver had recorded anything
                    seconds, evaluations = choice.seconds, choice.evaluations
                    raise Stopped(
                        "interrupted", choice.loss, choice.l2, choice.points, seconds, evaluations
                    ) from None
                self.loss_, self.l2_ = choice.loss.resolved(self.n_components), choice.l2
                self.result_ = replace(result, details=self._details(choice))
            except Stopped as stopped:
                points = stopped.points
                self.loss_, self.l2_ = stopped.loss.resolved(self.n_components), stopped.l2
                self.result_ = _stopped_result(
                    stopped, self._objective(comparisons, stopped.loss, stopped.l2)
                )
        self.embedding_ = points
        self.names_ = comparisons.names
        self._comparisons = comparisons
        return self

    def _choose(
        self,
        comparisons: Comparisons,
        init: str | np.ndarray,
        rng: np.random.Generator,
        callback: Callback | None,
        loss: Loss | None,
        l2: float | None,
    ) -> Choice:
        wanted = self.loss if loss is None else loss
        strength = self.l2 if l2 is None else l2
        automatic = isinstance(wanted, str) and wanted == "auto"
        losses = [LOSSES[name]() for name in _ORDER] if automatic else [find_loss(wanted)]

        def start(loss: Loss) -> np.ndarray:
            return starting_points(init, comparisons, loss, self.n_components, rng)

        if len(losses) == 1 and strength != "auto":
            return Choice(losses[0], float(strength), start(losses[0]), {}, 0.0, 0)
        trials = Trials(
            comparisons,
            self.n_components,
            start,
            rng,
            dtype=self.dtype,
            n_jobs=self.n_jobs,
            budget=self._budget(),
            callback=callback,
        )
        return trials.choose(losses, STRENGTHS if strength == "auto" else (float(strength),))

    def _solve(
        self,
        comparisons: Comparisons,
        init: str | np.ndarray,
        choice: Choice,
        rng: np.random.Generator,
        callback: Callback | None,
    ) -> tuple[np.ndarray, Result]:
        objective = self._objective(comparisons, choice.loss, choice.l2)
        solver = find_solver(self.solver)
        tried = bool(choice.errors)
        best: tuple[np.ndarray, Result] | None = None
        for attempt in range(self.n_init):
            if attempt == 0 and tried and solver == SOLVERS["auto"]:
                found = self._run(_GO_ON, objective, choice.points, choice, rng, callback)
            else:
                begin = init if attempt == 0 else "random"
                start = starting_points(begin, comparisons, objective.loss, self.n_components, rng)
                found = self._run(solver, objective, brought_back(objective, start), choice, rng, callback)
            if best is None or found[1].objective < best[1].objective:
                best = found
            if found[1].stop_reason in ("interrupted", "callback"):
                break
        assert best is not None
        return best

    def _run(
        self,
        solver: Solver,
        objective: PointObjective,
        start: np.ndarray,
        choice: Choice,
        rng: np.random.Generator,
        callback: Callback | None,
    ) -> tuple[np.ndarray, Result]:
        budget = self._budget().less(choice.seconds, choice.evaluations)
        return minimise(solver, objective, start, budget=budget, callback=callback, rng=rng)

    def _objective(self, comparisons: Comparisons, loss: Loss, l2: float) -> PointObjective:
        return PointObjective(
            comparisons, loss, self.n_components, l2=l2, dtype=self.dtype, n_jobs=self.n_jobs
        )

    def _budget(self) -> Budget:
        return Budget(self.max_epochs, self.max_evaluations, self.max_seconds, self.tol)

    def _details(self, choice: Choice) -> dict[str, Any]:
        loss = choice.loss.resolved(self.n_components)
        details: dict[str, Any] = {
            "loss": repr(loss),
            "l2": choice.l2,
            "solver": self.solver if isinstance(self.solver, str) else repr(self.solver),
            "init": self.init if isinstance(self.init, str) else "array",
        }
        if choice.errors:
            details["held_out_errors"] = {
                name: {f"{l2:g}": error for l2, error in errors.items()}
                for name, errors in choice.errors.items()
            }
            details["choice_seconds"] = choice.seconds
            details["choice_evaluations"] = choice.evaluations
        return details

    def _progress(self) -> Any:
        if not self.verbose:
            return nullcontext(self.callback)
        from nearer._progress import progress_bar

        return _both(progress_bar("fit"), self.callback)

    def _check(self, comparisons: Comparisons) -> None:
        whole("n_components", self.n_components)
        whole("n_init", self.n_init)
        whole("n_jobs", self.n_jobs)
        if self.l2 != "auto":
            not_negative("l2", self.l2)
        if np.dtype(self.dtype) not in (np.dtype("f8"), np.dtype("f4")):
            raise InputError(f"dtype must be float64 or float32, not {self.dtype!r}")
        if not isinstance(self.loss, str) or self.loss != "auto":
            find_loss(self.loss)
        find_solver(self.solver)
        self._budget()
        if len(comparisons) == 0:
            raise InputError("there are no comparisons to learn from: give at least one")

    def _distances(self, X: Comparisons | ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self)
        comparisons = self._known(_as_comparisons(X, None, len(self.embedding_)))
        return compared_distances(self.embedding_, comparisons.indices)

    def _known(self, comparisons: Comparisons) -> Comparisons:
        """The comparisons by this model's indices: by name where both sides have names."""
        if comparisons.names is not None and self.names_ is not None and comparisons.names != self.names_:
            comparisons = reindexed(comparisons, self.names_)
        if comparisons.n_objects > len(self.embedding_):
            raise InputError(
                f"the comparisons are about {comparisons.n_objects} objects but the model knows "
                f"{len(self.embedding_)}: fit it on comparisons that include the others"
            )
        return comparisons


def _as_comparisons(
    X: Comparisons | ArrayLike, y: ArrayLike | None = None, n_objects: int | None = None
) -> Comparisons:
    if y is not None:
        return Comparisons.from_responses(X, y)
    return X if isinstance(X, Comparisons) else Comparisons(X, n_objects)


@contextmanager
def _both(bar: Any, callback: Callback | None) -> Iterator[Callback]:
    """A progress bar's callback followed by the user's own."""
    with bar as show:

        def both(progress: Progress) -> object:
            show(progress)
            return callback(progress) if callback is not None else None

        yield both


def _stopped_result(stopped: Stopped, objective: PointObjective) -> Result:
    """The course of a fit that was ended while it still chose."""
    return Result(
        objective=objective.value(stopped.points),
        stop_reason=stopped.reason,
        n_epochs=0,
        n_evaluations=stopped.evaluations,
        seconds=stopped.seconds,
        history=Monitor(Budget()).result().history,
        details={"loss": repr(objective.loss), "l2": stopped.l2, "stopped_while": "choosing loss and l2"},
    )
