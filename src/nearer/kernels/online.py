"""A kernel learned one answer at a time (ERKLE), whole or of low rank."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nearer._estimating import that_count
from nearer._given import as_comparisons, known_to
from nearer._interrupting import interrupt_between
from nearer._random import RandomState, generator
from nearer._validation import not_negative, positive, whole
from nearer.comparisons import Comparisons
from nearer.errors import InputError
from nearer.kernels._full import FullKernel
from nearer.kernels._held import Answers, Factored, Plan, Whole
from nearer.kernels._kept import extended
from nearer.kernels._rules import STEPS, UPDATES, Rule
from nearer.kernels.base import KernelModel, kernel_distances, leading_eigenpairs

_DIRECTIONS = ("paper", "minimal")
_SKIPS = ("local", "bound", "never")
#: a start counts as positive semidefinite down to this share of its largest eigenvalue
_START_TOLERANCE = 1e-10


class OnlineKernel(KernelModel, BaseEstimator):
    """Learn a positive semidefinite kernel from answers that keep coming, one at a time.

    Each answer "i is nearer to j than to k" moves a few entries of the kernel by a step of a chosen length. If that
    makes an eigenvalue negative (it can make only one), the eigenvalue is removed, which leaves the nearest positive
    semidefinite kernel. One answer at a time or many at once: the kernel is the same.

    Parameters
    ----------
    n_objects : int, optional
        How many objects there are; by default as many as the first answers speak of. `add_objects` adds more.
    update : {"passive-aggressive", "ste", "gnmds"}
        Length of a step. Passive-aggressive: none if the answer holds by `margin`, else just enough for that (before
        the projection). "ste": the probability of the opposite answer under STE. "gnmds": 1 if the answer does not hold
        by `margin`.
    margin : float
        By how much an answer should hold. For passive-aggressive steps log(P / (1 - P)) asks for the probability P
        under STE.
    step : {"constant", "1/j", "1/sqrt(j)"}
        How the steps shrink with the number j of answers. Constant steps treat all answers alike.
    step_size : float, optional
        Factor of every step: by default 1 for a whole kernel, as in the paper, and 0.5 with `rank`, where steps in X
        disturb each other more.
    max_step : float, optional
        Bounds the passive-aggressive step, so that one wrong answer cannot undo what many right ones built (PA-I): no
        step is longer than this times the answer's weight.
    soft : bool
        With `max_step` C, do not cut long steps off but shorten all of them: violation / (gain + 1 / (2 C)) (PA-II).
    passes : int
        Steps an answer: after each new one, `passes - 1` more on answers drawn from those seen before, which are kept
        for that.
    trace_penalty : float
        Trace regularisation: after a step of size d the kernel shrinks by the share d * trace_penalty (half at most),
        which is what descent on the trace in X does to K = X X'. Costs nothing and keeps K positive semidefinite.
    rank : int, optional
        Hold the kernel as K = X X' with X of this many columns: O(rank) an answer and no eigenproblem, for up to
        millions of objects. None holds the n x n kernel itself.
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
    verbose : bool
        Show a progress bar.

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
    names_ : tuple of str, or None
        Names of the objects, where the answers have some.

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

    _saved_attributes = ("held_", "names_", "n_seen_", "seed_", "kept_indices_", "kept_weights_")

    held_: Whole | Factored

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
        verbose: bool = False,
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
        self.verbose = verbose

    # -- learning ------------------------------------------------------------------------------------------------

    def fit(self, X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> OnlineKernel:
        """Forget everything, then learn these answers in their order."""
        for name in self._saved_attributes:
            self.__dict__.pop(name, None)
        return self.partial_fit(X, y)

    def partial_fit(self, X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> OnlineKernel:
        """Learn more answers, one by one in their order.

        Ctrl-C stops between two answers and is raised; `n_seen_` then says how many were learned, and learning can go
        on from there.

        Parameters
        ----------
        X : Comparisons or array
            Answers, winner first; or questions, with the responses in `y`.
        """
        comparisons = as_comparisons(X, y)
        self._check()
        if not hasattr(self, "held_"):
            self._begin(comparisons)
        comparisons = known_to(comparisons, self._n_objects, self.names_, can_grow=True)
        self._check_columns(comparisons)
        comparisons = that_count(comparisons)
        answers, start = self._kept(comparisons)
        with interrupt_between() as interrupted, self._watched(len(comparisons)) as show:

            def enough(done: int) -> bool:
                show(done)
                return interrupted()

            learned = self.held_.learn(answers, start, len(comparisons), self._plan(), enough)
            self.n_seen_ += learned
            self._forget_after(self.n_seen_)
        return self

    def add_objects(
        self, count: int | None = None, names: tuple[str, ...] | list[str] | None = None
    ) -> OnlineKernel:
        """Make room for more objects, which are like nobody until answers speak of them.

        Parameters
        ----------
        count : int, optional
            How many; may be left out where `names` are given.
        names : sequence of str, optional
            Needed where the other objects have names.
        """
        check_is_fitted(self, "held_")
        new = None if names is None else tuple(names)
        count = len(new) if count is None and new is not None else count
        whole("count", count)
        assert count is not None
        self.names_ = _longer(self.names_, new, count)
        random = np.random.default_rng([self.seed_, self._n_objects])
        self.held_.grow(count, self._start_scale(), random)
        return self

    # -- what was learned ----------------------------------------------------------------------------------------

    @property
    def kernel_(self) -> np.ndarray:  # type: ignore[override]
        check_is_fitted(self, "held_")
        return self.held_.kernel()

    @property
    def points_(self) -> np.ndarray:
        """The points whose inner products are the kernel; only with `rank`."""
        check_is_fitted(self, "held_")
        if not isinstance(self.held_, Factored):
            raise AttributeError("a whole kernel has no points of its own: call embedding(n_components)")
        return self.held_.points()

    @property
    def n_steps_(self) -> int:
        """Steps that changed the kernel."""
        check_is_fitted(self, "held_")
        return self.held_.n_steps

    @property
    def n_projections_(self) -> int:
        """Steps for which the smallest eigenpair was computed."""
        return self._counted("n_projections")

    @property
    def n_skipped_(self) -> int:
        """Steps that were known to need no projection."""
        return self._counted("n_skipped")

    @property
    def n_negative_(self) -> int:
        """Projections that removed a negative eigenvalue."""
        return self._counted("n_negative")

    @property
    def loss(self) -> str:
        """The loss whose probability `predict_proba` gives."""
        return "gnmds" if self.update == "gnmds" else "ste"

    @property
    def loss_(self) -> Any:  # type: ignore[override]
        from nearer.losses import find

        return find(self.loss)

    # -- for KernelModel -----------------------------------------------------------------------------------------

    @property
    def _n_objects(self) -> int:
        held = self.held_.held
        return len(held.matrix.base if isinstance(held, FullKernel) else held)

    @property
    def _highest_rank(self) -> int:
        return min(self.held_.held.shape) if isinstance(self.held_, Factored) else self._n_objects

    def _compared(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(self.held_, Factored):
            from nearer._points import compared_distances

            return compared_distances(self.held_.points(), indices)
        return kernel_distances(self.kernel_, indices)

    def _leading(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(self.held_, Factored):
            return leading_eigenpairs(self.kernel_, count)
        vectors, lengths, _ = np.linalg.svd(self.held_.points(), full_matrices=False)
        missing = max(count - len(lengths), 0)
        values = np.pad(lengths**2, (0, missing))
        return values[:count], np.pad(vectors, ((0, 0), (0, missing)))[:, :count]

    # -- inside --------------------------------------------------------------------------------------------------

    def _counted(self, name: str) -> int:
        check_is_fitted(self, "held_")
        held = self.held_.held
        return getattr(held, name) if isinstance(held, FullKernel) else 0

    def _plan(self) -> Plan:
        most = math.inf if self.max_step is None else float(self.max_step)
        size = float(self.step_size) if self.step_size is not None else 1.0 if self.rank is None else 0.5
        rule = Rule(self.update, self.step, size, float(self.margin), most, bool(self.soft))
        return Plan(rule, int(self.passes), float(self.trace_penalty), self.seed_)

    def _begin(self, comparisons: Comparisons) -> None:
        n = comparisons.n_objects if self.n_objects is None else self.n_objects
        if n == 0:
            raise InputError("the first answers are none, so that nobody knows the objects: give n_objects")
        if comparisons.names is not None and n != comparisons.n_objects:
            raise InputError(
                f"n_objects is {n} but the first answers name {comparisons.n_objects} objects: leave n_objects out, or "
                "name all objects in the answers"
            )
        random = generator(self.random_state)
        self.seed_ = int(random.integers(2**62))
        self.held_ = self._held_at_start(n, random)
        self.names_ = comparisons.names
        self.n_seen_ = 0
        columns = comparisons.indices.shape[1]
        self.kept_indices_, self.kept_weights_ = np.empty((0, columns), np.int32), np.empty(0)
        self.__dict__.pop("_rooms", None)

    def _held_at_start(self, n: int, random: np.random.Generator) -> Whole | Factored:
        scale = self._start_scale()
        if self.rank is not None:
            if np.ndim(self.start) == 0:
                points = random.normal(size=(n, self.rank)) * math.sqrt(scale / self.rank)
            else:
                points = _array(
                    "start", self.start, (n, self.rank), "points, one row an object and `rank` columns"
                )
            return Factored(points)
        if np.ndim(self.start) == 0:
            kernel = scale * np.eye(n)
        else:
            kernel = _psd(_array("start", self.start, (n, n), "a kernel over all objects"))
        return Whole(FullKernel.start(kernel, self.skip), self.direction or "paper")

    def _start_scale(self) -> float:
        if np.ndim(self.start) == 0:
            return float(self.start)  # type: ignore[arg-type]
        given = np.asarray(self.start, dtype=float)
        squares = given**2 if self.rank is not None else np.diagonal(given)
        return float(squares.sum() / len(given)) or 1.0

    def _kept(self, comparisons: Comparisons) -> tuple[Answers, int]:
        """The answers to learn, with those before them where they may be drawn again, and the first one's number."""
        indices = np.ascontiguousarray(comparisons.indices)
        weights = np.empty(0) if comparisons.weights is None else np.ascontiguousarray(comparisons.weights)
        if self.passes == 1:
            return Answers(indices, weights, self.n_seen_), self.n_seen_
        if len(self.kept_indices_) != self.n_seen_:
            raise InputError(
                f"passes is now {self.passes}, but with passes=1 the {self.n_seen_} answers before were not kept: set "
                "passes before the first answers"
            )
        if len(weights) or len(self.kept_weights_):
            self._keep(
                "kept_weights_", self._kept_weights(), weights if len(weights) else np.ones(len(indices))
            )
        self._keep("kept_indices_", self.kept_indices_, indices)
        return Answers(self.kept_indices_, self.kept_weights_), self.n_seen_

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a pickle holds: not the room behind kept answers."""
        return {name: value for name, value in super().__getstate__().items() if name != "_rooms"}

    def _keep(self, name: str, kept: np.ndarray, rows: np.ndarray) -> None:
        rooms = self.__dict__.setdefault("_rooms", {})
        rooms[name], kept = extended(rooms.get(name), kept, rows)
        setattr(self, name, kept)

    def _kept_weights(self) -> np.ndarray:
        return self.kept_weights_ if len(self.kept_weights_) else np.ones(self.n_seen_)

    def _forget_after(self, count: int) -> None:
        """Drop kept answers that an interruption left unlearned."""
        self.kept_indices_, self.kept_weights_ = self.kept_indices_[:count], self.kept_weights_[:count]

    def _watched(self, total: int) -> Any:
        from nearer._progress import counting_bar

        return counting_bar("answers", total, shown=self.verbose)

    # -- checks --------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        for name, value, known in (
            ("update", self.update, tuple(UPDATES)),
            ("step", self.step, tuple(STEPS)),
            ("direction", self.direction, (*_DIRECTIONS, None)),
            ("skip", self.skip, _SKIPS),
        ):
            if value not in known:
                names = ", ".join(repr(item) for item in known if item is not None)
                raise InputError(f"{name} is {value!r}: use one of {names}")
        not_negative("margin", self.margin)
        not_negative("trace_penalty", self.trace_penalty)
        whole("passes", self.passes)
        for name in ("n_objects", "rank"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name))
        for name in ("step_size", "max_step"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))
        if np.ndim(self.start) == 0:
            positive("start", self.start)
        self._check_combinations()

    def _check_combinations(self) -> None:
        if self.max_step is not None and self.update != "passive-aggressive":
            raise InputError(
                f"max_step bounds passive-aggressive steps, but update is {self.update!r}: leave it out"
            )
        if self.soft and self.max_step is None:
            raise InputError("soft needs max_step, the bound that it softens: set max_step as well")
        if self.rank is not None and self.direction is not None:
            raise InputError("direction is for whole kernels, but rank is set: leave direction out")

    def _check_columns(self, comparisons: Comparisons) -> None:
        columns = comparisons.indices.shape[1]
        if columns == 4 and self.rank is None and self.direction != "minimal":
            raise InputError(
                'the paper\'s direction is for triplets: set direction="minimal" for quadruplets'
            )
        if columns != self.kept_indices_.shape[1] and self.passes > 1:
            raise InputError(
                f"these answers have {columns} columns but those before had {self.kept_indices_.shape[1]}: with passes "
                "above 1 give all as triplets or all as quadruplets"
            )


def _longer(names: tuple[str, ...] | None, new: tuple[str, ...] | None, count: int) -> tuple[str, ...] | None:
    if new is None and names is None:
        return None
    if new is None:
        raise InputError(f"the objects have names, such as {names[0]!r}: name the new ones as well")  # type: ignore[index]
    if names is None:
        raise InputError("the objects so far have no names: add the new ones by their count")
    if len(new) != count:
        raise InputError(f"there are {len(new)} names for {count} objects: give one an object")
    repeated = sorted(set(new) & set(names)) or sorted({name for name in new if new.count(name) > 1})
    if repeated:
        raise InputError(f"the name {repeated[0]!r} is taken: give every object a name of its own")
    return names + new


def _array(name: str, values: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    array = np.array(values, dtype=float, order="C")
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape} but must have shape {shape}: {what}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds numbers that are not finite: give finite ones")
    return array


def _psd(kernel: np.ndarray) -> np.ndarray:
    """A start that is symmetric and positive semidefinite."""
    if not np.allclose(kernel, kernel.T, rtol=1e-10, atol=1e-12 * max(np.abs(kernel).max(), 1.0)):
        raise InputError("start is not symmetric: a kernel is, and (start + start.T) / 2 would be")
    kernel = (kernel + kernel.T) / 2
    values = np.linalg.eigvalsh(kernel)
    if values[0] < -_START_TOLERANCE * max(values[-1], 1.0):
        raise InputError(
            f"start has the eigenvalue {values[0]:.3g}, but a kernel has none below 0: remove the negative ones"
        )
    return kernel
