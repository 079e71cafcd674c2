"""A metric of features: distances learned from similarities, comparisons, labels or pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nearer._utils.runtime import one_thread
from nearer._utils.schema import (
    BUDGET,
    SEED,
    SWITCH,
    AnyOf,
    Array,
    Flag,
    Integer,
    Literal,
    Matrix,
    MayLack,
    Number,
    Part,
    Saved,
    Size,
    Strings,
    Text,
    optional,
)
from nearer._utils.text import warn
from nearer._utils.validation import RandomState, generator, whole
from nearer.coembedding.fitting import check_fit_settings, fit_factor
from nearer.coembedding.inputs import read
from nearer.coembedding.model import MetricModel
from nearer.coembedding.tasks import TargetTask, Task
from nearer.coembedding.terms import Terms
from nearer.errors import InputError
from nearer.losses.margins import MarginLoss, find_margin_loss, find_smooth_loss
from nearer.pairwise._scales import check_scale, columns_of, moved, scales_of, shift_of
from nearer.pairwise.inputs import check_not_constant
from nearer.solvers import Result
from nearer.solvers.path import Choice
from nearer.solvers.run import Callback

#: terms that were held out from which a metric that is no better than guessing is worth a warning
_LEAST_HELD_OUT = 100
#: standard errors below one half from which an error is better than guessing: a one-sided test at the level of 5%
_STANDARD_ERRORS = 1.645


class MetricLearner(MetricModel):
    """Learn a Mahalanobis distance as a convex problem: the global minimum, with a certificate.

    The squared distance of two rows is (x - x')ᵀ C (x - x') with C = Q Qᵀ positive semidefinite. C minimises the mean
    loss of what is known about the rows, plus `beta` times its trace. Q grows column by column until a certificate says
    that no column is missing (`nearer.solvers.ILA`): its rank is found, not set.

    What is known about the rows is one of four things; see `fit`.

    Parameters
    ----------
    beta : float or "auto"
        Strength of the trace, for a *mean* loss: the stronger, the lower the rank. "auto" chooses it by the held-out
        loss along a path with warm starts.
    loss : str or MarginLoss
        Of a margin that should be 1 or more: "smooth-hinge", "logistic", "squared-hinge" or "square". "auto" is
        "smooth-hinge"; similarities always have the squared error, "square".
    n_neighbors : int
        With labels: neighbours of its own label that each row should have nearby.
    scale : "auto" or bool
        Whether each column is divided by the size of its numbers, and measured from its median, before learning:
        neither units nor offsets matter then. "auto" leaves columns alone that share a unit, as in texts and flags.
        False takes all rows as they are.
    max_rank : int, optional
        Most columns of Q. The minimum is then not certified; `result_.details["gap"]` says how far it may be.
    preprocessor : array or callable, optional
        A table of features, or a function of indices that returns rows: X may then hold indices.
    max_epochs, max_evaluations, max_seconds : number, optional
        Budget of rounds of growth, derivatives and time. The last two include the choice of `beta`.
    tol : float
        Stop when the certified gap is below this share of the objective.
    random_state : int, Generator, RandomState or None
        Draws the folds of `beta="auto"`, and where eigenvectors are looked for.
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called with a `nearer.solvers.Progress`; a true answer stops the fit.

    Attributes
    ----------
    metric_factor_ : array (n_features, rank)
        Q, in the units of the rows; at least one column.
    beta_ : float
        The strength that was used.
    shift_ : array (n_features,)
        What `transform` subtracts from rows first; distances do not depend on it.
    result_ : nearer.solvers.Result
        The course of the fit: objective, rank, largest eigenvalue and gap per round; `result_.details` holds
        `eigenvalue`, `slack`, `gap`, `rank` and what "auto" chose.
    n_features_in_ : int
        Number of features.
    label_columns_ : array of str
        Columns of the file that `nearer fit` found the labels in; absent after a fit to arrays.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> target = X[:, :2] @ X[:, :2].T  # similar by two features of five
    >>> model = MetricLearner(beta=0.5).fit(X, target)
    >>> model.metric_factor_.shape, model.transform(X).shape
    ((5, 2), (100, 2))
    >>> bool(model.result_.details["gap"] <= 1e-3 * model.result_.objective)
    True

    Comparisons of some objects teach distances of all:

    >>> import nearer
    >>> answers, points = nearer.datasets.planted(40, 2, 1000, random_state=0)
    >>> features = np.hstack([points, rng.normal(size=(40, 3))])
    >>> known = answers[(answers.indices < 30).all(axis=1)]
    >>> others = answers[(answers.indices >= 30).any(axis=1)]
    >>> MetricLearner(random_state=0).fit(features, known).score(features, others) > 0.9
    True
    """

    _schema = Saved(
        params={
            "beta": AnyOf(Text(), Number()),
            "loss": AnyOf(Text(), Part(MarginLoss)),
            "n_neighbors": Integer(1, 10**6),
            "scale": AnyOf(Flag(), Text()),
            "max_rank": optional(Integer(1, 10**9)),
            "preprocessor": optional(Matrix()),
            **BUDGET,
            "random_state": SEED,
            "verbose": SWITCH,
            "callback": Literal(None),
        },
        fitted={
            "metric_factor_": Array("d", None, filled=True, dtype="float64", order="C"),
            "beta_": Number(at_least=0),
            "shift_": Array("d", dtype="float64"),
            "result_": Part(Result),
            "n_features_in_": Size("d"),
            "feature_names_in_": MayLack(Strings("d")),
            "label_columns_": MayLack(Strings("columns")),
        },
    )

    def __init__(
        self,
        beta: float | str = "auto",
        *,
        loss: str | MarginLoss = "auto",
        n_neighbors: int = 3,
        scale: bool | str = "auto",
        max_rank: int | None = None,
        preprocessor: Any = None,
        max_epochs: int | None = None,
        max_evaluations: int | None = None,
        max_seconds: float | None = None,
        tol: float = 1e-3,
        random_state: RandomState = None,
        verbose: bool = False,
        callback: Callback | None = None,
    ):
        self.beta = beta
        self.loss = loss
        self.n_neighbors = n_neighbors
        self.scale = scale
        self.max_rank = max_rank
        self.preprocessor = preprocessor
        self.max_epochs = max_epochs
        self.max_evaluations = max_evaluations
        self.max_seconds = max_seconds
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @one_thread()
    def fit(self, X: ArrayLike, y: Any = None) -> MetricLearner:
        """Learn the metric.

        Parameters
        ----------
        X : array or CSR matrix (n, n_features), or tuples (n, 2, 3 or 4, n_features)
            The rows. Tuples hold pairs, triplets or quadruplets of rows. With `preprocessor`, X may hold indices
            instead: one per row, or 2, 3 or 4 per tuple.
        y : array (n, n), Comparisons, array (n,) or None
            What is known about the rows:

            - `Comparisons` of their indices, or of their names if X is a frame whose index holds names. Triplets of
              rows (near ones first, no y) and quadruplets say the same; a y of -1 turns one around;
            - labels (n,): neighbours of one label should be nearer than rows of others;
            - 1 or -1 per pair: whether the two belong together. Distances should be below a threshold or above it;
            - target similarities (n, n): x C x'ᵀ should be equal to them.
        """
        self._check_settings()
        self.__dict__.pop("label_columns_", None)
        rows, task = read(self, X, y, reset=True)
        check_not_constant(rows)
        loss, rng = self._loss(task), generator(self.random_state)
        shift, scales = self._units(rows, task)

        def terms() -> Terms:
            return task.terms(moved(rows.astype(np.float64), shift, scales), self.n_neighbors)

        Q, choice, self.result_ = fit_factor(self, terms, loss, rng, task=task.kind)
        self._keep(Q, shift, scales)
        self.beta_ = float(choice.strength)
        self._warn(choice)
        return self

    # -- inside -------------------------------------------------------------------------------------------------

    def _units(self, rows: Any, task: Task) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return what to subtract from the columns and what to divide them by.

        Inner products depend on the origin, distances only lose digits far from it.
        """
        columns = columns_of(rows)
        if self.scale is False and isinstance(task, TargetTask):
            return None, None
        return shift_of(columns, always=self.scale is not False), scales_of(columns, self.scale)

    def _keep(self, Q: np.ndarray, shift: np.ndarray | None, scales: np.ndarray | None) -> None:
        self.metric_factor_ = np.ascontiguousarray(Q if scales is None else Q / scales[:, None])
        self.shift_ = np.zeros(len(Q)) if shift is None else np.asarray(shift, dtype=np.float64)

    def _warn(self, choice: Choice) -> None:
        """Say so if nothing was learned, or nothing that helps on what was held out.

        Neighbours are not judged: their error by chance depends on the sizes of the classes.
        """
        if not self.metric_factor_.any() and self.result_.stop_reason == "tolerance":
            warn(f"beta = {self.beta_:.3g} is so strong that all distances are 0: use a smaller one")
        elif choice.errors and choice.n_held_out >= _LEAST_HELD_OUT:
            task, noise = self.result_.details["task"], _STANDARD_ERRORS * 0.5 / choice.n_held_out**0.5
            chance = {"comparisons": 0.5 - noise, "pairs": 0.5 - noise, "similarities": 1.0}.get(task, np.inf)
            if choice.least_error >= chance:
                warn(
                    f"the held-out error is {choice.least_error:.1%}, no better than without a metric: are the rows in "
                    "the order of what is known about them?"
                )

    def _loss(self, task: Task) -> MarginLoss:
        loss = find_margin_loss(task.usual_loss if self.loss == "auto" else self.loss)
        if isinstance(task, TargetTask) and loss.name != task.usual_loss:
            raise InputError(
                f"is {loss.name!r}, but similarities have the squared error", 'use "auto"', parameter="loss"
            )
        return loss

    def _check_settings(self) -> None:
        if self.loss != "auto":
            find_smooth_loss(self.loss)
        whole("n_neighbors", self.n_neighbors)
        check_scale(self.scale)
        check_fit_settings(self)
