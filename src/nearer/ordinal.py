"""Estimate points from comparisons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nearer._fitting import (
    FITTED,
    PARAMS,
    Fit,
    as_comparisons,
    check_learnable,
    check_resolved,
    known_to,
    that_count,
    warn_of_trials,
    watched,
)
from nearer._utils.arrays import compared_distances, first_pair_nearer
from nearer._utils.runtime import available_cores, compiling, one_thread
from nearer._utils.schema import AnyOf, Array, Integer, Number, Saved, Text, optional
from nearer._utils.validation import RandomState, generator, not_negative, whole
from nearer.calibration import EFFORTS, candidates, choose, effort_for
from nearer.comparisons import Comparisons
from nearer.comparisons.joining import joined
from nearer.errors import InputError
from nearer.losses import Loss
from nearer.losses import find as find_loss
from nearer.metrics import triplet_error
from nearer.objectives import PointObjective
from nearer.solvers import LBFGS, Budget, Result, Run, Solver
from nearer.solvers import find as find_solver
from nearer.solvers.path import LEAST_COMPARISONS, Choice
from nearer.solvers.run import Callback
from nearer.starts import brought_back, random_points, starting_points

#: factors on `tol` for the last fit of solver="auto": it starts close to the end; few comparisons cost almost nothing
_LAST_TOL, _FEW_TOL = 0.1, 1e-6
#: fraction of the remaining seconds that a start may take
_FOR_A_START = 0.25
#: comparisons per thread that are worth a thread, if the number of threads is left to us
_WORTH_A_THREAD = 50_000


def _has_probability(estimator: OrdinalEmbedding) -> bool:
    loss = getattr(estimator, "loss_", estimator.loss)
    if loss == "auto":
        raise AttributeError('loss="auto" has a probability only after fit, if the chosen loss has one')
    if not find_loss(loss).has_probability:
        raise AttributeError(f"the loss {find_loss(loss).name!r} has no probability: use ste, tste or ckl")
    return True


class OrdinalEmbedding(BaseEstimator):
    """Place objects as points such that the comparisons hold: ordinal embedding.

    It minimises the mean loss of the comparisons of squared distances, plus `l2` times the mean squared length of
    the points.

    Parameters
    ----------
    n_components : int
        Dimension of the embedding. `nearer.choose_dimension` helps to find it.
    loss : {"auto", "gnmds", "ckl", "ste", "tste", "soe", "robust-soe"} or nearer.losses.Loss
        "auto" chooses on held-out comparisons among "soe", "robust-soe" and, above three dimensions, "tste" with heavy
        tails. "ste", "tste" and "ckl" also predict probabilities.
    l2 : float or "auto"
        Strength of the L2 term. "auto" walks from strong to weak until the error on held-out comparisons turns.
    effort : {"quick", "normal", "thorough"}
        How carefully to choose. "thorough" tries every halving of the strength on up to six splits, "quick" every
        fourth on one split and, for loss="auto", "soe" alone. "normal" is thorough for fewer than 1,000 objects and up
        to 50,000 comparisons, and above like quick with one more loss.
    solver : str or nearer.solvers.Solver
        "auto" (L-BFGS), "svrg-sbb", "svrg-sbb0", "svrg-sbb-restarts", "svrg", "sgd", "adam", "batch" or "lbfgs".
    init : {"auto", "spectral", "random"} or array of shape (n_objects, n_components)
        Where to start. "auto" is spectral up to three dimensions and random above. An array without spread in some
        direction, such as a column of zeros, gets a few thousandths of its size there; the fit would never use that
        direction otherwise.
    n_init : int
        Number of starts. The fit with the smallest objective is kept. All but the first are random.
    max_epochs, max_evaluations, max_seconds : number, optional
        Stop at whichever limit comes first. The last two include the trials of automatic choices.
    tol : float
        Stop when two consecutive epochs lower the objective by less than this fraction; solver="auto" continues to a
        tenth of it (a millionth with fewer than 50 comparisons).
    n_jobs : int, optional
        Number of threads, or -1 for one per core. None means one per core for many comparisons, and one for few. The
        result does not depend on it.
    dtype : {"float64", "float32"}
        Precision of the points. float32 needs half the memory.
    random_state : int, Generator, RandomState or None
        Source of random draws. The same int produces the same points.
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called with a `nearer.solvers.Progress` after each epoch. A true return value stops the fit. The attributes
        `stage` (for example "choosing l2", then "fitting"), `part` and `parts` distinguish the runs of a fit.

    Attributes
    ----------
    embedding_ : array of shape (n_objects, n_components)
        The points.
    result_ : nearer.solvers.Result
        History of the fit. `result_.details` has the outcome of automatic choices.
    loss_ : nearer.losses.Loss
        The loss that was minimised.
    l2_ : float
        The strength of the L2 term.
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

    _schema = Saved(
        params={
            **PARAMS,
            "n_components": Integer(1, 10**6),
            "l2": AnyOf(Text(), Number()),
            "effort": Text(),
            "n_init": Integer(1, 10**6),
            "n_jobs": optional(Integer(-1, 10**4)),
            "dtype": Text(),
        },
        fitted={"embedding_": Array("n", "p", filled=True), "l2_": Number(at_least=0), **FITTED},
    )

    def __init__(
        self,
        n_components: int = 2,
        *,
        loss: str | Loss = "auto",
        l2: float | str = "auto",
        effort: str = "normal",
        solver: str | Solver = "auto",
        init: str | np.ndarray = "auto",
        n_init: int = 1,
        max_epochs: int | None = None,
        max_evaluations: int | None = None,
        max_seconds: float | None = None,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        dtype: DTypeLike = "float64",
        random_state: RandomState = None,
        verbose: bool = False,
        callback: Callback | None = None,
    ):
        self.n_components = n_components
        self.loss = loss
        self.l2 = l2
        self.effort = effort
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
            Answers with the nearer object first. An array contains indices from 0, or names.
        y : array of shape (q,), optional
            Responses if X contains questions instead of answers: +1 or True if the first pair is nearer.
        """
        comparisons = as_comparisons(X, y)
        self._check(comparisons)
        return self._fit(comparisons, self.init)

    def partial_fit(self, X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> OrdinalEmbedding:
        """Continue from the current points with more answers, which are added to the earlier ones.

        New objects start near the centre. Automatic choices of `loss` and `l2` are kept. The first call is `fit`.
        """
        comparisons = as_comparisons(X, y)
        if not hasattr(self, "embedding_"):
            return self.fit(comparisons)
        start = self.embedding_
        seen = getattr(self, "_comparisons", None)
        if seen is None:  # a loaded model knows its objects but not the answers about them
            seen = Comparisons(np.empty((0, 3), dtype=int), len(start), names=self.names_)
        together = joined(seen, comparisons)
        self._check(together)
        if start.shape[1] != self.n_components:
            raise InputError(
                f"n_components is {self.n_components} but the points have {start.shape[1]} columns: call fit"
            )
        if together.n_objects > len(start):
            rng = generator(self.random_state)
            new = random_points(together.n_objects - len(start), self.n_components, self.loss_.unit, rng)
            start = np.concatenate([start, start.mean(axis=0) + new])
        # keep what was chosen automatically, and use what the user has set since then
        loss = self.loss_ if isinstance(self.loss, str) and self.loss == "auto" else find_loss(self.loss)
        l2 = self.l2_ if isinstance(self.l2, str) else self.l2
        return self._fit(together, start, chosen=(loss, float(l2)))

    def fit_transform(self, X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> np.ndarray:
        """Fit, and return the points."""
        return self.fit(X, y).embedding_

    # -- predicting ---------------------------------------------------------------------------------------------

    def predict(self, X: Comparisons | ArrayLike) -> np.ndarray:
        """Return whether the first pair of each comparison is nearer in the embedding. A tie is False."""
        comparisons = self._known(X)
        return first_pair_nearer(self.embedding_, comparisons.indices)

    @available_if(_has_probability)
    def predict_proba(self, X: Comparisons | ArrayLike) -> np.ndarray:
        """Return the probability that the first pair is called nearer. Not available for losses without one."""
        comparisons = self._known(X)
        return self.loss_.probability(*compared_distances(self.embedding_, comparisons.indices))

    def score(self, X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> float:
        """Return the fraction of comparisons that hold (weighted if they have weights)."""
        comparisons = self._known(X, y)
        return 1.0 - triplet_error(self.embedding_, comparisons)

    # -- inside -------------------------------------------------------------------------------------------------

    @one_thread()
    def _fit(
        self, comparisons: Comparisons, init: str | np.ndarray, chosen: tuple[Loss, float] | None = None
    ) -> OrdinalEmbedding:
        """Make the automatic choices, and solve; with `chosen`, `init` has the points to continue from."""
        with (
            watched(self.verbose, self.callback, self.max_seconds) as (callback, finish),
            compiling() as compile_seconds,
        ):
            course = Fit(
                that_count(comparisons),
                self.n_components,
                generator(self.random_state),
                dtype=self.dtype,
                n_jobs=self._threads(len(comparisons)),
                run=Run(self._budget(), callback),
            )
            choice = self._choose(course, init, chosen)
            warm = chosen is not None or bool(choice.errors)
            points, result = self._solve(course, init, choice, warm)
            finish(result)
        if choice.errors:
            warn_of_trials(choice.least_error, course.comparisons, choice.n_held_out)
        self.loss_, self.l2_ = choice.loss.resolved(self.n_components), choice.strength
        self.result_ = replace(result, details=self._details(choice, compile_seconds()))
        self.embedding_ = points
        self.names_ = comparisons.names
        self._comparisons = comparisons
        return self

    def _choose(self, course: Fit, init: str | np.ndarray, chosen: tuple[Loss, float] | None) -> Choice:
        loss, l2 = chosen or (self.loss, self.l2)
        effort = effort_for(self.effort, course.comparisons.n_objects, len(course.comparisons))
        losses = [find_loss(loss)] if loss != "auto" else candidates(self.n_components, self.effort, effort)
        start = self._start(course, init, losses[0])
        if len(losses) == 1 and l2 != "auto":
            return Choice(losses[0], float(l2), start)
        return choose(course, start, losses, effort, None if l2 == "auto" else float(l2))

    def _solve(
        self, course: Fit, init: str | np.ndarray, choice: Choice, warm: bool
    ) -> tuple[np.ndarray, Result]:
        """Run the solver from every start, and return the best points and their result."""
        objective = course.objective(choice.loss, choice.strength)
        if choice.stopped:  # trials may have had another precision
            return objective.start(choice.points), course.no_run(objective, choice.points, choice.stopped)
        solver, budget = self._solver_and_budget(course)
        best: tuple[np.ndarray, Result] | None = None
        course.run.enter("fitting", self.n_init)
        try:
            for attempt in range(self.n_init):
                if attempt == 0 and warm and self.solver == "auto":
                    found = course.minimise(solver, objective, choice.points, budget)
                else:
                    start = choice.points
                    if attempt > 0 or choice.errors:  # the points of trials favour the solver of the trials
                        start = self._start(course, init if attempt == 0 else "random", objective.loss)
                    found = course.minimise(solver, objective, brought_back(objective, start), budget)
                if best is None or found[1].objective < best[1].objective:
                    best = found
                if found[1].stop_reason in ("interrupted", "callback", "seconds", "evaluations"):
                    break
        except KeyboardInterrupt:  # between two runs, or before the first had recorded anything
            if best is None:
                return objective.start(choice.points), course.no_run(objective, choice.points, "interrupted")
            best = best[0], replace(best[1], stop_reason="interrupted")
        assert best is not None
        return best

    def _solver_and_budget(self, course: Fit) -> tuple[Solver, Budget]:
        solver, budget = find_solver(self.solver, automatic=LBFGS()), course.run.budget
        if self.solver == "auto":
            few = len(course.comparisons) < LEAST_COMPARISONS
            budget = replace(budget, tol=self.tol * (_FEW_TOL if few else _LAST_TOL))
        return solver, budget

    def _threads(self, n_comparisons: int) -> int:
        if self.n_jobs is None:
            return min(available_cores(), max(n_comparisons // _WORTH_A_THREAD, 1))
        return available_cores() if self.n_jobs == -1 else self.n_jobs

    def _start(self, course: Fit, init: str | np.ndarray, loss: Loss) -> np.ndarray:
        left = course.run.seconds_left
        seconds = None if left is None else _FOR_A_START * left
        return starting_points(
            init, course.comparisons, loss, self.n_components, course.rng, seconds, dtype=course.dtype
        )

    def _budget(self) -> Budget:
        return Budget(self.max_epochs, self.max_evaluations, self.max_seconds, self.tol)

    def _details(self, choice: Choice, compile_seconds: float) -> dict[str, Any]:
        details: dict[str, Any] = {
            "loss": repr(self.loss_),
            "l2": choice.strength,
            "solver": self.solver if isinstance(self.solver, str) else repr(self.solver),
            "init": self.init if isinstance(self.init, str) else "array",
        }
        if compile_seconds:
            details["compile_seconds"] = compile_seconds
        if choice.stopped:
            details["stopped_while"] = "choosing loss and l2"
        if choice.seconds:
            for name, found in (("errors", choice.errors), ("scores", choice.scores)):
                details[f"held_out_{name}"] = {
                    loss: {f"{l2:g}": value for l2, value in sorted(values.items())}
                    for loss, values in found.items()
                }
            details["choice_seconds"] = choice.seconds
            details["choice_evaluations"] = choice.evaluations
        return details

    def _check_loaded(self) -> None:
        check_resolved(self.loss_)

    def _check_settings(self) -> None:
        whole("n_components", self.n_components)
        whole("n_init", self.n_init)
        if self.n_jobs not in (None, -1):
            whole("n_jobs", self.n_jobs)
        if self.effort not in EFFORTS:
            raise InputError(f"must be one of {', '.join(EFFORTS)}, not {self.effort!r}", parameter="effort")
        if not isinstance(self.l2, str):
            not_negative("l2", self.l2)
        elif self.l2 != "auto":
            raise InputError(f'must be "auto" or a number of at least 0, not {self.l2!r}', parameter="l2")
        if self.callback is not None and not callable(self.callback):
            raise InputError(
                f"callback must be a function of one nearer.solvers.Progress, not {self.callback!r}"
            )
        if self.dtype not in ("float64", "float32", np.float64, np.float32):
            raise InputError(f'dtype must be "float64" or "float32", not {self.dtype!r}')
        if not isinstance(self.loss, str) or self.loss != "auto":
            find_loss(self.loss)
        find_solver(self.solver, PointObjective, automatic=LBFGS())
        self._budget()

    def _check(self, comparisons: Comparisons) -> None:
        self._check_settings()
        check_learnable(comparisons)

    def _known(self, X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> Comparisons:
        """Return the comparisons by this model's indices."""
        check_is_fitted(self)
        return known_to(as_comparisons(X, y), len(self.embedding_), self.names_)
