"""Links of real graphs, their splits, and what is measured on held-out ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from benchmarks._data import load

#: parts of the links: one is for validation, each of the others is held out in turn
PARTS = 10
VALIDATION = PARTS - 1


@dataclass(frozen=True)
class Graph:
    """All links of a graph within one set, each once.

    Attributes
    ----------
    links : int array (q, 2)
        If undirected, the smaller number first.
    size : int
        Number of objects.
    directed : bool
    """

    links: np.ndarray
    size: int
    directed: bool

    @property
    def kind(self) -> str:
        """What `LinkPredictor` calls it."""
        return "directed" if self.directed else "undirected"

    def parts(self) -> np.ndarray:
        """A part per link, at random; the same in every run."""
        return np.random.default_rng(0).permutation(len(self.links)) % PARTS

    def codes(self, pairs: np.ndarray) -> np.ndarray:
        """A number per pair; in an undirected graph, the same for both directions."""
        i, j = pairs.T if self.directed else np.sort(pairs, axis=1).T
        return i.astype(np.int64) * self.size + j

    def matrix(self, links: np.ndarray) -> sparse.csr_matrix:
        """Links as a matrix; in an undirected graph, both directions."""
        both = links if self.directed else np.concatenate([links, links[:, ::-1]])
        return sparse.csr_matrix((np.ones(len(both)), both.T), shape=(self.size, self.size))


@dataclass(frozen=True)
class Question:
    """Links to learn from, and pairs to tell apart: held-out links, and a sample of the pairs without a link.

    Attributes
    ----------
    graph : Graph
    known : int array (q, 2)
    pairs : int array (r, 2)
    links : bool array (r,)
    weights : array (r,)
        How many pairs each of `pairs` stands for.
    """

    graph: Graph
    known: np.ndarray
    pairs: np.ndarray
    links: np.ndarray
    weights: np.ndarray

    def judged(self, scores: np.ndarray) -> dict[str, float]:
        """Area under the ROC curve, and average precision among all pairs."""
        from sklearn.metrics import average_precision_score, roc_auc_score

        return {
            "auc": float(roc_auc_score(self.links, scores)),
            "ap": float(average_precision_score(self.links, scores, sample_weight=self.weights)),
        }


def graph_of(name: str) -> Graph:
    """Links between Wikipedia articles, or friendships of last.fm users; of each undirected pair one."""
    if name == "wikispeedia":
        arrays = load("wikispeedia_links")
        links = np.stack([arrays["src"], arrays["dst"]], axis=1).astype(np.int64)
        return Graph(links[links[:, 0] != links[:, 1]], len(arrays["article_names"]), directed=True)
    arrays = load("hetrec_lastfm")
    ends = np.stack([arrays["friend_a"], arrays["friend_b"]], axis=1).astype(np.int64)
    people, numbers = np.unique(ends, return_inverse=True)
    links = np.unique(np.sort(numbers.reshape(ends.shape), axis=1), axis=0)
    return Graph(links, len(people), directed=False)


def question(graph: Graph, held_out: int, tested: list[int], n_others: int) -> Question:
    """Hold out a part of the links; links of the parts to be tested are not learned from in tuning either.

    Parameters
    ----------
    graph : Graph
    held_out : int
        The part that is asked about.
    tested : list of int
        Parts that are not learned from either.
    n_others : int
        How many pairs without a link are asked about, drawn at random.
    """
    part = graph.parts()
    wanted, known = graph.links[part == held_out], graph.links[~np.isin(part, [held_out, *tested])]
    rng = np.random.default_rng(1000 + held_out)
    drawn = rng.integers(graph.size, size=(2 * n_others, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    _, first = np.unique(graph.codes(drawn), return_index=True)
    others = drawn[np.sort(first)]
    others = others[~np.isin(graph.codes(others), graph.codes(graph.links))][:n_others]
    total = graph.size * (graph.size - 1) // (1 if graph.directed else 2) - len(graph.links)
    return Question(
        graph,
        known,
        np.concatenate([wanted, others]),
        np.repeat([True, False], [len(wanted), len(others)]),
        np.repeat([1.0, total / len(others)], [len(wanted), len(others)]),
    )
