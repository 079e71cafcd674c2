"""Fits cblearn estimators on request; run inside cblearn's own virtual environment, never imported.

One request a line on standard input, one answer a line on standard output, both JSON; arrays travel as npz
and npy files. Only ``fit`` is timed, inside this process, so that neither the interpreter's start nor the
transport counts.

Request: {"estimator": "SOE", "parameters": {...}, "data": "train.npz", "embedding": "out.npy", "threads": 2}
Answer:  {"seconds": 1.2, "cpu_seconds": 1.1, "iterations": 153} or {"failure": "ValueError: ..."}
"""

import time


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


if __name__ == "__main__":
    from _peer_loop import serve  # of this folder

    serve(fit, ("cblearn", "numpy", "scipy", "scikit-learn", "torch"))
