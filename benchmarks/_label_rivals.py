"""Rivals of multi-label classification: a classifier per label, chains, and calibrated label ranking."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benchmarks._label_data import Problem
from nearer.coembedding.decisions import CRITERIA, best_cut, best_value, decide

FOLDS = 5
BASES: dict[str, Callable[[], Any]] = {
    "LOG": lambda: LogisticRegression(max_iter=300),
    "SVM": lambda: LinearSVC(max_iter=3000),
}
#: rows with a label from which it has a plain cut of its own for macro-F1
_ENOUGH = 10
#: methods that are left out with more labels: they learn a classifier for every two, or from all before
MOST_LABELS = {"CLR": 50, "CC": 200}


class LabelRanking:
    """Calibrated label ranking (Fürnkranz et al. 2008): votes for every two labels, and against a virtual one."""

    def __init__(self, base: Any):
        self.base = base

    def fit(self, X: Any, Y: np.ndarray) -> LabelRanking:
        """Learn a classifier for every two labels, from rows with one of them, and one for each label."""
        self.labels, self.pairs = Y.shape[1], []
        for a in range(self.labels):
            self.pairs.append((a, self.labels, _binary(self.base, X, Y[:, a])))
            for b in range(a + 1, self.labels):
                one = np.flatnonzero(Y[:, a] != Y[:, b])
                if len(one):
                    self.pairs.append((a, b, _binary(self.base, X[one], Y[one, a])))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return by how many votes each label is above the virtual one."""
        votes = np.zeros((X.shape[0], self.labels + 1))
        for a, b, found in self.pairs:
            first = found(X)
            votes[:, a] += first
            votes[:, b] += ~first
        return votes[:, :-1] - votes[:, -1:] + 0.0


def _binary(base: Any, X: Any, y: np.ndarray) -> Callable[[Any], np.ndarray]:
    """Return a learned decision about rows; with one class only, always that."""
    if y.min() == y.max():
        only = bool(y[0])
        return lambda rows: np.full(rows.shape[0], only)
    learned = clone(base).fit(X, y)
    return lambda rows: learned.decision_function(rows) > 0


class _Chain:
    """A chain of classifiers in the order of the labels."""

    def __init__(self, base: Any):
        self.chain = ClassifierChain(base)

    def fit(self, X: Any, Y: np.ndarray) -> _Chain:
        self.known = (Y.min(axis=0) < Y.max(axis=0)).nonzero()[0]
        self.n_labels = Y.shape[1]
        self.chain.fit(X, Y[:, self.known])
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        found = np.full((X.shape[0], self.n_labels), -10.0)  # labels that no row of a fold has
        found[:, self.known] = self.chain.decision_function(X)
        return found


METHODS: dict[str, Callable[[Any], Any]] = {"BR": OneVsRestClassifier, "CC": _Chain, "CLR": LabelRanking}


def rivals(n_labels: int) -> list[str]:
    """Return the names of rivals."""
    methods = [name for name in METHODS if n_labels <= MOST_LABELS.get(name, n_labels)]
    return [f"{method}({base})" for method in methods for base in BASES]


def measured(name: str, given: Problem) -> dict[str, Any]:
    """Return the criteria with the cut at 0, validated and plain cuts; columns are standardised if that is better."""
    began = time.process_time()
    fold = np.random.default_rng(0).permutation(len(given.Y)) % FOLDS
    labels = sparse.csr_matrix(given.Y)
    tried = []
    for standardise in (False, True) if not sparse.issparse(given.X) else (False,):
        scores = np.empty(given.Y.shape)
        for held in range(FOLDS):
            model = _model(name, standardise).fit(given.X[fold != held], given.Y[fold != held])
            scores[fold == held] = model.decision_function(given.X[fold == held])
        tried.append((best_value(scores, labels, "micro-f1"), standardise, scores))
    _, standardise, scores = max(tried, key=lambda one: one[0])
    start = time.process_time()
    model = _model(name, standardise).fit(given.X, given.Y)
    fit_seconds = time.process_time() - start
    test = model.decision_function(given.X_test)
    found: dict[str, Any] = {
        "standardised": standardise,
        "fit_seconds": fit_seconds,
        "seconds": time.process_time() - began,
        "zero": criteria(given.Y_test, test > 0),
    }
    found["plain"] = {}
    for criterion in CRITERIA:
        cuts = decide(scores, labels, criterion).cuts(seen=True)
        found[criterion] = criteria(given.Y_test, test > cuts)[criterion]
        plain = plain_cuts(scores, given.Y.astype(bool), criterion)
        found["plain"][criterion] = criteria(given.Y_test, test > plain)[criterion]
    return found


def plain_cuts(scores: np.ndarray, own: np.ndarray, criterion: str) -> np.ndarray | float:
    """Return the best cut of scores as they are: one for all labels, for macro-F1 one per label that is not too rare.

    >>> float(plain_cuts(np.array([[3.0, -1.0], [1.0, 4.0]]), np.array([[True, False], [False, True]]), "hamming"))
    2.0
    """
    common = best_cut(scores.ravel(), own.ravel(), "hamming" if criterion == "hamming" else "micro-f1")[0]
    if criterion != "macro-f1":
        return common
    columns = zip(scores.T, own.T, strict=True)
    return np.array(
        [best_cut(*column, "micro-f1")[0] if column[1].sum() >= _ENOUGH else common for column in columns]
    )


def criteria(Y: np.ndarray, predicted: Any) -> dict[str, float]:
    """Return Hamming score, micro-F1 and macro-F1 of predictions, in percent."""
    P = np.asarray(predicted).astype(int)
    return {
        "hamming": 100 * float((Y == P).mean()),
        "micro-f1": 100 * float(f1_score(Y, P, average="micro", zero_division=0)),
        "macro-f1": 100 * float(f1_score(Y, P, average="macro", zero_division=0)),
    }


def _model(name: str, standardise: bool) -> Any:
    method, base = name.rstrip(")").split("(")
    learner = METHODS[method](BASES[base]())
    return _Prepared(learner) if standardise else learner


class _Prepared:
    """A rival behind a scaler."""

    def __init__(self, learner: Any):
        self.learner, self.scaler = learner, StandardScaler()

    def fit(self, X: Any, Y: np.ndarray) -> _Prepared:
        self.learner.fit(self.scaler.fit_transform(X), Y)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return self.learner.decision_function(self.scaler.transform(X))


def quiet() -> warnings.catch_warnings:
    """Return a context without warnings: of labels that a fold lacks, and of iterations that were spent."""
    return warnings.catch_warnings(action="ignore")
