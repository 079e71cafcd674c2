"""A kernel from all comparisons at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nearer._fitting import (
    FITTED,
    PARAMS,
    Fit,
    as_comparisons,
    check_learnable,
    check_resolved,
    that_count,
    warn_of_trials,
    watched,
)
from nearer._utils.runtime import one_thread
from nearer._utils.schema import COUNT, AnyOf, Array, Integer, Number, Saved, Text, need, optional
from nearer._utils.validation import RandomState, generator, not_negative, whole
from nearer.comparisons import Comparisons
from nearer.errors import InputError
from nearer.kernels._penalty import choose_penalty
from nearer.kernels._starts import check_room, starting_factor
from nearer.kernels.base import RANK_TOLERANCE, KernelModel
from nearer.losses import Loss
from nearer.losses import find as find_loss
from nearer.objectives import GramObjective
from nearer.solvers import Budget, Result, Run, Solver
from nearer.solvers import find as find_solver
from nearer.solvers.path import Choice
from nearer.solvers.run import Callback


class RelativeKernel(KernelModel, BaseEstimator):
    """Learn a positive semidefinite kernel whose distances agree with the comparisons.

    Minimise the mean loss over the comparisons plus `trace_penalty` times the trace of the kernel, over positive
    semidefinite kernels. With "ste" and "gnmds" the problem is convex: the result is the global minimum up to a
    certified gap, for any start. With "ckl", "tste" and "soe", or with `max_rank`, it is not convex: the result is
    a stationary point. The kernel is centred: its rows sum to zero.

    Parameters
    ----------
    loss : {"ste", "gnmds", "ckl", "tste", "soe"} or nearer.losses.Loss
        "ste", "tste" and "ckl" also have probabilities. `TSTE(alpha=None)` means `max(max_rank - 1, 1)`, and 1 if the
        rank is free.
    trace_penalty : float or "auto"
        Strength of the trace, for a *mean* loss; papers that sum the losses write tau for `len(X) * trace_penalty`.
        The stronger, the lower the rank. "auto" chooses it by cross-validation along a path with warm starts.
    max_rank : int, optional
        Largest rank of the kernel: the Gram matrix of points in this many dimensions.
    solver : {"auto", "accelerated", "proximal", "ila"} or nearer.solvers.Solver
        "auto" is "accelerated" if the problem is convex, and "proximal" if not. "ila" is for smooth convex problems: a
        factor grows until a certificate says that no column is missing. With it, "gnmds" is minimised with its corner
        rounded, as `loss_` says.
    init : "auto" or array of shape (n_objects, n_objects)
        Kernel to begin with; "auto" is zero, or equal distances if the loss has a pole at zero, like "soe" (random
        points with `max_rank`). Only a problem that is not convex depends on it.
    max_epochs, max_evaluations, max_seconds : number, optional
        Budget of iterations, derivatives and time; whichever comes first. The last two include the choice of
        `trace_penalty`.
    tol : float
        Stop when the certified gap is below this share of the objective, or, if there is no certificate, when two
        iterations in a row lower the objective by less than this share.
    random_state : int, Generator, RandomState or None
        Draws the folds of `trace_penalty="auto"`, and random points if a fit begins with some.
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called with a `nearer.solvers.Progress` after each iteration; a true answer stops the fit. Its `points` are a
        factor X of the kernel, K = X Xᵀ.

    Attributes
    ----------
    kernel_ : array of shape (n_objects, n_objects)
        The kernel.
    rank_ : int
        Its rank.
    trace_penalty_ : float
        The penalty used.
    loss_ : nearer.losses.Loss
        The loss that was minimised.
    result_ : nearer.solvers.Result
        The course of the fit. `result_.details` holds `convex` and the kind of `minimum`; `primal`, `dual` and
        `gap` if there is a certificate; and what "auto" chose with the held-out errors.
    names_ : tuple of str or None
        Names of the objects.

    Examples
    --------
    >>> import nearer
    >>> answers, truth = nearer.datasets.planted(30, 2, 2000, random_state=0)
    >>> train, test = answers.split(test_size=0.2, random_state=0)
    >>> model = nearer.RelativeKernel("ste", trace_penalty=1e-3).fit(train)
    >>> model.kernel_.shape, model.embedding(2).shape, model.score(test) > 0.9
    ((30, 30), (30, 2), True)
    >>> model.result_.details["gap"] <= 1e-3 * model.result_.objective
    True
    """

    _schema = Saved(
        params={
            **PARAMS,
            "trace_penalty": AnyOf(Text(), Number()),
            "max_rank": optional(Integer(1, 10**9)),
        },
        fitted={"kernel_": Array("n", "n", filled=True), "trace_penalty_": Number(at_least=0), **FITTED},
    )

    def __init__(
        self,
        loss: str | Loss = "ste",
        *,
        trace_penalty: float | str = "auto",
        max_rank: int | None = None,
        solver: str | Solver = "auto",
        init: str | np.ndarray = "auto",
        max_epochs: int | None = None,
        max_evaluations: int | None = None,
        max_seconds: float | None = None,
        tol: float = 1e-3,
        random_state: RandomState = None,
        verbose: bool = False,
        callback: Callback | None = None,
    ):
        self.loss = loss
        self.trace_penalty = trace_penalty
        self.max_rank = max_rank
        self.solver = solver
        self.init = init
        self.max_epochs = max_epochs
        self.max_evaluations = max_evaluations
        self.max_seconds = max_seconds
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @one_thread()
    def fit(self, X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> RelativeKernel:
        """Find the kernel.

        Parameters
        ----------
        X : Comparisons, or array of shape (q, 3) or (q, 4)
            Answers, the nearer one first; an array holds indices from 0, or names.
        y : array of shape (q,), optional
            Responses if X holds questions instead of answers: +1 or True if the first pair is nearer.
        """
        comparisons = as_comparisons(X, y)
        self._check(comparisons)
        with watched(self.verbose, self.callback, self.max_seconds) as (callback, finish):
            course = Fit(
                that_count(comparisons),
                self.max_rank or comparisons.n_objects,
                generator(self.random_state),
                run=Run(self._budget(), callback),
            )
            start = starting_factor(self.init, self._objective(course.comparisons, 0.0), course.rng)
            choice = self._choose(course, start)
            objective = self._objective(course.comparisons, choice.strength)
            factor, result = self._solve(course, objective, choice)
            finish(result)
        if choice.errors:
            warn_of_trials(choice.least_error, course.comparisons, choice.n_held_out)
        self.loss_, self.trace_penalty_ = objective.loss, choice.strength
        self.kernel_ = factor @ factor.T
        self.names_ = comparisons.names
        self.result_ = replace(result, details=self._details(objective, choice, factor, result))
        return self

    @property
    def rank_(self) -> int:
        """Return the number of eigenvalues of the kernel that are not zero, compared with the largest."""
        check_is_fitted(self)
        return self.result_.details["rank"]

    # -- inside -------------------------------------------------------------------------------------------------

    def _objective(self, comparisons: Comparisons, penalty: float) -> GramObjective:
        return GramObjective(comparisons, self._loss(), trace_penalty=penalty, max_rank=self.max_rank)

    def _loss(self) -> Loss:
        """Return the loss to minimise: without a kink if the solver needs that."""
        solver = find_solver(self.solver, automatic=find_solver("proximal"))
        loss = find_loss(self.loss)
        return loss.rounded() if "smoothness" in solver.requires else loss

    def _choose(self, course: Fit, start: np.ndarray) -> Choice:
        if self.trace_penalty != "auto":
            return Choice(self._loss(), float(self.trace_penalty), start)
        solver = self._solver(self._objective(course.comparisons, 0.0))
        return choose_penalty(course, self._objective, solver, start)

    def _solve(self, course: Fit, objective: GramObjective, choice: Choice) -> tuple[np.ndarray, Result]:
        if choice.stopped:
            return choice.points, course.no_run(objective, choice.points, choice.stopped)
        course.run.enter("fitting", 1)
        try:
            return course.minimise(self._solver(objective), objective, choice.points)
        except KeyboardInterrupt:  # before anything was recorded
            return choice.points, course.no_run(objective, choice.points, "interrupted")

    def _solver(self, objective: GramObjective) -> Solver:
        usual = find_solver("accelerated" if "convexity" in objective.provides else "proximal")
        return find_solver(self.solver, objective, automatic=usual)

    def _details(
        self, objective: GramObjective, choice: Choice, factor: np.ndarray, result: Result
    ) -> dict[str, Any]:
        convex = "convexity" in objective.provides
        details: dict[str, Any] = {
            "loss": repr(objective.loss),
            "trace_penalty": choice.strength,
            "max_rank": self.max_rank,
            "solver": repr(self._solver(objective)),
            "init": self.init if isinstance(self.init, str) else "array",
            "convex": convex,
            "minimum": "global, up to the gap" if convex else "stationary point",
            "rank": _rank(factor),
        }
        measured = dict(result.details)
        if "lower_bound" in measured:
            dual = measured.pop("lower_bound")
            details |= {"primal": result.objective, "dual": dual, "gap": result.objective - dual}
        details |= measured
        if choice.stopped:
            details["stopped_while"] = "choosing trace_penalty"
        if choice.errors:
            (errors,) = choice.errors.values()
            details["held_out_errors"] = {f"{p:.4g}": error for p, error in sorted(errors.items())}
            details["choice_seconds"] = choice.seconds
            details["choice_evaluations"] = choice.evaluations
        return details

    def _budget(self) -> Budget:
        return Budget(self.max_epochs, self.max_evaluations, self.max_seconds, self.tol)

    def _check_loaded(self) -> None:
        check_resolved(self.loss_)
        need(COUNT.takes(self.result_.details.get("rank")), "result_ lacks the rank")
        kernel = self.kernel_
        asymmetry = np.abs(kernel - kernel.T).max()
        need(asymmetry <= 1e-6 * np.abs(kernel).max(), "kernel_ is not symmetric")

    def _check_settings(self) -> None:
        find_loss(self.loss)
        if isinstance(self.trace_penalty, str):
            if self.trace_penalty != "auto":
                raise InputError(
                    f'must be "auto" or a number, not {self.trace_penalty!r}', parameter="trace_penalty"
                )
        else:
            not_negative("trace_penalty", self.trace_penalty)
        if self.max_rank is not None:
            whole("max_rank", self.max_rank)
        find_solver(self.solver, automatic=find_solver("proximal"))
        self._budget()

    def _check(self, comparisons: Comparisons) -> None:
        self._check_settings()
        check_learnable(comparisons)
        check_room(comparisons.n_objects, None, "use OrdinalEmbedding or OnlineKernel(rank=10)")
        self._solver(self._objective(that_count(comparisons)[:1], 0.0))  # the mean needs a weight above 0


def _rank(factor: np.ndarray) -> int:
    """Return the rank of a kernel from its factor."""
    values = np.linalg.eigvalsh(factor.T @ factor if factor.shape[1] < len(factor) else factor @ factor.T)
    return int(np.sum(values > RANK_TOLERANCE * values[-1])) if values[-1] > 0 else 0
