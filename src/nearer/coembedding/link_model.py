"""What a model of links can be asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nearer._utils.arrays import row_blocks
from nearer._utils.runtime import one_thread
from nearer._utils.validation import whole
from nearer.coembedding.link_rows import read_links
from nearer.coembedding.link_terms import RULES
from nearer.coembedding.post_rows import checked_features
from nearer.coembedding.rows import Preparation
from nearer.errors import InputError, Place, Suggestion
from nearer.interactions import Interactions
from nearer.interactions.lists import Excluded, Recommended, largest, top_lists
from nearer.interactions.named import numbers_of
from nearer.interactions.recommending import SIDES, Recommending
from nearer.pairwise.thresholds import Sigmoid

#: rounding errors of decisions, as a share of the largest squared length of a point
_ROUNDING = 1e-12


class LinkModel(Recommending, BaseEstimator):
    """Decisions about pairs, probabilities, recommendations and points."""

    graph_: str
    rule_: str
    offset_: float
    left_threshold_: np.ndarray
    right_threshold_: np.ndarray
    left_factor_: np.ndarray | None
    right_factor_: np.ndarray | None
    left_preparation_: Preparation | None
    right_preparation_: Preparation | None
    calibration_: Sigmoid | None

    def decision_function(self, pairs: Any, left: Any = None, right: Any = None) -> np.ndarray:
        """Return by how much each pair is nearer than its thresholds, by the rule: links are predicted above 0.

        Parameters
        ----------
        pairs : array (q, 2) or Interactions
            A left and a right object each, by index or name.
        left, right : arrays or sparse matrices, optional
            Features of other objects than those of the fit; the first or the second column of `pairs` then holds
            their rows. Within one set, too, `left` belongs to the first column, `right` to the second.
        """
        check_is_fitted(self)
        points = self._points(left, 0), self._points(right, 1)
        numbers = self._numbers(pairs, (left, right), points)
        radii = self._radii(points[0], 0), self._radii(points[1], 1)
        found = np.empty(len(numbers))
        for block in row_blocks(len(numbers), 2 * points[0].shape[1]):
            i, j = numbers[block].T
            away = points[0][i] - points[1][j]
            found[block] = (
                RULES[self.rule_](radii[0][i], radii[1][j]) + self.offset_ - np.einsum("ij,ij->i", away, away)
            )
        return found

    def predict(self, pairs: Any, left: Any = None, right: Any = None) -> np.ndarray:
        """Return whether each pair is predicted to be linked (q,): whether it is nearer than its thresholds.

        Parameters
        ----------
        pairs, left, right
            As in `decision_function`.
        """
        return self.decision_function(pairs, left, right) > 0

    def predict_proba(self, pairs: Any, left: Any = None, right: Any = None) -> np.ndarray:
        """Return the probability that each pair is linked (q,), as calibrated on held-out pairs.

        It is about pairs that the fit has not seen, drawn from all pairs, of which few are links: most pairs that
        `predict` calls links have a probability below one half if links are rare.

        Parameters
        ----------
        pairs, left, right
            As in `decision_function`.
        """
        found = self.decision_function(pairs, left, right)
        if self.calibration_ is None:
            raise InputError(
                "the fit held out no pairs to calibrate probabilities on",
                ["fit more links", Suggestion("cv", 5)],
            )
        return self.calibration_(found)

    def score(self, R: Any, y: ArrayLike | None = None) -> float:
        """Return the area under the ROC curve: how often a link is nearer to its thresholds than another pair.

        Parameters
        ----------
        R : Interactions or sparse matrix, or array (q, 2) with `y`
            Held-out links. They are compared with all pairs that are links neither here nor in the fit.
        y : array (q,), optional
            Which rows of `R` are links. These are then compared with the others among them.
        """
        check_is_fitted(self)
        if y is not None:
            return self._score_of_pairs(R, y)
        linked, above, equal, others = self._against_others(R)
        return float((others - above - equal / 2).sum() / (len(linked) * others))

    def average_precision(self, R: Any) -> float:
        """Return the average precision of held-out links in the list of all pairs that are no links of the fit.

        It is the mean, over these links, of the share of links among the pairs that are as near or nearer.

        Parameters
        ----------
        R : Interactions or sparse matrix
            Held-out links.
        """
        check_is_fitted(self)
        linked, above, equal, _ = self._against_others(R)
        found = len(linked) - np.searchsorted(linked, linked - self._rounding())
        return float(np.mean(found / (found + above + equal)))

    def recommend(
        self,
        rows: ArrayLike | None = None,
        k: int = 10,
        exclude_seen: bool = True,
        names: bool = False,
        left: Any = None,
    ) -> Recommended:
        """Return the right objects that each left object is the likeliest to be linked to.

        Scores are those of `decision_function`. Within one set, no object is recommended to itself.

        Parameters
        ----------
        rows : array, optional
            Left objects, by index or name; all by default.
        k : int
            Length of each list.
        exclude_seen : bool
            Leave out the links of the fit.
        names : bool
            Return names instead of indices.
        left : array or sparse matrix, optional
            Features of other left objects than those of the fit; `rows` are then their rows.
        """
        if left is None:
            return super().recommend(rows, k, exclude_seen, names)
        check_is_fitted(self)
        whole("k", k)
        points = self._points(left, 0)
        at = np.arange(len(points)) if rows is None else numbers_of(rows, None, len(points), "left")
        return self._named(self._lists(points[at], k, None), names)

    def embed_left(self, features: Any = None) -> np.ndarray:
        """Return the points of the left objects of the fit, or of others by their features.

        Parameters
        ----------
        features : array or sparse matrix, optional
            A row for each.
        """
        check_is_fitted(self)
        return self._points(features, 0, "features")

    def embed_right(self, features: Any = None) -> np.ndarray:
        """Return the points of the right objects of the fit, or of others; see `embed_left`."""
        check_is_fitted(self)
        return self._points(features, 1, "features")

    # -- inside -------------------------------------------------------------------------------------------------

    def _against_others(self, R: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Return the decisions about held-out links, rising, and how many other pairs are above, equal, and at all."""
        held = read_links(R, self.graph_)
        matrix = held.seen.matched((self.left_names_, self.right_names_), self._shape)
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        linked = np.sort(self.decision_function(np.stack([rows, matrix.indices], axis=1)))
        # other pairs by how many links are below them, and by how many are below or equal
        below, not_above = np.zeros((2, len(linked) + 1), np.int64)
        rounding = self._rounding()
        known = sparse.csr_matrix(matrix + self._no_candidates(np.arange(self._shape[0])))
        for block, decisions in self._decision_blocks(self.left_embedding_):
            rest = np.ones(decisions.shape, bool)
            rest[known[block].nonzero()] = False
            scores = decisions[rest]
            below += np.bincount(np.searchsorted(linked, scores - rounding), minlength=len(below))
            not_above += np.bincount(
                np.searchsorted(linked, scores + rounding, "right"), minlength=len(below)
            )
        others = int(below.sum())
        if not others:
            raise InputError("leaves no pair without a link", "hold out fewer links", parameter="R")
        above, at_least = (others - np.cumsum(counts)[:-1] for counts in (below, not_above))
        return linked, above, at_least - above, others

    def _rounding(self) -> float:
        """Return by how much decisions about pairs of equal points may differ, as products add up in another order."""
        places = self.left_embedding_, self.right_embedding_, self.left_threshold_, self.right_threshold_
        return _ROUNDING * max(float(np.square(X).sum(axis=-1).max(initial=0)) for X in places)

    def _score_of_pairs(self, pairs: Any, y: ArrayLike) -> float:
        from sklearn.metrics import roc_auc_score

        decisions, links = self.decision_function(pairs), np.asarray(y)
        if links.shape != decisions.shape or not np.isin(links, (0, 1)).all():
            raise InputError(
                f"must have a one for each link and a zero for each other pair, for {len(decisions)} pairs",
                parameter="y",
            )
        if links.all() or not links.any():
            raise InputError("must have both links and other pairs", parameter="y")
        return float(roc_auc_score(links.astype(bool), decisions))

    @one_thread()
    def _points(self, features: Any, side: int, parameter: str | None = None) -> np.ndarray:
        """Return points of the objects of the fit, or of others by their features."""
        name = SIDES[side]
        if features is None:
            return getattr(self, f"{name}_embedding_")
        factor, preparation = getattr(self, f"{name}_factor_"), getattr(self, f"{name}_preparation_")
        parameter = parameter or name
        if factor is None:
            raise InputError(
                f"are given, but the fit had no features of {name} objects: fit again with them",
                parameter=parameter,
            )
        found = checked_features(features, "object", None, parameter)
        expected = len(factor) - (self.graph_ != "undirected")
        if found.shape[1] != expected:
            raise InputError(
                f"have {found.shape[1]} columns, but those of the fit had {expected}: give the same features",
                parameter=parameter,
            )
        return np.asarray(described(found, preparation, self.graph_) @ factor)

    def _numbers(self, pairs: Any, features: tuple[Any, Any], points: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return pairs by the numbers of their objects."""
        if isinstance(pairs, Interactions):
            columns = [
                codes if names is None else np.array(names)[codes]
                for codes, names in (
                    (pairs.left, pairs.left_names),
                    (pairs.right, pairs.right_names),
                )
            ]
        else:
            given = np.asarray(pairs)
            if given.ndim != 2 or given.shape[1] != 2:
                raise InputError(f"must have the shape (q, 2), not {given.shape}", parameter="pairs")
            columns = [np.array(column.tolist()) if len(column) else np.zeros(0, int) for column in given.T]
        numbers = [
            self._rows(column, side, "pairs")
            if features[side] is None
            else numbers_of(column, None, len(points[side]), SIDES[side], "pairs")
            for side, column in enumerate(columns)
        ]
        found = np.stack(numbers, axis=1)
        same = found[:, 0] == found[:, 1]
        of_fit = features[0] is None and features[1] is None
        if self.graph_ != "bipartite" and of_fit and same.any():
            raise InputError(
                "an object is paired with itself",
                "leave such pairs out: they are never links",
                parameter="pairs",
                place=Place(row=int(np.argmax(same))),
            )
        return found

    def _radii(self, points: np.ndarray, side: int) -> np.ndarray:
        """Return the squared distances of objects from the threshold of their side."""
        away = points - (self.left_threshold_, self.right_threshold_)[side]
        return np.einsum("ij,ij->i", away, away)

    def _decision_blocks(self, points: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield decisions about some left objects with all right ones at a time."""
        for block in row_blocks(len(points), len(self.right_embedding_)):
            yield block, self._decisions(points[block])

    @one_thread()
    def _decisions(self, points: np.ndarray) -> np.ndarray:
        V = self.right_embedding_
        distances = np.einsum("ij,ij->i", points, points)[:, None] + np.einsum("ij,ij->i", V, V)
        distances -= points @ (2 * V.T)
        return RULES[self.rule_](self._radii(points, 0)[:, None], self._radii(V, 1)) + (
            self.offset_ - distances
        )

    def _top(self, rows: np.ndarray, k: int, seen: sparse.csr_matrix | None) -> Recommended:
        return self._lists(self.left_embedding_[rows], k, self._itself(rows) if seen is None else seen)

    def _lists(self, points: np.ndarray, k: int, left_out: sparse.csr_matrix | None) -> Recommended:
        def best(at: slice, excluded: Excluded, k: int) -> tuple[np.ndarray, np.ndarray]:
            return largest(self._decisions(points[at]), excluded, k)

        return top_lists(best, (len(points), self._shape[1]), k, left_out)

    def _excluded(self, rows: np.ndarray) -> sparse.csr_matrix:
        return self._no_candidates(rows)

    def _no_candidates(self, rows: np.ndarray) -> sparse.csr_matrix:
        """Return the links of the fit of some left objects, and within one set these objects themselves."""
        return sparse.csr_matrix(self._seen_matrix()[rows] + self._itself(rows))

    def _itself(self, rows: np.ndarray) -> sparse.csr_matrix:
        count = 0 if self.graph_ == "bipartite" else len(rows)
        place = np.arange(count), rows[:count]
        return sparse.csr_matrix((np.ones(count), place), shape=(len(rows), self._shape[1]))


def described(features: Any, preparation: Preparation | None, graph: str) -> Any:
    """Return prepared features; those of two sides get a column of ones, so that either side has a place of its own."""
    rows = features if preparation is None else preparation(features)
    if graph == "undirected":
        return rows
    ones = np.ones((rows.shape[0], 1))
    if sparse.issparse(rows):
        return sparse.hstack([rows, sparse.csr_matrix(ones)], format="csr")
    return np.hstack([rows, ones])
