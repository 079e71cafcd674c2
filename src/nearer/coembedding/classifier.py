"""Rows and labels in one space: multi-label classification as a convex problem."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

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
    MayLack,
    Number,
    Part,
    Saved,
    Size,
    Strings,
    Text,
    need,
    optional,
)
from nearer._utils.text import warn
from nearer._utils.validation import RandomState, generator
from nearer.coembedding.choosing import Steps
from nearer.coembedding.decisions import CRITERIA, Decisions, decide, temperature
from nearer.coembedding.fitting import check_fit_settings, check_folds, fit_factor
from nearer.coembedding.label_model import LabelModel, checked_label_features
from nearer.coembedding.label_terms import LabelledRows
from nearer.coembedding.labels import Labels, read_labels, warn_of_missing
from nearer.coembedding.rows import Preparation, check_unit_length
from nearer.errors import InputError
from nearer.losses.label_sets import RankingLoss, SoftMaxLoss
from nearer.losses.margins import MarginLoss, find_smooth_loss
from nearer.pairwise._scales import check_scale
from nearer.pairwise.inputs import check_not_constant, check_sizes, checked_rows
from nearer.solvers import Result
from nearer.solvers.path import Choice
from nearer.solvers.run import Callback

#: affinities from which thresholds and probabilities are found, at most
_MOST_AFFINITIES = 1_000_000
#: strengths half-way to the neighbours of the best one matter as much as all else that is chosen
_STEPS = Steps(refine=True)


class CoEmbeddingClassifier(LabelModel):
    """Multi-label classification by distances: rows are near their labels, and far from the others.

    Rows and labels are placed in one space, together with a threshold point. A row has a label if it is nearer to the
    label than to the threshold. All of it is one convex problem over a positive semidefinite matrix (eq. 13 of the
    co-embedding paper), solved to a certified gap by growing factors (`nearer.solvers.ILA`).

    Labels may have features. Labels that never occurred can then be predicted from theirs.

    Parameters
    ----------
    beta : float or "auto"
        Strength of the trace, for the *sum* of the losses over rows, as in the paper: the stronger, the fewer
        dimensions. "auto" chooses it by cross-validation along a path with warm starts, by the log-loss of calibrated
        probabilities, whatever `threshold` is; with one label per row, by the share of errors.
    loss : str or MarginLoss
        Of the affinity of a row with one of its labels, which should be 1 or more: "smooth-hinge", "logistic",
        "squared-hinge" or "square". The loss of a row is the soft maximum over its labels, plus that over the others.
        With one label per row, it is the sum over the other labels, of the difference of affinities.
    threshold : {"micro-f1", "macro-f1", "hamming"} or float
        What decisions are made for, by probabilities that are calibrated on held-out rows: "micro-f1" cuts those of all
        labels where F1 is the highest, "hamming" at one half, "macro-f1" those of each label where its expected F1 is
        the highest. A number is the cut of affinities itself; 0 is the threshold point.
    cv : int
        Folds that are held out to choose `beta`, the threshold and probabilities. 0 holds out none: probabilities, and
        a threshold to be chosen, then come from the rows learned from.
    scale : "auto" or bool
        Whether each column is divided by the size of its numbers, and measured from its median, first. "auto" leaves
        columns alone that share a unit, as in texts and flags.
    unit_length : "auto" or bool
        Whether every row is then divided by its length. "auto" does so from 20 columns on.
    max_rank : int, optional
        Most dimensions. The minimum is then not certified; `result_.details["gap"]` says how far it may be.
    max_epochs, max_evaluations, max_seconds : number, optional
        Budget of rounds of growth, derivatives and time. The last two include the folds.
    tol : float
        Stop when the certified gap is below this share of the objective.
    random_state : int, Generator, RandomState or None
        Draws the folds, and where eigenvectors are looked for.
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called with a `nearer.solvers.Progress`; a true answer stops the fit.

    Attributes
    ----------
    classes_ : array (n_labels,)
        Names of the labels: columns of a frame, or numbers. With one label per row, the distinct ones.
    label_embedding_ : array (n_labels, rank)
        Points of the labels.
    threshold_embedding_ : array (rank,)
        Point of the threshold.
    row_factor_, label_factor_ : arrays
        What prepared rows, and features of labels, are multiplied with. Without label features, the latter is
        `label_embedding_`.
    decisions_ : Decisions
        Cuts of affinities and calibration of probabilities; unused with one label per row.
    beta_ : float
        The strength that was used.
    result_ : nearer.solvers.Result
        The course of the fit: objective, rank, largest eigenvalue and gap per round. `result_.details` says what was
        chosen, and whether decisions were found on rows "held out" or "learned from".
    n_features_in_ : int
        Number of features.
    label_columns_ : array of str
        Columns of the file that `nearer fit` found the labels in; absent after a fit to arrays.
    label_separator_ : str
        What stood between the labels of a cell, if `nearer fit` found them in one column.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(300, n_classes=4, random_state=0)
    >>> model = CoEmbeddingClassifier(beta=0.1, random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape, model.score(X[200:], Y[200:]) > 0.75
    ((100, 4), True)
    >>> model.transform(X).shape[1] == model.label_embedding_.shape[1]
    True

    With one label per row, it predicts the nearest label:

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> CoEmbeddingClassifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _schema = Saved(
        params={
            "beta": AnyOf(Text(), Number()),
            "loss": AnyOf(Text(), Part(MarginLoss)),
            "threshold": AnyOf(Text(), Number()),
            "cv": Integer(0, 10**6),
            "scale": AnyOf(Flag(), Text()),
            "unit_length": AnyOf(Flag(), Text()),
            "max_rank": optional(Integer(1, 10**9)),
            **BUDGET,
            "random_state": SEED,
            "verbose": SWITCH,
            "callback": Literal(None),
        },
        fitted={
            "classes_": AnyOf(Array("m", kinds="biufUS"), Strings("m")),
            "row_factor_": Array("p", "d", filled=True, dtype="float64", order="C"),
            "label_factor_": Array(None, "d", dtype="float64", order="C"),
            "threshold_embedding_": Array("d", dtype="float64"),
            "label_embedding_": Array("m", "d", dtype="float64", order="C"),
            "preparation_": Part(Preparation),
            "decisions_": Part(Decisions),
            "temperature_": Number(above=0),
            "single_": Flag(),
            "sparse_": Flag(),
            "n_label_features_": Integer(0, 10**9),
            "beta_": Number(at_least=0),
            "result_": Part(Result),
            "n_features_in_": Size("p"),
            "feature_names_in_": MayLack(Strings("p")),
            "label_columns_": MayLack(Strings("columns")),
            "label_separator_": MayLack(Text()),
        },
    )

    def __init__(
        self,
        beta: float | str = "auto",
        *,
        loss: str | MarginLoss = "smooth-hinge",
        threshold: str | float = "micro-f1",
        cv: int = 5,
        scale: bool | str = "auto",
        unit_length: bool | str = "auto",
        max_rank: int | None = None,
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
        self.threshold = threshold
        self.cv = cv
        self.scale = scale
        self.unit_length = unit_length
        self.max_rank = max_rank
        self.max_epochs = max_epochs
        self.max_evaluations = max_evaluations
        self.max_seconds = max_seconds
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @one_thread()
    def fit(self, X: ArrayLike, y: Any = None, label_features: Any = None) -> CoEmbeddingClassifier:
        """Learn where rows and labels lie.

        Parameters
        ----------
        X : array or CSR matrix (n, n_features)
            The rows.
        y : array, frame or sparse matrix (n, n_labels) of zeros and ones, or array (n,)
            The labels of each row: any number of them per row, none and all included, or exactly one.
        label_features : array or sparse matrix (n_labels, k), optional
            Features of the labels. Each label then lies where its features say; labels with other features can be
            predicted too.
        """
        self._check_settings()
        for name in ("label_columns_", "label_separator_"):
            self.__dict__.pop(name, None)
        rows = checked_rows(self, X, reset=True)
        check_sizes(rows)
        labels = read_labels(y, rows.shape[0])
        features = checked_label_features(label_features, len(labels.classes))
        check_not_constant(rows)
        warn_of_missing(labels)
        rng, margin = generator(self.random_state), find_smooth_loss(self.loss)
        loss = RankingLoss(margin) if labels.single else SoftMaxLoss(margin)
        self.preparation_ = Preparation.of(rows, self.scale, self.unit_length)
        terms = LabelledRows(self.preparation_(rows), labels.matrix, features, self._criterion(labels), loss)
        Q, choice, result = fit_factor(self, lambda: terms, loss, rng, n_folds=self.cv, steps=_STEPS)
        self._keep(Q, labels, features)
        self.beta_ = float(choice.strength)
        self._decide(terms, choice, Q)
        details = {**result.details, "decided_on": "held out" if choice.held_out else "learned from"}
        self.result_ = replace(result, details=details)
        if not Q.any() and result.stop_reason == "tolerance":
            warn(f"beta = {self.beta_:.3g} is so strong that all points are equal: use a smaller one")
        return self

    # -- inside -------------------------------------------------------------------------------------------------

    def _criterion(self, labels: Labels) -> str:
        if labels.single:
            return "accuracy"
        return self.threshold if isinstance(self.threshold, str) else "micro-f1"

    def _keep(self, Q: np.ndarray, labels: Labels, features: Any) -> None:
        rows, rest = Q[: self.n_features_in_], Q[self.n_features_in_ :]
        if labels.single:  # the order of labels needs no threshold
            rest = np.vstack([rest, np.zeros(Q.shape[1])])
        self.row_factor_ = np.ascontiguousarray(rows)
        self.label_factor_ = np.ascontiguousarray(rest[:-1])
        self.threshold_embedding_ = rest[-1].copy()
        points = self.label_factor_ if features is None else np.asarray(features @ self.label_factor_)
        self.label_embedding_ = np.ascontiguousarray(points)
        self.n_label_features_ = 0 if features is None else int(features.shape[1])
        self.classes_, self.single_, self.sparse_ = labels.classes, labels.single, labels.sparse

    def _decide(self, terms: LabelledRows, choice: Choice, Q: np.ndarray) -> None:
        """Find thresholds and probabilities, on rows that were held out if there are any."""
        parts, most = choice.held_out or [(terms, Q)], max(_MOST_AFFINITIES // len(self.classes_), 1)
        each = -(-most // len(parts))
        some = [(part.first(each), factor) for part, factor in parts]
        affinities, end = np.empty((sum(len(part) for part, _ in some), len(self.classes_))), 0
        for part, factor in some:  # with many labels, a copy would be the most memory that the fit needs
            start, end = end, end + len(part)
            part.affinities(factor, affinities[start:end])
        labels = sparse.csr_matrix(sparse.vstack([part.labels for part, _ in some]))
        self.temperature_ = temperature(affinities, labels) if self.single_ else 1.0
        self.decisions_ = decide(affinities, labels, 0.0 if self.single_ else self.threshold)

    def _check_settings(self) -> None:
        find_smooth_loss(self.loss)
        check_scale(self.scale)
        check_folds(self)
        given = self.threshold
        number = isinstance(given, Real) and not isinstance(given, bool) and np.isfinite(given)
        if not (number or (isinstance(given, str) and given in CRITERIA)):
            raise InputError(
                f"must be one of {', '.join(CRITERIA)} or a number, not {given!r}", parameter="threshold"
            )
        check_unit_length(self.unit_length)
        check_fit_settings(self)

    def _check_loaded(self) -> None:
        cuts = self.decisions_.thresholds
        need(cuts is None or len(cuts) == len(self.classes_), "decisions_ must have a threshold per label")
        labels = len(self.decisions_.slopes) - 1
        need(labels == len(self.classes_), f"decisions_ are about {labels} labels, not {len(self.classes_)}")
        rows = self.n_label_features_ or len(self.classes_)
        need(len(self.label_factor_) == rows, f"label_factor_ must have {rows} rows")
