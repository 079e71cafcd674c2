"""A kernel learned one answer at a time (ERKLE), whole or of low rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import ArpackError
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nearer._fitting import as_comparisons, known_to, that_count, watched
from nearer._utils.runtime import one_thread
from nearer._utils.schema import (
    BUDGET,
    COUNT,
    SEED,
    SWITCH,
    AnyOf,
    Array,
    Integer,
    Literal,
    Matrix,
    MayLack,
    Names,
    Number,
    Part,
    Saved,
    Text,
    need,
    optional,
)
from nearer._utils.validation import RandomState, generator, whole
from nearer.comparisons import Comparisons
from nearer.errors import InputError
from nearer.kernels._answers import KeepsAnswers
from nearer.kernels._forms import Factored, HeldKernel, Whole
from nearer.kernels._learning import OnlineRun
from nearer.kernels._settings import check_columns, check_settings, longer, plan_of, warn_of_divergence
from nearer.kernels._starts import check_room, held_at_start, largest_at_start, n_at_start, start_scale
from nearer.solvers import Result
from nearer.solvers.run import Callback


class OnlineKernel(KeepsAnswers, HeldKernel, BaseEstimator):
    """Learn a positive semidefinite kernel from answers that keep coming, one at a time.

    Each answer "i is nearer to j than to k" moves a few entries of the kernel by a step of a chosen length. If that
    makes an eigenvalue negative (it can make only one), the eigenvalue is removed, which leaves the nearest positive
    semidefinite kernel. One answer at a time or many at once: the kernel is the same.

    Parameters
    ----------
    n_objects : int, optional
        Number of objects; by default the number that the first answers are about. `add_objects` adds more.
    update : {"passive-aggressive", "ste", "gnmds"}
        Length of a step. Passive-aggressive: none if the answer holds by `margin`, else just enough for that (before
        the projection). "ste": the probability of the opposite answer under STE. "gnmds": 1 if the answer does not hold
        by `margin`.
    margin : float
        Amount by which an answer should hold. For passive-aggressive steps log(P / (1 - P)) asks for the probability P
        under STE.
    step : {"constant", "1/j", "1/sqrt(j)"}
        How the steps shrink with the number j of answers. Constant steps treat all answers alike.
    step_size : float, optional
        Factor of every step: by default 1 for a whole kernel, as in the paper, and 0.5 with `rank`, where steps in X
        disturb each other more. Constant passive-aggressive steps of a whole kernel need at most 2: beyond that they
        overshoot by more than they correct. Steps in X are shortened where they would overshoot.
    max_step : float, optional
        Bounds the passive-aggressive step, so that one wrong answer cannot undo what many right ones built (PA-I): no
        step is longer than this times the answer's weight.
    soft : bool
        With `max_step` C, do not cut long steps off but shorten all of them: violation / (gain + 1 / (2 C)) (PA-II).
    passes : int
        Steps per answer: after each new answer, `passes - 1` more steps on answers drawn from those seen before, which
        are kept for that.
    trace_penalty : float
        Forgetting: after every answer, and every replay of one, the whole kernel is multiplied by
        1 - s * trace_penalty, where s is the step size of that answer (`step_size`, divided by j or sqrt(j) where
        `step` says so), whether the answer moved the kernel or not. The factor is 1/2 at least. All eigenvalues shrink
        alike, so that the rank stays the same; the penalty of `RelativeKernel` subtracts the same amount from each
        instead, and sets small ones to zero. Costs nothing and keeps K positive semidefinite.
    rank : int, optional
        Store the kernel as K = X X' with X of this many columns: O(rank) per answer and no eigenproblem, for up to
        millions of objects. None stores the n x n kernel itself.
    direction : {"paper", "minimal"}, optional
        What a step on a triplet subtracts: the paper's matrix (the default), which counts off-diagonal entries twice,
        or the gradient itself, which changes the kernel least. Quadruplets need "minimal". Not for `rank`, where the
        step is the gradient in X.
    start : float or array
        The kernel to begin with: a multiple of the identity, or an (n, n) positive semidefinite array. With `rank`: the
        mean diagonal of random points, or (n, rank) points.
    skip : {"local", "bound", "never"}
        How a whole kernel knows that a step needs no projection: by where it has changed and by its inverse; by the
        paper's one bound on the smallest eigenvalue; or not at all. The kernel is the same.
    random_state : int, Generator or None
        For the answers drawn again, and the random start of `rank`.
    max_seconds : float, optional
        Stop each call of `fit` or `partial_fit` after about this time; `n_seen_` says how many answers were learned.
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called with a `nearer.solvers.Progress` every few thousand answers; a true answer stops the call. Its `n_seen`
        counts the answers learned. Its `parameters` are the kernel, or the points with `rank`, computed when asked for.

    Attributes
    ----------
    kernel_ : array of shape (n, n)
        What was learned; positive semidefinite.
    points_ : array of shape (n, rank)
        Only with `rank`.
    n_seen_ : int
        Answers learned so far.
    n_steps_ : int
        Steps that changed the kernel: the rest of the answers held by their margin.
    n_projections_, n_skipped_, n_negative_ : int
        Steps for which the smallest eigenpair was computed, steps for which it was known to be unnecessary, and
        projections that did remove a negative eigenvalue. Their first two sum to `n_steps_`; zero with `rank`.
    diverged_ : bool
        Whether the last call of `partial_fit` stopped early because the kernel grew without limit. A warning says so
        too. The kernel is the last one before that, and `n_seen_` counts the answers that it learned.
    names_ : tuple of str, or None
        Names of the objects, if the answers have some.
    result_ : nearer.solvers.Result
        The course of learning over all calls since `fit`. The objective of a record is the mean loss that the answers
        since the last record had when they came, before they were learned: the hinge at `margin`, or the logistic loss
        for "ste". It is estimated from every eighth answer, after 4,096 answers from every 512th. Between records there
        are at first 256, later 65,536 answers. The column "n_seen" counts the answers.
        `n_evaluations` counts answers and replays. The stop reason is "epochs" if all answers were learned.

    Notes
    -----
    Weights of answers: a step of "ste" and "gnmds" is multiplied by the weight; so is the bound `max_step`. A
    passive-aggressive step without a bound takes the share min(weight, 1). An answer of weight 0 is as if never given:
    it is not among `n_seen_`, and steps do not shrink by it.

    Examples
    --------
    >>> import nearer
    >>> from nearer.datasets import planted
    >>> answers, _ = planted(20, 2, 1500, random_state=0)
    >>> online = nearer.OnlineKernel(n_objects=20).partial_fit(answers[:1000])
    >>> online.kernel_.shape, online.n_seen_
    ((20, 20), 1000)
    >>> bool(online.score(answers[1000:]) > 0.85)
    True
    """

    #: of the last call in this process: a model that was loaded has had none
    diverged_ = False
    _schema = Saved(
        params={
            "n_objects": optional(Integer(1, 2**31)),
            "update": Text(),
            "margin": Number(),
            "step": Text(),
            "step_size": optional(Number()),
            "max_step": optional(Number()),
            "soft": SWITCH,
            "passes": Integer(1, 10**6),
            "trace_penalty": Number(),
            "rank": optional(Integer(1, 10**6)),
            "direction": AnyOf(Literal(None), Text()),
            "start": AnyOf(Number(), Matrix()),
            "skip": Text(),
            "random_state": SEED,
            "max_seconds": BUDGET["max_seconds"],
            "verbose": SWITCH,
            "callback": Literal(None),
        },
        fitted={
            "held_": Part(Whole, Factored, shares=("n",)),
            "names_": optional(Names("n")),
            "n_seen_": COUNT,
            "seed_": Integer(0, 2**62),
            "kept_indices_": Array("kept", "columns", kinds="iu", below="n", dtype="int32", order="C"),
            "kept_weights_": Array("weights", at_least=0, dtype="float64"),
            "result_": MayLack(Part(Result)),  # files of earlier versions have none
        },
    )

    def __init__(
        self,
        n_objects: int | None = None,
        *,
        update: str = "passive-aggressive",
        margin: float = 1.0,
        step: str = "constant",
        step_size: float | None = None,
        max_step: float | None = None,
        soft: bool = False,
        passes: int = 1,
        trace_penalty: float = 0.0,
        rank: int | None = None,
        direction: str | None = None,
        start: float | ArrayLike = 1.0,
        skip: str = "local",
        random_state: RandomState = None,
        max_seconds: float | None = None,
        verbose: bool = False,
        callback: Callback | None = None,
    ):
        self.n_objects = n_objects
        self.update = update
        self.margin = margin
        self.step = step
        self.step_size = step_size
        self.max_step = max_step
        self.soft = soft
        self.passes = passes
        self.trace_penalty = trace_penalty
        self.rank = rank
        self.direction = direction
        self.start = start
        self.skip = skip
        self.random_state = random_state
        self.max_seconds = max_seconds
        self.verbose = verbose
        self.callback = callback

    # -- learning ------------------------------------------------------------------------------------------------

    def fit(self, X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> OnlineKernel:
        """Forget everything, then learn these answers in their order; see `partial_fit`."""
        for name in (*self._schema.fitted, "_run"):
            self.__dict__.pop(name, None)
        return self.partial_fit(X, y)

    @one_thread()
    def partial_fit(self, X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> OnlineKernel:
        """Learn more answers, one by one in their order.

        Ctrl-C stops between two blocks of answers and is raised; `n_seen_` then says how many were learned, and a later
        call can continue from there.

        Parameters
        ----------
        X : Comparisons or array
            Answers, winner first; or questions, with the responses in `y`.
        """
        comparisons = as_comparisons(X, y)
        check_settings(self)
        if not hasattr(self, "held_"):
            self._begin(comparisons)
        comparisons = known_to(comparisons, self._n_objects, self.names_, can_grow=True)
        check_columns(self, comparisons.indices.shape[1])
        comparisons = that_count(comparisons)
        with watched(self.verbose, self.callback, self.max_seconds) as (callback, finish):
            learned = self._learn(comparisons, callback)
            finish(self.result_)
        self.diverged_ = self.result_.stop_reason == "diverged"
        if self.diverged_:
            warn_of_divergence(self, learned, len(comparisons))
        if self.result_.stop_reason == "interrupted":
            raise KeyboardInterrupt
        return self

    def _learn(self, comparisons: Comparisons, callback: Callback | None) -> int:
        """Learn answers within one run; return how many were learned."""
        if not hasattr(self, "_run"):
            self._run = OnlineRun(getattr(self, "result_", None))
        answers, plan = self._kept(comparisons), plan_of(self, self._largest_at_start())
        try:
            return self._run.learn(self, answers, len(comparisons), plan, callback)
        except (np.linalg.LinAlgError, ArpackError) as error:
            raise InputError(
                f"{error}, so it cannot learn more answers: fit it again with a smaller step_size"
            ) from error
        finally:
            self._forget_after(self.n_seen_)
            self.result_ = self._run.result()

    @one_thread()
    def add_objects(
        self, count: int | None = None, names: tuple[str, ...] | list[str] | None = None
    ) -> OnlineKernel:
        """Add objects, which are similar to no other until there are answers about them.

        Parameters
        ----------
        count : int, optional
            How many; may be left out if `names` are given.
        names : sequence of str, optional
            Needed if the other objects have names.
        """
        check_is_fitted(self, "held_")
        new = None if names is None else tuple(names)
        count = len(new) if count is None and new is not None else count
        whole("count", count)
        assert count is not None
        self._check_room(self._n_objects + count)
        self.names_ = longer(self.names_, new, count)
        random = np.random.default_rng([self.seed_, self._n_objects])
        self.held_.grow(count, start_scale(self), random)
        return self

    # -- inside --------------------------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        check_settings(self)

    def _check_loaded(self) -> None:
        count, columns = self.kept_indices_.shape
        need(columns in (3, 4), f"kept_indices_ has {columns} columns, not 3 or 4")
        need(len(self.kept_weights_) in (0, count), f"{count} answers have {len(self.kept_weights_)} weights")
        need(count <= self.n_seen_, f"{count} answers are kept of {self.n_seen_}")
        history = self.result_.history if hasattr(self, "result_") else {}
        for name in ("epoch", "evaluations") if history else ():
            column = history[name]
            sound = column.dtype.kind == "i" and (column >= 0).all() and (column < 2**62).all()
            need(bool(sound), f"the column {name} of result_ does not count")

    def _begin(self, comparisons: Comparisons) -> None:
        n = n_at_start(self.n_objects, comparisons)
        self._check_room(n)
        random = generator(self.random_state)
        self.__dict__.pop("_start_size", None)
        self.seed_ = int(random.integers(2**62))
        self.held_ = held_at_start(self, n, random)
        self.names_ = comparisons.names
        self.n_seen_ = 0
        self._keep_none(comparisons.indices.shape[1])

    def _check_room(self, n_objects: int) -> None:
        remedy = "set rank=10" if self.rank is None else "use fewer objects or a lower rank"
        check_room(n_objects, self.rank, remedy)

    def _largest_at_start(self) -> float:
        """Return the largest entry of the kernel at the start, computed once."""
        if not hasattr(self, "_start_size"):
            self._start_size = largest_at_start(self.start, self.rank)
        return self._start_size
