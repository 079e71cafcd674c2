"""Fits LibAUC's losses and xgboost's ranker on request; run inside their own virtual environment, never imported.

One request a line on standard input, one answer a line on standard output, both JSON; arrays travel as npz and npy
files. Only the fit is timed, in CPU seconds of this process.

Request: {"rival": "AUCM", "parameters": {...}, "data": "data.npz", "scores": "out.npy", "seed": 0, "threads": 1}
Answer:  {"seconds": 1.2} or {"failure": "ValueError: ..."}
"""

import time


def read(path: str) -> tuple:
    """Training rows, labels of 0 and 1, test rows; rows are arrays or CSR matrices of float32."""
    import numpy as np
    from scipy import sparse

    with np.load(path, allow_pickle=False) as arrays:

        def rows(name: str) -> object:
            if name in arrays:
                return arrays[name].astype(np.float32)
            parts = [arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr", "shape")]
            return sparse.csr_matrix(
                (parts[0].astype(np.float32), *parts[1:3]), shape=tuple(parts[3].tolist())
            )

        return rows("X"), (arrays["y"] > 0).astype(np.int64), rows("X_test")


def batches(y: object, size: int, epochs: int, seed: int) -> object:
    """Row numbers, half of them positive: an epoch goes over the more frequent class once."""
    import numpy as np

    rng = np.random.default_rng(seed)
    sides = [np.flatnonzero(y == label) for label in (1, 0)]
    count = -(-max(map(len, sides)) // (size // 2))
    for epoch in range(epochs):
        shuffled = [np.resize(rng.permutation(side), count * (size // 2)) for side in sides]
        for number in range(count):
            place = slice(number * (size // 2), (number + 1) * (size // 2))
            yield epoch, np.concatenate([side[place] for side in shuffled])


def tensor(rows: object) -> object:
    """Rows as torch wants them."""
    import numpy as np
    import torch

    if isinstance(rows, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(rows))
    rows = rows.tocoo()
    places = torch.from_numpy(np.stack([rows.row, rows.col]).astype(np.int64))
    return torch.sparse_coo_tensor(places, torch.from_numpy(rows.data), rows.shape, check_invariants=False)


def libauc(request: dict, X: object, y: object, X_test: object) -> tuple:
    """A linear model by one of LibAUC's losses and the optimizer that its documentation gives it."""
    import torch
    from libauc import losses, optimizers

    settings = request["parameters"]
    torch.manual_seed(request["seed"])
    began = time.process_time()
    w = torch.nn.Parameter(torch.zeros(X.shape[1], 1))
    saddle = request["rival"] == "AUCM"
    if saddle:
        loss = losses.AUCMLoss()
        optimizer = optimizers.PESG([w], loss_fn=loss, lr=settings["lr"], verbose=False)
    else:
        loss = losses.PairwiseAUCLoss("squared_hinge")
        optimizer = optimizers.Adam([w], lr=settings["lr"])
    now = 0
    for epoch, rows in batches(y, settings["batch"], settings["epochs"], request["seed"]):
        if saddle and epoch != now and epoch in settings["decays"]:
            optimizer.update_regularizer(decay_factor=10)
        now = epoch
        scores = tensor(X[rows]) @ w
        optimizer.zero_grad()
        loss(torch.sigmoid(scores) if saddle else scores, torch.from_numpy(y[rows])[:, None]).backward()
        optimizer.step()
    seconds = time.process_time() - began
    return seconds, X_test @ w.detach().numpy()[:, 0]


def xgboost(request: dict, X: object, y: object, X_test: object) -> tuple:
    """Trees by the objective rank:pairwise, all rows in one group."""
    import numpy as np
    import xgboost as xgb

    parameters = {**request["parameters"], "nthread": request["threads"], "seed": request["seed"]}
    rounds = parameters.pop("rounds")
    began = time.process_time()
    data = xgb.DMatrix(X, label=y, qid=np.zeros(len(y), np.int32), nthread=request["threads"])
    trees = xgb.train({"objective": "rank:pairwise", "verbosity": 0, **parameters}, data, rounds)
    seconds = time.process_time() - began
    return seconds, trees.predict(xgb.DMatrix(X_test, nthread=request["threads"]))


def fit(request: dict) -> dict:
    """Fit one rival, save its scores of the test rows, and report the CPU seconds of the fit alone."""
    import numpy as np
    import torch

    torch.set_num_threads(int(request["threads"]))
    rows = read(request["data"])
    seconds, scores = (xgboost if request["rival"] == "xgboost" else libauc)(request, *rows)
    np.save(request["scores"], np.asarray(scores, dtype=float))
    return {"seconds": seconds}


if __name__ == "__main__":
    from _peer_loop import serve  # of this folder

    serve(fit, ("libauc", "xgboost", "torch", "numpy", "scipy"))
