"""Exact search for the nearest labelled points, block by block, for the retrieval metrics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from nearer._utils.arrays import checked_points, fitted_to_squares, row_blocks
from nearer._utils.validation import whole
from nearer.errors import InputError


def label_codes(*labels: ArrayLike) -> list[np.ndarray]:
    """Return each array of labels as integers 0, 1, ...; equal labels get equal integers, also across arrays."""
    arrays = [np.asarray(some) for some in labels]
    for some in arrays:
        if some.ndim != 1 or not len(some):
            raise InputError(
                f"must be one label for every object, not an array of shape {some.shape}", parameter="labels"
            )
        missing = np.array([label is None or label != label for label in some])
        if missing.any():
            raise InputError(f"labels[{missing.argmax()}] is missing: label every object or leave it out")
    codes = np.unique(np.concatenate(arrays), return_inverse=True)[1]
    return np.split(codes, np.cumsum([len(some) for some in arrays])[:-1])


class Search:
    """The nearest points of every query, found block by block."""

    def __init__(
        self,
        queries: ArrayLike,
        database: ArrayLike | None,
        query_labels: ArrayLike,
        database_labels: ArrayLike | None,
        k: int | None,
    ) -> None:
        self.leave_one_out = database is None
        if (database is None) != (database_labels is None):
            raise InputError(
                "give database and database_labels together, or neither to search among the queries"
            )
        self.queries = checked_points(queries, "queries")
        self.database = self.queries if database is None else checked_points(database, "database")
        if self.queries.shape[1] != self.database.shape[1]:
            raise InputError(
                f"queries have {self.queries.shape[1]} columns but the database has "
                f"{self.database.shape[1]}: use points of one embedding"
            )
        self.query_classes, self.database_classes = self._classes(query_labels, database_labels)
        self.k = self._checked_k(k)

    def _classes(
        self, query_labels: ArrayLike, database_labels: ArrayLike | None
    ) -> tuple[np.ndarray, np.ndarray]:
        given = [query_labels] if database_labels is None else [query_labels, database_labels]
        classes = label_codes(*given)
        for name, points, codes in zip(
            ("queries", "database"), (self.queries, self.database), classes, strict=False
        ):
            if len(points) != len(codes):
                raise InputError(
                    f"{name} has {len(points)} points but {len(codes)} labels: give one for each"
                )
        return classes[0], classes[-1]

    def _checked_k(self, k: int | None) -> int:
        n_candidates = len(self.database) - self.leave_one_out
        if k is None:
            k = n_candidates
        whole("k", k)
        if k > n_candidates:
            raise InputError(
                f"is {k}, but there are only {n_candidates} points to retrieve",
                "use a smaller one",
                parameter="k",
            )
        return k

    def ranked(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield blocks of queries with the indices of their k nearest points, nearest first, ties by index."""
        from scipy.spatial.distance import cdist

        queries, database = fitted_to_squares(self.queries, self.database)
        for block in row_blocks(len(queries), len(database)):
            # differences, not |a|² - 2ab + |b|²: points that coincide must tie exactly
            distances = cdist(queries[block], database, "sqeuclidean")
            if self.leave_one_out:
                distances[np.arange(len(distances)), np.arange(block.start, block.stop)] = np.inf
            yield block, _smallest(distances, self.k)

    def ranked_relevance(self, only_answerable: bool = False) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield blocks of (is the point at each rank relevant, number of relevant points in the database)."""
        n_classes = max(int(self.query_classes.max()), int(self.database_classes.max())) + 1
        totals = np.bincount(self.database_classes, minlength=n_classes) - self.leave_one_out
        for block, neighbours in self.ranked():
            wanted = self.query_classes[block]
            relevant, total = self.database_classes[neighbours] == wanted[:, None], totals[wanted]
            yield (relevant[total > 0], total[total > 0]) if only_answerable else (relevant, total)


def _smallest(distances: np.ndarray, k: int) -> np.ndarray:
    """Return the columns of the k smallest numbers per row in ascending order, ties by column."""
    if k == distances.shape[1]:
        return np.argsort(distances, axis=1, kind="stable")
    limit = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    below, tied = distances < limit, distances == limit
    room = k - below.sum(axis=1, keepdims=True)
    columns = np.nonzero(below | (tied & (np.cumsum(tied, axis=1) <= room)))[1].reshape(-1, k)
    order = np.argsort(np.take_along_axis(distances, columns, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)
