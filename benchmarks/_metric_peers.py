"""Labelled rows for metrics, and metric-learn as a rival: a virtual environment of its own, and a worker process."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.neighbors import KNeighborsClassifier

from benchmarks import _cblearn
from benchmarks._data import load
from nearer import MetricLearner

# metric-learn 0.7 fails with scikit-learn 1.8 and newer
REQUIREMENTS = ("metric-learn==0.7.0", "scikit-learn==1.7.2", "numpy==2.4.6", "scipy==1.17.1")
#: metric-learn's estimators with its own defaults, by the name in our tables
PEERS: dict[str, tuple[str, dict[str, Any]]] = {
    "LMNN": ("LMNN", {"random_state": 0}),
    "ITML": ("ITML_Supervised", {"random_state": 0}),
    "NCA": ("NCA", {"random_state": 0}),
}
OURS, PLAIN = "MetricLearner", "no metric"
NEIGHBOURS = 3
_BUNDLED = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast_cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}


class Labelled(NamedTuple):
    """Rows with one label each, to learn from and to predict."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def labelled(name: str, split: int, most_train: int) -> Labelled:
    """Return a random split, 70% for training, with standardised columns; constant columns are left out."""
    if name in _BUNDLED:
        X, y = _BUNDLED[name](return_X_y=True)
    else:
        arrays = load(name)
        X, y = (np.concatenate([arrays[f"{kind}_{part}"] for part in ("train", "test")]) for kind in "Xy")
    order = np.random.default_rng(split).permutation(len(y))
    n = min(round(0.7 * len(y)), most_train)
    train, test = order[:n], order[n : n + 2000]
    X = X.astype(np.float64)
    some = X[train].std(axis=0) > 0
    X = (X[:, some] - X[train][:, some].mean(axis=0)) / X[train][:, some].std(axis=0)
    return Labelled(X[train], y[train], X[test], y[test])


def accuracy(of: Labelled, train: np.ndarray, test: np.ndarray) -> float:
    """Return the share of test rows whose label their nearest training rows have."""
    return float(KNeighborsClassifier(NEIGHBOURS).fit(train, of.y).score(test, of.y_test))


def plain(of: Labelled) -> dict[str, Any]:
    """Measure the usual distance of standardised columns."""
    return {"accuracy": accuracy(of, of.X, of.X_test), "seconds": 0.0}


def ours(of: Labelled, seed: int) -> dict[str, Any]:
    """Measure our metric, with its defaults."""
    began = time.process_time()
    model = MetricLearner(random_state=seed).fit(of.X, of.y)
    seconds = time.process_time() - began
    return {
        "accuracy": accuracy(of, model.transform(of.X), model.transform(of.X_test)),
        "seconds": seconds,
        "rank": int(model.metric_factor_.shape[1]),
        "gap": model.result_.details["gap"] / model.result_.objective,
    }


class Worker(_cblearn.Worker):
    """A process that fits metric-learn's estimators; it is killed if a fit takes too long."""

    script = "_peer_metric.py"

    def python(self) -> Path:
        return _cblearn.made_environment("metric-learn", REQUIREMENTS)

    def measured(self, rival: str, of: Labelled, cap: float) -> dict[str, Any]:
        """Return CPU seconds and accuracy, or a `failure`: a time-out or what was raised."""
        if self._process is None:
            self._start()
        data, out = (Path(self._folder.name) / file for file in ("data.npz", "out.npz"))
        np.savez(data, X=of.X, y=of.y, X_test=of.X_test)
        name, parameters = PEERS[rival]
        request = {"rival": name, "parameters": parameters, "data": str(data), "out": str(out)}
        answer = self._reply(request, cap)
        if "failure" in answer:
            return answer
        with np.load(out, allow_pickle=False) as found:
            return {**answer, "accuracy": accuracy(of, found["train"], found["test"])}
