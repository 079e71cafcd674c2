"""What a model of users, items and tags in one space can be asked."""

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
from nearer.coembedding.post_rows import UNKNOWN, as_posts, checked_features, numbers_of
from nearer.coembedding.post_terms import LIST, list_f1
from nearer.errors import InputError, Place
from nearer.interactions import Posts
from nearer.interactions.lists import Recommended, best_of


class TagModel(BaseEstimator):
    """Lists of tags, scores and points."""

    user_embedding_: np.ndarray
    item_embedding_: np.ndarray
    tag_embedding_: np.ndarray
    user_factor_: np.ndarray | None
    item_factor_: np.ndarray | None
    tag_factor_: np.ndarray | None
    user_names_: tuple[str, ...] | None
    item_names_: tuple[str, ...] | None
    tag_names_: tuple[str, ...] | None
    user_counts_: np.ndarray
    item_counts_: np.ndarray
    tag_counts_: np.ndarray
    rows_: np.ndarray

    def recommend(
        self,
        users: ArrayLike | None,
        items: ArrayLike | None,
        k: int = LIST,
        *,
        exclude_seen: bool = False,
        names: bool = False,
        user_features: Any = None,
        item_features: Any = None,
    ) -> Recommended:
        """Return the nearest tags for pairs of a user and an item.

        Parameters
        ----------
        users, items : array (n,), one name or number, or None
            One of each per list; a single one goes with all of the others. What the model does not know, including
            None and -1, is left out of the distance; if it knows neither, the most frequent tags are returned.
        k : int
            Length of each list.
        exclude_seen : bool
            Leave out tags that the fit has seen with the same user and item.
        names : bool
            Return names instead of indices.
        user_features, item_features : array or sparse matrix, optional
            Features of other users or items than those of the fit; `users` or `items` are then their rows.
        """
        check_is_fitted(self)
        whole("k", k)
        of_users, of_items, points = self._asked(users, items, user_features, item_features)
        of_fit = user_features is None and item_features is None
        found = []
        for block, scores in self._score_blocks(of_users, of_items, points):
            if exclude_seen and of_fit:
                self._leave_out_seen(scores, of_users[block], of_items[block])
            found.append(best_of(scores, k))
        parts = [np.concatenate(part) for part in zip(*found, strict=True)] or [np.empty((0, k), int)] * 2
        best = Recommended(*parts)
        return best.named(self.tag_names_, len(self.tag_embedding_)) if names else best

    def predict_scores(
        self,
        users: ArrayLike | None,
        items: ArrayLike | None,
        *,
        user_features: Any = None,
        item_features: Any = None,
    ) -> np.ndarray:
        """Return the scores of all tags (n, n_tags) for pairs of a user and an item; higher is better.

        A score is minus the sum of the squared distances of the tag from the user and from the item, or from the one
        that is known. If neither is, it is the share of posts that have the tag. Tags of no post score -inf, unless
        tags have features.

        Parameters
        ----------
        users, items, user_features, item_features
            As in `recommend`.
        """
        check_is_fitted(self)
        asked = self._asked(users, items, user_features, item_features)
        found = [scores for _, scores in self._score_blocks(*asked)]
        return np.vstack([np.empty((0, len(self.tag_embedding_))), *found])

    def decision_function(self, posts: Any) -> np.ndarray:
        """Return the score of each row of user, item and tag (n,), as in `predict_scores`.

        Parameters
        ----------
        posts : array (n, 3) or Posts
            Users, items and tags, by name or number.
        """
        check_is_fitted(self)
        if isinstance(posts, Posts):
            columns = [posts.users, posts.items, posts.tags]
            columns = [map_[codes] for map_, codes in zip(self._maps(posts), columns, strict=True)]
        else:
            rows = np.asarray(posts)
            if rows.ndim != 2 or rows.shape[1] != 3:
                raise InputError(f"must have the shape (n, 3), not {rows.shape}", parameter="posts")
            columns = [self._numbers(column, side) for column, side in zip(rows.T, _SIDES, strict=True)]
        users, items, tags = columns
        if (tags == UNKNOWN).any():
            row = int(np.argmax(tags == UNKNOWN))
            raise InputError("the tag is not known", "give tags of the fit", place=Place(row=row))
        points = (self.user_embedding_, self.item_embedding_), self._known()
        found = np.empty(len(tags))
        for block, scores in self._score_blocks(users, items, points):
            found[block] = scores[np.arange(len(scores)), tags[block]]
        return found

    def score(self, posts: Any, y: None = None, k: int = LIST) -> float:
        """Return the F1 of mean precision and mean recall of lists of k tags, as in the challenge of the paper.

        Parameters
        ----------
        posts : Posts, frame or array (q, 3)
            Posts that were held out. A tag that the model does not know counts as missed.
        y : None
        k : int
            Length of the lists.
        """
        check_is_fitted(self)
        whole("k", k)
        given = as_posts(posts)
        if not given.n_posts:
            raise InputError("hold no post", "give at least one", parameter="posts")
        users, items, tags = self._maps(given)
        pairs, held, of_tag = given.pairs, given.csr().tocoo(), tags[: given.shape[2]]
        known = of_tag[held.col] != UNKNOWN
        shape = given.n_posts, len(self.tag_embedding_)
        wanted = sparse.csr_matrix(
            (held.data[known], (held.row[known], of_tag[held.col[known]])), shape=shape
        )
        lost = np.bincount(held.row[~known], minlength=given.n_posts)
        lists = self.recommend(users[pairs[:, 0]], items[pairs[:, 1]], k).items
        return list_f1(lists, wanted, given.post_weights(), lost)

    # -- inside -------------------------------------------------------------------------------------------------

    def _numbers(self, given: Any, side: str) -> np.ndarray:
        count = len(getattr(self, f"{side}_embedding_"))
        return numbers_of(given, getattr(self, f"{side}_names_"), count, side)

    def _maps(self, posts: Posts) -> list[np.ndarray]:
        """Return, for users, items and tags of other posts, their numbers in this model."""
        found = []
        for side, count in zip(_SIDES, posts.shape, strict=True):
            names, known = getattr(posts, f"{side}_names"), getattr(self, f"{side}_names_")
            if (names is None) != (known is None) and count:
                kinds = ("numbers", "names") if names is None else ("names", "numbers")
                raise InputError(
                    f"have {kinds[0]} of {side}s, but the model knows their {kinds[1]}: give the same",
                    parameter="posts",
                )
            found.append(self._numbers(np.arange(count) if names is None else np.array(names), side))
        return found

    def _known(self) -> tuple[np.ndarray, np.ndarray]:
        """Return which users and items have a place: those with posts, or with features."""
        return (
            np.append((self.user_counts_ > 0) | (self.user_factor_ is not None), False),
            np.append((self.item_counts_ > 0) | (self.item_factor_ is not None), False),
        )

    def _asked(self, users: Any, items: Any, user_features: Any, item_features: Any) -> tuple[Any, Any, Any]:
        """Return numbers of users and items, as many of each, and the points and flags that they are numbers of."""
        given = {"user": (users, user_features), "item": (items, item_features)}
        numbers, points, known = [], [], []
        for (side, (which, features)), here in zip(given.items(), self._known(), strict=True):
            if features is None:
                numbers.append(self._numbers(which, side))
                points.append(getattr(self, f"{side}_embedding_"))
                known.append(here)
                continue
            points.append(self._placed(features, side))
            count = len(points[-1])
            numbers.append(np.arange(count) if which is None else numbers_of(which, None, count, side))
            known.append(np.append(np.ones(count, bool), False))
        if len(numbers[0]) != len(numbers[1]) and 1 not in map(len, numbers):
            raise InputError(
                f"has {len(numbers[1])} entries, but users has {len(numbers[0])}: give one of each per list",
                parameter="items",
            )
        both = np.broadcast_arrays(*numbers)
        return both[0], both[1], (tuple(points), tuple(known))

    @one_thread()
    def _placed(self, features: Any, side: str) -> np.ndarray:
        factor = getattr(self, f"{side}_factor_")
        if factor is None:
            raise InputError(
                f"are given, but the model was fitted without: fit again with {side}_features",
                parameter=f"{side}_features",
            )
        found = checked_features(features, side, None)
        if found.shape[1] != len(factor):
            raise InputError(
                f"have {found.shape[1]} columns, but those of the fit had {len(factor)}: give the same features",
                parameter=f"{side}_features",
            )
        return np.asarray(found @ factor)

    def _score_blocks(
        self, users: np.ndarray, items: np.ndarray, points: Any
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield scores of all tags for some pairs at a time."""
        (of_users, of_items), (user_known, item_known) = points
        V, d = self.tag_embedding_, self.tag_embedding_.shape[1]
        lengths, shares = np.einsum("ij,ij->i", V, V), self.tag_counts_ / max(self.n_posts_, 1e-300)
        of_users, of_items = (np.vstack([part, np.zeros((1, d))]) for part in (of_users, of_items))
        never = (self.tag_counts_ == 0) & (self.tag_factor_ is None)
        for block in row_blocks(len(users), len(V)):
            u, i = users[block], items[block]
            sides = np.stack([user_known[u], item_known[i]])
            left, right = of_users[u] * sides[0][:, None], of_items[i] * sides[1][:, None]
            known = sides.sum(axis=0)
            scores = (left + right) @ (2 * V.T) - known[:, None] * lengths
            scores -= (np.einsum("ij,ij->i", left, left) + np.einsum("ij,ij->i", right, right))[:, None]
            scores[known == 0] = shares
            scores[:, never] = -np.inf
            yield block, scores

    def _leave_out_seen(self, scores: np.ndarray, users: np.ndarray, items: np.ndarray) -> None:
        n_items = max(len(self.item_embedding_), 1)
        seen = self.rows_[:, 0].astype(np.int64) * n_items + self.rows_[:, 1]
        keys = np.where((users >= 0) & (items >= 0), users * n_items + items, -1)
        first, last = np.searchsorted(seen, keys), np.searchsorted(seen, keys, side="right")
        for row, (start, end) in enumerate(zip(first, last, strict=True)):
            scores[row, self.rows_[start:end, 2]] = -np.inf


_SIDES = ("user", "item", "tag")
