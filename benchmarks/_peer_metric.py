"""Fits metric-learn's estimators on request; run inside their own virtual environment, never imported.

One request a line on standard input, one answer a line on standard output, both JSON; arrays travel as npz files. Only
the fit is timed, in CPU seconds of this process.

Request: {"rival": "LMNN", "parameters": {}, "data": "data.npz", "out": "out.npz"}
Answer:  {"seconds": 1.2} or {"failure": "ValueError: ..."}
"""

import time


def fit(request: dict) -> dict:
    """Fit one estimator, save both sets of rows as points, and report the CPU seconds of the fit alone."""
    import metric_learn
    import numpy as np

    with np.load(request["data"], allow_pickle=False) as arrays:
        X, y, X_test = (arrays[name] for name in ("X", "y", "X_test"))
    estimator = getattr(metric_learn, request["rival"])(**request["parameters"])
    began = time.process_time()
    estimator.fit(X, y)
    seconds = time.process_time() - began
    np.savez(request["out"], train=estimator.transform(X), test=estimator.transform(X_test))
    return {"seconds": seconds}


if __name__ == "__main__":
    from _peer_loop import serve  # of this folder

    serve(fit, ("metric-learn", "numpy", "scipy", "scikit-learn"))
