"""Fits implicit's ALS and irspack's iALS on request; run inside their own virtual environment, never imported.

One request per line on standard input, one answer per line on standard output, both JSON; arrays travel as npz files.
Only the fit is timed, in CPU seconds and in seconds of this process. Embeddings of new users and movies are made after.

Request: {"rival": "implicit ALS", "parameters": {...}, "data": "in.npz", "out": "out.npz", "seed": 0, "threads": 1}
Answer:  {"cpu": 1.2, "seconds": 1.3} or {"failure": "ValueError: ..."}
"""

import time


def read(path: str) -> dict:
    """Matrices by name: CSR of float32 for pairs, arrays for features."""
    import numpy as np
    from scipy import sparse

    found = {}
    with np.load(path, allow_pickle=False) as arrays:
        for name in ("train", "history"):
            if f"{name}_data" in arrays:
                parts = [arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr")]
                shape = tuple(arrays[f"{name}_shape"].tolist())
                found[name] = sparse.csr_matrix((parts[0].astype(np.float32), *parts[1:]), shape=shape)
        for name in ("users", "movies", "new_users", "new_movies"):
            if name in arrays:
                found[name] = arrays[name].astype(np.float32)
    return found


def implicit_als(request: dict, data: dict) -> tuple:
    """Clocks and embeddings of implicit's ALS; new users are folded in by the library's own least squares."""
    import numpy as np
    from implicit.als import AlternatingLeastSquares

    began = clocks()
    model = AlternatingLeastSquares(
        **request["parameters"], num_threads=request["threads"], random_state=request["seed"]
    )
    model.fit(data["train"], show_progress=False)
    taken = since(began)
    left = model.user_factors
    if "history" in data:
        left = model.recalculate_user(np.arange(data["history"].shape[0]), data["history"])
    return taken, left, model.item_factors


def irspack_ials(request: dict, data: dict) -> tuple:
    """Clocks and embeddings of irspack's iALS, with features of users or movies where they are sent."""
    from irspack import IALSRecommender

    sides = {"user_features": data.get("users"), "item_features": data.get("movies")}
    settings = {**request["parameters"], "n_threads": request["threads"], "random_seed": request["seed"]}
    began = clocks()
    model = IALSRecommender(data["train"], **settings, **{k: v for k, v in sides.items() if v is not None})
    model.learn()
    taken = since(began)
    left, right = model.get_user_embedding(), model.get_item_embedding()
    if "history" in data:
        left = model.compute_user_embedding(data["history"])
    if "new_users" in data:
        left = model.trainer_as_ials.transform_user_feature(data["new_users"])
    if "new_movies" in data:
        right = model.trainer_as_ials.transform_item_feature(data["new_movies"])
    return taken, left, right


def clocks() -> tuple:
    """CPU seconds of this process and seconds."""
    return time.process_time(), time.perf_counter()


def since(began: tuple) -> dict:
    """What the clocks say since they said `began`."""
    cpu, wall = clocks()
    return {"cpu": cpu - began[0], "seconds": wall - began[1]}


def fit(request: dict) -> dict:
    """Fit one peer and save its embeddings."""
    import numpy as np

    peer = implicit_als if request["rival"] == "implicit ALS" else irspack_ials
    taken, left, right = peer(request, read(request["data"]))
    np.savez(request["out"], left=left, right=right)
    return taken


if __name__ == "__main__":
    from _peer_loop import serve  # of this folder

    serve(fit, ("implicit", "irspack", "numpy", "scipy"))
