"""Scores, rankings and distances learned from pairs of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import TransformerTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nearer._utils.runtime import one_thread
from nearer._utils.schema import Integer, MayLack, Saved, Text, need, optional
from nearer._utils.validation import RandomState, whole
from nearer.errors import InputError
from nearer.losses.margins import MarginLoss
from nearer.objectives.metric_pairs import components_of
from nearer.objectives.pair_sources import Asked, OwnPairs
from nearer.pairwise._model import CLASSES, FITTED, PARAMS, PairwiseModel, check_classes, goes_on
from nearer.pairwise._output import Output
from nearer.pairwise.inputs import (
    binary_classes,
    checked_data,
    checked_grades,
    checked_groups,
    checked_rows,
    classes_of_stream,
    positive_rows,
)
from nearer.pairwise.maps import Rows, features_of
from nearer.pairwise.networks import FittedNetwork
from nearer.pairwise.scoring import nearness_auc, share_in_order
from nearer.pairwise.tasks import AlikeTask, GradedTask, OwnTask, Task, TwoClassTask

_PAIRS = ("auc", "ranking", "metric")
#: pairs of a user's function that a score is taken over
_SCORED = 10_000


def _is_metric(learner: Any) -> bool:
    return learner.pair == "metric"


def _is_scores(learner: Any) -> bool:
    return learner.pair != "metric"


class PairwiseLearner(PairwiseModel):
    """Learn from pairs of rows at the cost of single rows: scores, rankings within groups, or a distance.

    Parameters
    ----------
    loss : str or MarginLoss
        Of a pair's margin, which should be 1 or more: "hinge", "square", "squared-hinge", "smooth-hinge" or "logistic".
        The margin is the difference of two scores, or by how much a distance is on the right side of a threshold.
    pair : {"auc", "ranking", "metric"} or callable
        Which rows make pairs. "auc": a row of the second of two classes should score higher than one of the first.
        "ranking": within a group, a row of a higher grade should score higher. "metric": rows of one label should
        be nearer to each other than rows of two. A function `pair(y, groups, rng, count)` returns an array (count, 2)
        of row numbers, the first of each should score higher.
    model : "linear", "rff", RandomFourier, transformer, list of these, torch.nn.Module or Network
        What is learned. "rff" is linear in random Fourier features of a Gaussian kernel; a transformer of
        scikit-learn makes other features. A list is several kernels, whose weights are learned as well
        (`kernel_weights_`). A torch module returns scores, or an embedding for "metric".
    solver : {"adadsg", "dsgd", "olp", "opauc", "solam", "exact"} or solver object
        "olp", "opauc" and "solam" are for "auc"; "opauc" and "solam" for the square loss; "exact" for "auc" and
        "ranking". With metrics, functions and networks: "adadsg" or "dsgd".
    regularization : float
        c in the L2 term `c / sqrt(rows) / 2 * |weights|²` of the objective. Weights are those of columns of size 1
        or, where most numbers are 0, of rows whose usual length is 1, unless `scale=False`.
    scale : "auto" or bool
        Whether each column is divided by the size of its numbers before learning: columns in larger units would
        drown the others. "auto": in a table of measurements always; where most numbers equal their column's median,
        as in texts and flags, if the largest size is over 20 times as large as a quarter of them. `coef_` is in the
        units of the rows. In a stream the first chunk decides. Transformers and networks get rows as they are.
    n_components : int, optional
        Dimensions of a learned distance with `pair="metric"`; by default as many as there are features, but at most 32.
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
    coef_ : array (n_features,)
        Weights of linear scores; with "rff" and the like, of the features that these make.
    components_ : array (n_components, n_features)
        With "metric": L; the squared distance of two rows is |L (x - x')|².
    threshold_ : float
        With "metric": the squared distance below which two rows are taken to belong together.
    kernel_weights_ : array
        With a list of kernels: the weight of each; they sum to 1.
    classes_ : array (2,)
        With "auc"; the second one should score higher.
    result_ : nearer.solvers.Result
        The history; its objective is the mean loss of the pairs met in the last stage, or with "exact" the minimum.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 4))
    >>> relevance = (X[:, 0] + 0.3 * rng.normal(size=500) > 0.5).astype(int) + (X[:, 0] > 1.5)
    >>> queries = np.repeat(np.arange(50), 10)
    >>> ranker = PairwiseLearner(pair="ranking", random_state=0).fit(X, relevance, groups=queries)
    >>> ranker.score(X, relevance, groups=queries) > 0.9
    True
    """

    _schema = Saved(
        params={**PARAMS, "pair": Text(), "n_components": optional(Integer(1, 10**6))},
        fitted={**FITTED, "classes_": MayLack(CLASSES)},
    )

    def __init__(
        self,
        loss: str | MarginLoss = "hinge",
        *,
        pair: str | OwnPairs = "auc",
        model: Any = "linear",
        solver: Any = "adadsg",
        regularization: float = 0.01,
        scale: bool | str = "auto",
        n_components: int | None = None,
        max_seconds: float | None = None,
        random_state: RandomState = None,
        verbose: bool = False,
        callback: Any = None,
    ):
        self.loss = loss
        self.pair = pair
        self.model = model
        self.solver = solver
        self.regularization = regularization
        self.scale = scale
        self.n_components = n_components
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @one_thread()
    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> PairwiseLearner:
        """Learn from all rows at once.

        Parameters
        ----------
        X : array or CSR matrix (n_rows, n_features)
            The rows.
        y : array (n_rows,)
            Two classes for "auc", grades for "ranking", labels for "metric", anything for a function.
        groups : array (n_rows,), optional
            With "ranking", and for a function: only rows of one group make pairs. Groups in which all grades are
            equal are ignored; `result_.details["groups_without_pairs"]` counts them.
        """
        self._check()
        rows, labels = checked_data(self, X, y, reset=True, learned=True)
        if self.pair == "auc":
            self.classes_ = binary_classes(labels)
        task = self._task(labels, groups)
        if not task.has_pairs():
            raise InputError(self._why_no_pairs(groups, task.n_rows))
        with self._running(stream=False) as setting:
            self._learn(rows, task, setting)
        return self

    @available_if(goes_on)
    @one_thread()
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> PairwiseLearner:
        """Learn from a chunk of rows, and continue from the chunks before.

        Pairs of two classes also reach back: the solvers keep some rows of either. Other pairs are those within a
        chunk, so that a group must not be split between chunks. Features that depend on data ("rff" with
        `gamma="scale"`, transformers, weights of kernels) are found from the first chunk.

        Parameters
        ----------
        X, y, groups
            As in `fit`.
        classes : array (2,), optional
            With "auc": both classes, where the first chunk may hold only one of them.
        """
        self._check()
        begun = hasattr(self, "learned_")
        rows, labels = checked_data(self, X, y, reset=not begun, learned=True)
        if self.pair == "auc":
            self.classes_ = classes_of_stream(
                getattr(self, "classes_", None) if begun else None, labels, classes
            )
        task = self._task(labels, groups)
        with self._running(stream=True) as setting:
            self._learn(rows, task, setting)
        return self

    # -- scores --------------------------------------------------------------------------------------------------

    @available_if(_is_scores)
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Scores of rows, 0 at the mean row of the fit; only their differences mean something."""
        return self._scores(X)

    def score(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> float:
        """The share of pairs that are in the right order; ties count half.

        With "auc" it is the area under the ROC curve; with "ranking" it is taken over all pairs of a group; with a
        function over 10,000 pairs that it draws. With "metric" it is the area under the ROC curve by which nearness
        tells pairs of one label from pairs of two (of at most 200,000 pairs).
        """
        check_is_fitted(self, "learned_")
        rows, labels = checked_data(self, X, y)
        self._check_groups(groups)
        if self.pair == "metric":
            return nearness_auc(self._embedded(rows), labels)
        scores = self.learned_.outputs(rows)
        if callable(self.pair):
            source = Asked(self.pair, labels, checked_groups(groups, len(labels)))
            first, second = source.draw(_SCORED, np.random.default_rng(0))
            return float(np.mean((scores[first] > scores[second]) + 0.5 * (scores[first] == scores[second])))
        grades = positive_rows(labels, self.classes_) if self.pair == "auc" else checked_grades(labels)
        within = checked_groups(groups, len(labels)) if self.pair == "ranking" else None
        return share_in_order(scores, grades, within)

    @property
    def coef_(self) -> np.ndarray:
        check_is_fitted(self, "learned_")
        if self.pair == "metric":
            raise AttributeError("a distance has no coef_ but components_")
        return self._weights()

    # -- distances -----------------------------------------------------------------------------------------------

    @available_if(_is_metric)
    def transform(self, X: ArrayLike) -> Any:
        """Return rows as points whose usual distances are the learned ones: L (x - centre), or a network's embedding.

        The centre is the mean of (up to 1,000 of) the rows of the fit or of a stream's first chunk.
        """
        check_is_fitted(self, "learned_")
        points = self._embedded(checked_rows(self, X))
        output = Output(points, self.get_feature_names_out()).set_output(**self._output_settings())
        return output.transform(X)

    @available_if(_is_metric)
    def fit_transform(self, X: ArrayLike, y: ArrayLike) -> Any:
        """`fit` and `transform` in one."""
        return self.fit(X, y).transform(X)

    @available_if(_is_metric)
    def set_output(self, *, transform: str | None = None) -> PairwiseLearner:
        """Set the kind of output of `transform`: "default" (an array), "pandas" or "polars"; None changes nothing."""
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # under this name, `clone` keeps it
        return self

    @available_if(_is_metric)
    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of `transform`: "pairwiselearner0", "pairwiselearner1", ..."""
        return ClassNamePrefixFeaturesOutMixin.get_feature_names_out(self, input_features)

    @property
    def _n_features_out(self) -> int:
        row_map = self.learned_.row_map
        if isinstance(row_map, FittedNetwork):
            return int(row_map.outputs(row_map.between[:1]).shape[1])
        return len(self._factor(row_map.width))

    def _output_settings(self) -> dict[str, Any]:
        return getattr(self, "_sklearn_output_config", {})

    @available_if(_is_metric)
    def pair_distance(self, X: ArrayLike, other: ArrayLike) -> np.ndarray:
        """Squared distance of each row of X from the row of `other` at the same place; compare with `threshold_`."""
        check_is_fitted(self, "learned_")
        first, second = (self._embedded(checked_rows(self, rows)) for rows in (X, other))
        if first.shape != second.shape:
            raise InputError(
                f"X has {len(first)} rows and the other {len(second)}: give as many, row by row a pair"
            )
        return np.einsum("ij,ij->i", first - second, first - second)

    @property
    def components_(self) -> np.ndarray:
        """L of the learned distance."""
        check_is_fitted(self, "learned_")
        if self.pair != "metric" or isinstance(self.learned_.row_map, FittedNetwork):
            raise AttributeError("components_ are those of a distance that is linear in features")
        row_map = self.learned_.row_map
        L = self._factor(row_map.width)
        return row_map.for_rows(L) if isinstance(row_map, Rows) else L

    @property
    def threshold_(self) -> float:
        """The squared distance up to which rows are taken to belong together."""
        check_is_fitted(self, "learned_")
        if self.pair != "metric":
            raise AttributeError("threshold_ is that of a distance, with pair='metric'")
        return float(self.learned_.w[-1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if _is_metric(self):
            tags.transformer_tags = TransformerTags()
        return tags

    def _factor(self, width: int) -> np.ndarray:
        return components_of(self.learned_.state.numbers["unit"], self.learned_.w, width)

    def _embedded(self, rows: Any) -> np.ndarray:
        row_map = self.learned_.row_map
        if isinstance(row_map, FittedNetwork):
            return row_map.outputs(rows)
        level = self.learned_.level(self._factor(row_map.width))
        L = self.components_
        if isinstance(row_map, Rows):
            return np.asarray(rows @ L.T) - level
        features = features_of(rows, row_map, most_bytes=2**62)
        return np.asarray(features @ L.T) - level

    # -- checks --------------------------------------------------------------------------------------------------

    def _task(self, y: np.ndarray, groups: Any) -> Task:
        self._check_groups(groups)
        groups = checked_groups(groups, len(y))
        if callable(self.pair):
            return OwnTask(self.pair, y, groups)
        if self.pair == "auc":
            return TwoClassTask(positive_rows(y, self.classes_))
        if self.pair == "metric":
            return AlikeTask(y)
        return GradedTask(checked_grades(y), groups)

    def _check_groups(self, groups: Any) -> None:
        if groups is not None and isinstance(self.pair, str) and self.pair != "ranking":
            raise InputError(
                f"are for pair='ranking', but pair is {self.pair!r}: leave groups out", parameter="groups"
            )

    def _check_loaded(self) -> None:
        need(
            self.learned_.is_metric == (self.pair == "metric"),
            f"learned_ is not for pair={self.pair!r}",
        )
        need(self.pair != "auc" or hasattr(self, "classes_"), "classes_ is missing")
        if hasattr(self, "classes_"):
            check_classes(self.classes_)

    def _check(self) -> None:
        if not callable(self.pair) and self.pair not in _PAIRS:
            raise InputError(
                f"must be one of {', '.join(_PAIRS)} or a function, not {self.pair!r}", parameter="pair"
            )
        if self.n_components is not None:
            whole("n_components", self.n_components)
            if self.pair != "metric":
                raise InputError("is for pair='metric': leave it out", parameter="n_components")

    def _why_no_pairs(self, groups: Any, n_rows: int) -> str:
        if n_rows == 1:
            return "one sample makes no pairs: give at least two rows"
        if self.pair == "metric":
            return "y has no two rows of one label, or no two labels: a distance is learned from pairs of both kinds"
        if groups is None:
            return "all grades of y are equal, so that no row should score higher than another: give grades that differ"
        return "no group has rows of different grades: make larger groups, or leave groups out"
