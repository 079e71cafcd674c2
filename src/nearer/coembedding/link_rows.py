"""What `LinkPredictor` takes: links of two sets or within one, and the other pairs that they are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from nearer._utils.text import warn
from nearer.errors import InputError, InputWarning, Suggestion
from nearer.interactions.named import NamedPairs, as_pairs

GRAPHS = ("bipartite", "undirected", "directed")
#: all other pairs are used if there are no more pairs than this; otherwise a sample of this many per link
_FEW_PAIRS, _PER_LINK = 200_000, 5
#: more pairs than this are refused, for the memory that they take
_MOST_PAIRS = 20_000_000
#: all pairs are listed, and some of them drawn, if these are no smaller a share than this
_LARGE_SHARE = 0.5


@dataclass(frozen=True)
class Links:
    """Links, each once.

    Attributes
    ----------
    pairs : int array (q, 2)
        A left and a right object each; in an undirected graph, the smaller number first.
    weights : array (q,)
    shape : tuple of int
        Numbers of left and of right objects.
    seen : NamedPairs
        The links by rows and columns, with names; in an undirected graph, in both directions.
    graph : str
        One of `GRAPHS`.
    """

    pairs: np.ndarray
    weights: np.ndarray
    shape: tuple[int, int]
    seen: NamedPairs
    graph: str

    @property
    def n_pairs(self) -> int:
        """Return how many pairs there are, linked or not; nothing is paired with itself within one set."""
        n, m = self.shape
        return {"bipartite": n * m, "directed": n * (n - 1), "undirected": n * (n - 1) // 2}[self.graph]

    @property
    def n_others(self) -> int:
        """Return how many pairs are not linked."""
        return self.n_pairs - len(self.pairs)

    def others(self, negatives: int | str, rng: np.random.Generator) -> np.ndarray:
        """Return pairs without a link (k, 2), sorted: all, or some number per link, drawn at random."""
        wanted = self._wanted(negatives)
        if len(self.pairs) + wanted > _MOST_PAIRS:
            most = min(_MOST_PAIRS // len(self.pairs) - 1, _PER_LINK)
            raise InputError(
                f"makes {len(self.pairs) + wanted:,} pairs, but at most {_MOST_PAIRS:,} fit into memory",
                [Suggestion("negatives", most)] if most >= 1 else "fit a part of the links",
                parameter="negatives",
            )
        if wanted > _LARGE_SHARE * self.n_pairs:
            codes = self._without_links(self._codes_of_all())
            if wanted < len(codes):
                codes = np.sort(rng.choice(codes, wanted, replace=False))
        else:
            codes = self._drawn(wanted, rng)
        return np.stack(np.divmod(codes, self.shape[1]), axis=1)

    def _wanted(self, negatives: int | str) -> int:
        if negatives == "all" or (negatives == "auto" and self.n_pairs <= _FEW_PAIRS):
            return self.n_others
        per_link = _PER_LINK if isinstance(negatives, str) else int(negatives)
        return min(per_link * len(self.pairs), self.n_others)

    def _codes_of_all(self) -> np.ndarray:
        n, m = self.shape
        codes = np.arange(n * m)
        if self.graph == "bipartite":
            return codes
        rows, columns = np.divmod(codes, m)
        return codes[rows < columns if self.graph == "undirected" else rows != columns]

    def _without_links(self, codes: np.ndarray) -> np.ndarray:
        return np.setdiff1d(codes, self.pairs @ [self.shape[1], 1], assume_unique=True)

    def _drawn(self, wanted: int, rng: np.random.Generator) -> np.ndarray:
        """Draw pairs until there are enough different ones; few are drawn twice."""
        n, m = self.shape
        codes = np.zeros(0, np.int64)
        while len(codes) < wanted:
            rows, columns = rng.integers(n, size=2 * wanted), rng.integers(m, size=2 * wanted)
            if self.graph == "undirected":
                rows, columns = np.minimum(rows, columns), np.maximum(rows, columns)
            found = (rows * m + columns)[(rows != columns) | (self.graph == "bipartite")]
            codes = self._without_links(np.unique(np.concatenate([codes, found])))
        return np.sort(rng.choice(codes, wanted, replace=False))


def read_links(R: Any, graph: str, left: Any = None, right: Any = None) -> Links:
    """Return the links of interactions or of a sparse matrix; features help to see that a matrix is transposed."""
    given = as_pairs(R, left, right) if graph == "bipartite" else _within_one_set(R, graph)
    matrix = given.matrix
    if graph == "undirected":  # a link is one link, whether it is stored in one direction or in both
        matrix = sparse.csr_matrix(matrix.maximum(matrix.T))
        matrix.sort_indices()
        given = NamedPairs(matrix, given.names)
        matrix = sparse.csr_matrix(sparse.triu(matrix))
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    pairs = np.stack([rows, matrix.indices], axis=1).astype(np.int64)
    links = Links(pairs, matrix.data.astype(np.float64), matrix.shape, given, graph)
    _check(links)
    return links


def _check(links: Links) -> None:
    """Refuse links from which nothing can be learned."""
    if not len(links.pairs):
        raise InputError("holds no link", "give at least one", parameter="R")
    itself = links.pairs[:, 0] == links.pairs[:, 1]
    if links.graph != "bipartite" and itself.any():
        number = int(links.pairs[np.argmax(itself), 0])
        names = links.seen.names[0]
        raise InputError(
            f"links {'object ' + str(number) if names is None else repr(names[number])} with itself",
            ["leave such links out", Suggestion("graph", "bipartite", "if rows and columns are two sets")],
            parameter="R",
        )
    if not links.n_others:
        raise InputError(
            "links all pairs, so nothing tells links from other pairs",
            "give links of which some are missing",
            parameter="R",
        )


def _within_one_set(R: Any, graph: str) -> NamedPairs:
    """Return pairs of one set, whose rows and columns are the same objects in the same order."""
    found = as_pairs(R)
    (n, m), (rows, columns) = found.matrix.shape, found.names
    if (rows is None) != (columns is None):
        raise InputError(
            f"names only the {'left' if columns is None else 'right'} objects, but both sides are one set",
            "give names of both, or of none",
            parameter="R",
        )
    if rows is not None and columns is not None:
        if not set(rows) & set(columns):
            problem = f"rows and columns share no name, but graph={graph!r} takes both for the same objects"
            warn(
                InputWarning(
                    problem,
                    [Suggestion("graph", "bipartite", "if they are two sets, such as users and items")],
                )
            )
        names = rows if rows == columns else tuple(sorted({*rows, *columns}))
        return NamedPairs(found.matched((names, names), (len(names),) * 2), (names, names))
    if sparse.issparse(R) and n != m:
        raise InputError(
            f"has the shape ({n}, {m}), but with graph={graph!r} rows and columns are the same objects",
            [Suggestion("graph", "bipartite", "if they are two sets")],
            parameter="R",
        )
    found.matrix.resize((max(n, m),) * 2)
    return found


def is_symmetric(links: Links) -> bool:
    """Return whether rows and columns may be one set: all links are stored in both directions, none with itself."""
    matrix, (rows, columns) = links.seen.matrix, links.seen.names
    if matrix.shape[0] != matrix.shape[1] or rows != columns or matrix.shape[0] < 3:
        return False
    return not matrix.diagonal().any() and (matrix != matrix.T).nnz == 0
