"""Fits cblearn estimators on request; run inside cblearn's own virtual environment, never imported.

One request a line on standard input, one answer a line on standard output, both JSON; arrays travel as npz
and npy files. Only ``fit`` is timed, inside this process, so that neither the interpreter's start nor the
transport counts.

Request: {"estimator": "SOE", "parameters": {...}, "data": "train.npz", "embedding": "out.npy", "threads": 2}
Answer:  {"seconds": 1.2, "cpu_seconds": 1.1, "iterations": 153} or {"failure": "ValueError: ..."}
"""

import json
import os
import sys
import time
import warnings


def versions() -> dict:
    """Versions of cblearn and of what it computes with."""
    from importlib.metadata import version

    return {name: version(name) for name in ("cblearn", "numpy", "scipy", "scikit-learn", "torch")}


def fit(request: dict) -> dict:
    """Fit one estimator, save its embedding, and report the seconds of ``fit`` alone."""
    import numpy as np
    import torch
    from cblearn import embedding

    torch.set_num_threads(int(request["threads"]))
    with np.load(request["data"], allow_pickle=False) as arrays:
        triplets, n_objects = arrays["triplets"], int(arrays["n_objects"])
    estimator = getattr(embedding, request["estimator"])(**request["parameters"])
    start, cpu_start = time.perf_counter(), time.process_time()
    estimator.fit(triplets, n_objects=n_objects)
    taken = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu_start}
    np.save(request["embedding"], np.asarray(estimator.embedding_, dtype=float))
    return {**taken, "iterations": int(getattr(estimator, "n_iter_", 0))}


def answer(request: dict) -> dict:
    """The answer to one request; a failure is an answer too, never the end of the worker."""
    try:
        return fit(request)
    except Exception as error:  # whatever a peer raises is a result to report
        return {"failure": f"{type(error).__name__}: {error}"[:500]}


def main() -> None:
    """Answer requests until standard input closes; what libraries print goes to standard error."""
    warnings.simplefilter("ignore")
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    print(json.dumps({"versions": versions()}), file=replies)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=replies)


if __name__ == "__main__":
    main()
