"""A classifier for two classes that is fitted to the order of scores, and then cut and calibrated."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nearer._utils.runtime import one_thread
from nearer._utils.schema import AnyOf, Number, Part, Saved, Text, need
from nearer._utils.validation import RandomState
from nearer.errors import InputError
from nearer.losses.margins import MarginLoss
from nearer.pairwise._model import (
    CLASSES,
    FITTED,
    PARAMS,
    PairwiseModel,
    check_classes,
    goes_on,
)
from nearer.pairwise.inputs import binary_classes, checked_data, classes_of_stream, positive_rows
from nearer.pairwise.learning import Setting
from nearer.pairwise.networks import FittedNetwork, is_network
from nearer.pairwise.scoring import share_in_order
from nearer.pairwise.tasks import TwoClassTask
from nearer.pairwise.thresholds import (
    CALIBRATIONS,
    CRITERIA,
    Recent,
    Sigmoid,
    Staircase,
    calibrate,
    choose_threshold,
)
from nearer.solvers import State

#: least number of held-out rows of the rarer class, if there are as many
_ENOUGH = 200


class AUCClassifier(ClassifierMixin, PairwiseModel):
    """Classifier for two classes that learns to put rows of the second above rows of the first: it maximises AUC.

    Minimised is the mean of a loss over all pairs of a row of each class, by steps on single pairs. How rare a
    class is does not matter to that. Afterwards a threshold for `predict` and a calibration for `predict_proba` are
    found.

    Parameters
    ----------
    loss : str or MarginLoss
        Of the difference of two scores: "hinge", "square", "squared-hinge", "smooth-hinge" or "logistic".
    solver : {"adadsg", "dsgd", "olp", "opauc", "solam", "exact"} or solver object
        "opauc" and "solam" are for the square loss. "exact" finds the minimum, up to about 10^5 rows.
    model : "linear", "rff" or any other model of `PairwiseLearner`
        What scores rows.
    regularization : float
        c in the L2 term `c / sqrt(rows) / 2 * |weights|²` of the objective. Weights are those of columns of size 1
        or, where most numbers are 0, of rows whose usual length is 1, unless `scale=False`.
    scale : "auto" or bool
        Whether each column is divided by the size of its numbers before learning: columns in larger units would
        drown the others. "auto": in a table of measurements always; where most numbers equal their column's median,
        as in texts and flags, if the largest size is over 20 times as large as a quarter of them. `coef_` is in the
        units of the rows. In a stream the first chunk decides. Transformers and networks get rows as they are.
    threshold : {"balanced", "f1", "accuracy", "prior"} or float
        What `predict`'s threshold makes highest: the mean of both classes' recalls; F1 of the second class; the
        share of right answers; or "prior" calls as many rows positive as there are. A number is the threshold
        itself, of scores that are 0 at the mean row.
    calibration : {"sigmoid", "isotonic"}
        How scores become probabilities.
    held_out : float
        Share of the rows, below 1, that threshold and calibration are found on, with the scores of a model fitted
        to the others; the model itself is fitted to all rows. Splits are added (up to all rows) until 200 rows of
        the rarer class are held out. 0 takes the scores of the rows learned from: about half the time, and good where
        there are many more rows than features.
    max_seconds : float, optional
        Stop after this many seconds, with what was found so far.
    random_state : int, Generator or None
        Seed of all draws.
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called with a `nearer.solvers.Progress` every few thousand steps; a true answer ends the fit.

    Attributes
    ----------
    classes_ : array (2,)
        The two labels; the second is the positive one.
    coef_ : array (1, n_features)
        Weights of linear scores; with "rff" and the like, of the features that these make.
    intercept_ : array (1,)
        What `decision_function` adds to the rows times `coef_`.
    kernel_weights_ : array
        With a list of kernels: the weight of each.
    result_ : nearer.solvers.Result
        The history of the fit to all rows. `details["calibrated_on"]` says which scores the threshold was found on:
        of rows "held out", of "later rows" of a stream, each scored before it was learned from, or of rows "learned
        from".
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Pairs tell scores up to a constant, so that scores are measured from that of the mean row (of up to 1,000 rows of
    the fit, or of a stream's first chunk). What a column is measured from then makes no difference to any result.

    In a stream nothing is held out: every chunk is scored before it is learned from, and the last 1,000 scores of
    either class are kept, with the number of rows that they stand for. The first chunk has no such scores, and
    those after learning stand for them until the second comes.

    Probabilities are calibrated and the threshold follows its own criterion: with rare classes, `predict` calls
    rows positive whose probability is far below one half, unless `threshold="accuracy"`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 5))
    >>> y = X[:, 0] + rng.normal(size=1000) > 2  # one row in 13
    >>> model = AUCClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.85, model.coef_.shape, model.predict_proba(X[:2]).shape
    (True, (1, 5), (2, 2))
    """

    _schema = Saved(
        params={
            **PARAMS,
            "threshold": AnyOf(Text(), Number()),
            "calibration": Text(),
            "held_out": Number(),
        },
        fitted={
            **FITTED,
            "classes_": CLASSES,
            "threshold_": Number(),
            "calibration_": Part(Sigmoid, Staircase),
            "recent_": Part(Recent),
        },
    )

    def __init__(
        self,
        loss: str | MarginLoss = "hinge",
        solver: Any = "adadsg",
        *,
        model: Any = "linear",
        regularization: float = 0.01,
        scale: bool | str = "auto",
        threshold: str | float = "balanced",
        calibration: str = "sigmoid",
        held_out: float = 0.2,
        max_seconds: float | None = None,
        random_state: RandomState = None,
        verbose: bool = False,
        callback: Any = None,
    ):
        self.loss = loss
        self.solver = solver
        self.model = model
        self.regularization = regularization
        self.scale = scale
        self.threshold = threshold
        self.calibration = calibration
        self.held_out = held_out
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @one_thread()
    def fit(self, X: ArrayLike, y: ArrayLike) -> AUCClassifier:
        """Learn from all rows at once.

        Parameters
        ----------
        X : array or CSR matrix (n_rows, n_features)
            The rows.
        y : array (n_rows,)
            Labels of two classes; the one that sorts last is the positive one.
        """
        self._check()
        rows, labels = checked_data(self, X, y, reset=True, learned=True)
        self.classes_ = binary_classes(labels)
        task = TwoClassTask(positive_rows(labels, self.classes_))
        with self._running(stream=False) as setting:
            features = self._learn(rows, task, setting)
            recent = self._held_out(rows, features, task, setting)
            if recent is None:
                recent = Recent.of(self.learned_.outputs(rows), task.positive, honest=False)
            self._cut(recent, "held out" if recent.honest else "learned from")
        return self

    @available_if(goes_on)
    @one_thread()
    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> AUCClassifier:
        """Learn from a chunk of rows, and continue from the chunks before.

        Parameters
        ----------
        X, y
            As in `fit`.
        classes : array (2,), optional
            Both classes, where the first chunk may hold only one of them.
        """
        self._check()
        begun = hasattr(self, "learned_")
        rows, labels = checked_data(self, X, y, reset=not begun, learned=True)
        self.classes_ = classes_of_stream(self.classes_ if begun else None, labels, classes)
        task = TwoClassTask(positive_rows(labels, self.classes_))
        recent = Recent.of(self.learned_.outputs(rows), task.positive, honest=True) if begun else None
        with self._running(stream=True) as setting:
            self._learn(rows, task, setting)
            if recent is None:
                recent = Recent.of(self.learned_.outputs(rows), task.positive, honest=False)
            else:
                recent = self.recent_.then(recent)
            self._cut(recent, "later rows" if recent.honest else "learned from")
        return self

    # -- predictions ---------------------------------------------------------------------------------------------

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Scores, shifted so that `predict` calls positive what is above zero."""
        return self._scores(X) - self.threshold_

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The class of each row, by the threshold."""
        above = self.decision_function(X) > 0
        return self.classes_[above.astype(int)]

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Calibrated probabilities of both classes, of shape (n_rows, 2)."""
        scores = self._scores(X)
        positive = self.calibration_(scores)
        return np.stack([1 - positive, positive], axis=1)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Area under the ROC curve: the share of pairs of rows of both classes that are in the right order."""
        check_is_fitted(self, "learned_")
        rows, labels = checked_data(self, X, y)
        return share_in_order(self.learned_.outputs(rows), positive_rows(labels, self.classes_))

    @property
    def coef_(self) -> np.ndarray:
        check_is_fitted(self, "learned_")
        return self._weights()[None, :]

    @property
    def intercept_(self) -> np.ndarray:
        check_is_fitted(self, "learned_")
        level = 0.0 if is_network(self.model) else self.learned_.level(self.learned_.w)
        return np.array([-self.threshold_ - level])

    # -- threshold and calibration -------------------------------------------------------------------------------

    def _cut(self, recent: Recent, where: str) -> None:
        """Find threshold and calibration."""
        self.recent_ = recent
        rows = recent.scored()
        self.calibration_ = calibrate(rows, self.calibration)
        if isinstance(self.threshold, str):
            self.threshold_ = choose_threshold(rows, self.threshold, self.calibration_)
        else:
            self.threshold_ = float(self.threshold)
        self.result_ = replace(self.result_, details={**self.result_.details, "calibrated_on": where})

    def _held_out(self, X: Any, features: Any, task: TwoClassTask, setting: Setting) -> Recent | None:
        """Return held-out scores, of models that have not seen the rows; None without time or with too few rows."""
        splits = self._splits(task)
        left, spent = setting.run.seconds_left, self.result_.seconds
        stopped = self.result_.stop_reason in ("callback", "interrupted")
        if not splits or stopped or (left is not None and left < len(splits) * spent):
            return None
        scores = np.full(len(task.positive), np.nan)
        setting.run.enter("finding the threshold", len(splits))
        for number, held in enumerate(splits):
            rng = np.random.default_rng([self.learned_.seed, self.learned_.chunks, number])
            part = TwoClassTask(task.positive, ~held)
            begun = replace(self.learned_, row_map=self._other_map(), state=State(), chunks=0)
            state, result = self._state(begun, features, part, setting, rng)
            scores[held] = replace(begun, state=state).outputs(X[held])
            if result is not None and result.stop_reason == "interrupted":
                break
        known = ~np.isnan(scores)
        return Recent.of(scores[known], task.positive[known], honest=True)

    def _other_map(self) -> Any:
        """The features of the model; of a network, one that has learned nothing."""
        row_map = self.learned_.row_map
        return FittedNetwork(self.model, False, row_map.between) if is_network(self.model) else row_map

    def _splits(self, task: TwoClassTask) -> list[np.ndarray]:
        """Masks of the rows that each split holds out, the same share of either class, no row twice."""
        sides = [np.flatnonzero(side) for side in (task.positive, ~task.positive)]
        rarer = min(map(len, sides))
        if self.held_out == 0 or rarer < 2:
            return []
        parts = min(max(round(1 / self.held_out), 2), rarer)
        wanted = min(int(np.ceil(_ENOUGH * parts / rarer)), parts)
        rng = np.random.default_rng([self.learned_.seed, 2**33])
        part_of = np.empty(len(task.positive), int)
        for rows in sides:
            part_of[rng.permutation(rows)] = np.arange(len(rows)) % parts
        return [part_of == number for number in range(wanted)]

    def _check_loaded(self) -> None:
        check_classes(self.classes_)
        need(not self.learned_.is_metric, "learned_ is a distance, not scores")

    def _check(self) -> None:
        given = self.threshold
        if not (
            given in CRITERIA if isinstance(given, str) else isinstance(given, Real) and np.isfinite(given)
        ):
            raise InputError(
                f"must be one of {', '.join(CRITERIA)} or a number, not {given!r}", parameter="threshold"
            )
        if self.calibration not in CALIBRATIONS:
            raise InputError(
                f"must be one of {', '.join(CALIBRATIONS)}, not {self.calibration!r}", parameter="calibration"
            )
        if not isinstance(self.held_out, Real) or not 0 <= self.held_out < 1:
            raise InputError(
                f"must be a number from 0 to below 1, not {self.held_out!r}", parameter="held_out"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
