"""Fits that `blas_threads` times, each in a process of its own: `python -m benchmarks._thread_jobs NAME TURNS`.

Prints one line of JSON: the seconds of each fit after a first one that compiles.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import numpy as np

import nearer

Fit = Callable[[], object]


def _answers(n: int, q: int, p: int) -> nearer.Comparisons:
    return nearer.datasets.planted(n, p, q, random_state=0)[0]


def _rows(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=d) + np.sqrt(d) * rng.normal(size=n) > 0).astype(int)


def _embedding() -> Fit:
    answers = _answers(1500, 100_000, 10)
    return lambda: nearer.OrdinalEmbedding(10, random_state=0).fit(answers)


def _lbfgs() -> Fit:
    answers = _answers(1500, 100_000, 10)
    return lambda: nearer.OrdinalEmbedding(10, l2=8e-4, solver="lbfgs", random_state=0).fit(answers)


def _small_kernel() -> Fit:
    answers = _answers(300, 20_000, 5)
    return lambda: nearer.RelativeKernel(trace_penalty=1e-3, random_state=0).fit(answers)


def _large_kernel() -> Fit:
    answers = _answers(1000, 30_000, 5)
    return lambda: nearer.RelativeKernel(trace_penalty=1e-3, random_state=0).fit(answers)


def _online(n: int, q: int) -> Fit:
    answers = _answers(n, q, 5)
    return lambda: nearer.OnlineKernel(n, random_state=0).fit(answers)


def _auc(solver: str, n: int) -> Fit:
    X, y = _rows(n, 50)
    return lambda: nearer.AUCClassifier(solver=solver, random_state=0).fit(X, y)


def _random_features() -> Fit:
    X, y = _rows(10_000, 50)
    return lambda: nearer.AUCClassifier(model="rff", random_state=0).fit(X, y)


def _feature_map() -> Fit:
    rng = np.random.default_rng(0)
    features, points = rng.normal(size=(1000, 100)), rng.normal(size=(1000, 5))
    return lambda: nearer.FeatureMap().fit(features, points)


JOBS: dict[str, Callable[[], Fit]] = {
    "OrdinalEmbedding, n = 1,500, p = 10": _embedding,
    "the same by L-BFGS alone": _lbfgs,
    "RelativeKernel, n = 300": _small_kernel,
    "RelativeKernel, n = 1,000": _large_kernel,
    "OnlineKernel, n = 100": lambda: _online(100, 3000),
    "OnlineKernel, n = 600": lambda: _online(600, 600),
    "AUCClassifier, AdaDSG": lambda: _auc("adadsg", 200_000),
    "AUCClassifier, exact": lambda: _auc("exact", 20_000),
    "AUCClassifier, random features": _random_features,
    "FeatureMap, n = 1,000": _feature_map,
}


def main(name: str, turns: int) -> None:
    """Time one job."""
    fit = JOBS[name]()
    fit()
    seconds = []
    for _ in range(turns):
        start = time.perf_counter()
        fit()
        seconds.append(round(time.perf_counter() - start, 4))
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
