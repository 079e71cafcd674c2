"""Peak memory of a fit to all of delicious, in a process of its own: `python -m benchmarks._label_memory`."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np

from benchmarks._label_data import whole
from nearer import CoEmbeddingClassifier
from nearer.solvers import ILA

BETA, ROUNDS = 20.0, 7


def measured() -> dict[str, Any]:
    """Return what a fit allocates at its peak, and the bytes of what it works on."""
    command = [sys.executable, "-m", "benchmarks._label_memory"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _fit() -> dict[str, Any]:
    X, Y = whole("delicious", dense=False)
    small = np.arange(50)
    CoEmbeddingClassifier(BETA, cv=0, threshold=0.0, max_epochs=2).fit(X[small], Y[small][:, :5])  # compiles
    tracemalloc.start()
    model = CoEmbeddingClassifier(BETA, cv=0, threshold=0.0, max_epochs=ROUNDS, random_state=0).fit(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    Q = 8 * (model.row_factor_.size + model.label_factor_.size + model.threshold_embedding_.size)
    sizes = {"X": _bytes(X), "Y": _bytes(Y), "Q": Q, "history": 2 * ILA().kept(Q // 8) * Q}
    return {
        "peak": peak,
        **sizes,
        "rows": X.shape[0],
        "labels": Y.shape[1],
        "rank": model.row_factor_.shape[1],
        "seconds": model.result_.seconds,
    }


def _bytes(matrix: Any) -> int:
    return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)


if __name__ == "__main__":
    print(json.dumps(_fit()))
