"""Small fitted models, one or more per family that `nearer.save` stores, and everything that can be asked of them.

The fixtures in `tests/fixtures/models` are these models as an earlier version wrote them, beside what they answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

import nearer
from nearer import losses, solvers
from nearer.kernels import _full
from nearer.pairwise import DSGD, OLP, OPAUC, SOLAM, AdaDSG, Exact, RandomFourier

N_OBJECTS = 8
N_FEATURES = 4


def answers(n_objects: int = N_OBJECTS, count: int = 60, seed: int = 0) -> nearer.Comparisons:
    """Comparisons of planted points."""
    return nearer.datasets.planted(n_objects, 2, count, random_state=seed).comparisons


def named(comparisons: nearer.Comparisons) -> nearer.Comparisons:
    names = [f"object {number}" for number in range(comparisons.n_objects)]
    return nearer.Comparisons(comparisons.indices, comparisons.n_objects, names=names)


def rows(seed: int = 0, count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two classes, of which the first column tells."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(count, N_FEATURES)), 3)
    return X, (X[:, 0] + 0.5 * rng.normal(size=count) > 0.3).astype(int)


def sparse_rows(seed: int = 0, count: int = 60) -> tuple[Any, np.ndarray]:
    X, y = rows(seed, count)
    return sparse.csr_matrix(np.where(np.abs(X) > 0.3, X, 0.0)), y


def _online(**settings: Any) -> nearer.OnlineKernel:
    weights = np.linspace(0.5, 1.5, 60)
    weighted = nearer.Comparisons(answers().indices, N_OBJECTS, weights=weights)
    return nearer.OnlineKernel(random_state=0, **settings).fit(weighted)


def _classifier(solver: Any = None, data: Callable = rows, **settings: Any) -> nearer.AUCClassifier:
    solver = AdaDSG(buffer=6, start=16, stages=6) if solver is None else solver
    return nearer.AUCClassifier(solver=solver, random_state=0, **settings).fit(*data())


def _stream(solver: Any = None, data: Callable = rows, **settings: Any) -> nearer.AUCClassifier:
    solver = AdaDSG(buffer=6) if solver is None else solver
    model = nearer.AUCClassifier(solver=solver, random_state=0, **settings)
    for seed in range(3):
        model.partial_fit(*data(seed, 30))
    return model


def _learner(fit: str = "fit", **settings: Any) -> nearer.PairwiseLearner:
    settings = {"solver": AdaDSG(buffer=6, start=16, stages=6)} | settings
    model = nearer.PairwiseLearner(random_state=0, **settings)
    return getattr(model, fit)(*rows())


def _text_classes() -> nearer.AUCClassifier:
    X, y = rows()
    names = np.array(["no", "yes"], dtype=object)[y]
    return nearer.AUCClassifier(solver=Exact(), calibration="isotonic", random_state=0).fit(X, names)


def _placed() -> nearer.FeatureMap:
    pandas = __import__("pandas")
    table = pandas.DataFrame(rows(count=12)[0], columns=["loud", "bright", "fast", "warm"])
    return nearer.FeatureMap().fit(table, rows(1, count=12)[0][:, :2])


#: how each model is made
MODELS: dict[str, Callable[[], Any]] = {
    "ordinal": lambda: nearer.OrdinalEmbedding(
        2, loss=losses.TSTE(alpha=3.0), solver="svrg-sbb", max_epochs=3, random_state=0
    ).fit(named(answers())),
    "ordinal_auto": lambda: nearer.OrdinalEmbedding(
        2, loss="auto", dtype="float32", max_epochs=2, random_state=0
    ).fit(answers()),
    "ordinal_start": lambda: nearer.OrdinalEmbedding(
        2,
        loss="soe",
        l2=0.01,
        solver=solvers.SVRG(step=solvers.StabilizedBB(first_step="careful")),
        init=rows(count=N_OBJECTS)[0][:, :2],
        max_epochs=3,
        random_state=0,
    ).fit(answers()),
    "relative": lambda: nearer.RelativeKernel("ste", trace_penalty=1e-2, random_state=0).fit(
        named(answers())
    ),
    "relative_auto": lambda: nearer.RelativeKernel("gnmds", random_state=0).fit(answers(count=30)),
    "relative_rank": lambda: nearer.RelativeKernel(
        losses.CKL(mu=0.5), trace_penalty=1e-2, max_rank=2, random_state=0
    ).fit(answers()),
    "online_factored": lambda: _online(rank=3, passes=3),
    "online_whole": lambda: _online(passes=2),
    "online_bound": lambda: _online(skip="bound", update="ste", trace_penalty=0.01),
    "online_never": lambda: _online(skip="never", direction="minimal", start=np.eye(N_OBJECTS)),
    "feature_map": _placed,
    "auc": _classifier,
    "auc_text": _text_classes,
    "auc_fourier": lambda: _classifier(model=RandomFourier(12)),
    "auc_stream": _stream,
    "auc_stream_sparse": lambda: _stream(data=sparse_rows),
    "auc_olp": lambda: _stream(OLP(buffer=8)),
    "auc_olp_sparse": lambda: _stream(OLP(buffer=8), data=sparse_rows),
    "auc_opauc": lambda: _stream(OPAUC(), loss="square"),
    "auc_opauc_rank": lambda: _stream(OPAUC(rank=2), loss="square"),
    "auc_solam": lambda: _stream(SOLAM(), loss="square"),
    "pairs": lambda: _learner(scale=True),
    "pairs_ranking": lambda: _learner(pair="ranking", loss="logistic", solver=DSGD(passes=2)),
    "pairs_metric": lambda: _learner(pair="metric"),
    "pairs_metric_stream": lambda: _learner("partial_fit", pair="metric", n_components=2),
    "pairs_kernels": lambda: _learner(model=["linear", RandomFourier(8)]),
}


def taught(model: Any) -> None:
    """Let a model that can learn from more answers or rows."""
    if hasattr(model, "names_"):
        model.partial_fit(answers(seed=5))
    else:
        model.partial_fit(*_relabelled(model, *rows(7, 30)))


def _relabelled(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    classes = getattr(model, "classes_", None)
    return X, (y if classes is None else classes[y])


def asked(model: Any) -> dict[str, Any]:
    """What the model answers, as lists of numbers."""
    about_rows = not hasattr(model, "names_")
    found: dict[str, Any] = {}
    if hasattr(model, "tag_embedding_"):
        lists = model.recommend([0, 1, -1, 99], [0, -1, 2, 99], k=3, exclude_seen=True)
        return {"items": lists.items.tolist(), "scores": lists.scores.tolist()}
    if hasattr(model, "left_threshold_"):
        return _linked(model)
    if hasattr(model, "recommend"):
        return _recommended(model)
    given = rows(9, 5)[0] if about_rows else answers(seed=9, count=5).indices
    if hasattr(model, "feature_names_in_"):
        given = __import__("pandas").DataFrame(given, columns=list(model.feature_names_in_))
    for name in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, name):
            found[name] = np.asarray(getattr(model, name)(given)).tolist()
    for name in (
        "embedding_",
        "kernel_",
        "rank_",
        "metric_factor_",
        "coef_",
        "components_",
        "n_seen_",
        "loo_score_",
    ):
        if hasattr(model, name):
            found[name] = np.asarray(getattr(model, name)).tolist()
    return found


def _clicks() -> nearer.Interactions:
    return nearer.datasets.planted_interactions(N_OBJECTS, 6, 2, 20, random_state=0).interactions


def _friends() -> nearer.Interactions:
    return nearer.Interactions([0, 1, 2, 4, 5], [1, 2, 0, 5, 6], n_left=N_OBJECTS, n_right=N_OBJECTS)


def _towers(**settings: Any) -> Any:
    return nearer.TwoTower(**{"n_components": 2, "max_epochs": 3, "random_state": 0} | settings)


def _recommended(model: Any) -> dict[str, Any]:
    """What towers answer about known and new entities."""
    found = model.recommend(k=3)
    n_right = len(model.right_embedding_)
    history = sparse.csr_matrix((np.ones(2), ([0, 1], [0, n_right - 1])), shape=(2, n_right))
    given = {"features": np.ones((2, N_FEATURES))} if model.left_scaling_ is not None else {}
    return {
        "items": found.items.tolist(),
        "scores": found.scores.tolist(),
        "new": model.embed_left(history=history, **given).tolist(),
        "similar": model.similar_right(k=2).items.tolist(),
    }


def _linked(model: Any) -> dict[str, Any]:
    """What a model of links answers about known and new objects."""
    pairs, lists = [[0, 1], [3, 5]], model.recommend(k=3)
    new = {} if model.left_factor_ is None else {"left": np.ones((4, N_FEATURES))}
    ask = model.decision_function if model.calibration_ is None else model.predict_proba
    return {
        "items": lists.items.tolist(),
        "scores": lists.scores.tolist(),
        "pairs": ask(pairs).tolist(),
        "new": model.recommend(k=2, **new).scores.tolist(),
        "score": model.score(pairs, [1, 0]),
    }


def _described() -> Any:
    """Features of the named objects, by name."""
    pandas = __import__("pandas")
    names = [f"object {number}" for number in range(N_OBJECTS)]
    return pandas.DataFrame(rows(count=N_OBJECTS)[0], columns=["loud", "bright", "fast", "warm"], index=names)


def _labelled() -> tuple[Any, np.ndarray]:
    """Rows of a frame, each with up to three labels."""
    X, y = rows(count=60)
    return X, np.stack([y, X[:, 0] > 0, X[:, 1] > 1], axis=1).astype(int)


def _posts() -> np.ndarray:
    """Rows of user, item and tag, by number."""
    rng = np.random.default_rng(0)
    return np.unique(np.stack([rng.integers(n, size=90) for n in (N_OBJECTS, 6, 5)], axis=1), axis=0)


def _selector(strategy: str = "adaptive", **settings: Any) -> Any:
    settings = {"n_objects": N_OBJECTS} | settings
    selector = nearer.active.selector(strategy, random_state=0, **settings)
    selector.tell(nearer.Comparisons(answers().indices, N_OBJECTS, annotators=np.arange(60) % 3))
    selector.tell(selector.next(4)[:2])
    return selector


@contextmanager
def as_with_many_objects() -> Iterator[None]:
    """Whole kernels of few objects are projected as those of 300 and more are."""
    few, _full._FEW = _full._FEW, 3
    try:
        yield
    finally:
        _full._FEW = few


def _projected() -> nearer.OnlineKernel:
    with as_with_many_objects():
        return nearer.OnlineKernel(random_state=0, skip="bound", update="gnmds").fit(answers(count=120))


#: those that came after the fixtures
MODELS |= {
    "online_projected": _projected,
    "towers": lambda: _towers(hidden=(3,)).fit(_clicks()),
    "towers_linear": lambda: _towers(hidden=(), inputs="ids", solver=solvers.FullAdam(epochs=2)).fit(
        _clicks()
    ),
    "towers_features": lambda: _towers(hidden=(3, 3)).fit(_clicks(), left=rows(count=N_OBJECTS)[0]),
    "metric": lambda: nearer.MetricLearner(0.1, random_state=0).fit(*rows()),
    "metric_named": lambda: nearer.MetricLearner(0.02, loss=losses.LogisticLoss(), scale=True).fit(
        _described(), named(answers())
    ),
    "metric_indices": lambda: nearer.MetricLearner(0.1, preprocessor=rows()[0]).fit(
        np.arange(60).reshape(-1, 2), np.tile([1, -1], 15)
    ),
    "labels": lambda: nearer.CoEmbeddingClassifier(0.5, random_state=0).fit(*_labelled()),
    "labels_features": lambda: nearer.CoEmbeddingClassifier(0.5, cv=0, threshold="macro-f1", scale=True).fit(
        *_labelled(), label_features=np.eye(3)[:, :2]
    ),
    "labels_single": lambda: nearer.CoEmbeddingClassifier(0.5, loss=losses.LogisticLoss()).fit(*rows()),
    "tags": lambda: nearer.TagRecommender(0.5, random_state=0).fit(_posts()),
    "tags_features": lambda: nearer.TagRecommender(0.5, loss=losses.SmoothHingeLoss(), max_rank=2).fit(
        nearer.Posts.from_array(_posts(), duplicates="merge"), user_features=rows(count=N_OBJECTS)[0]
    ),
    "links": lambda: nearer.LinkPredictor(0.5, random_state=0, negatives=2).fit(_clicks()),
    "links_features": lambda: nearer.LinkPredictor(
        0.05, graph="undirected", loss=losses.LogisticLoss(), balance=None, cv=0
    ).fit(_friends(), rows(count=N_OBJECTS)[0]),
    "selector": lambda: _selector(names=[f"object {number}" for number in range(N_OBJECTS)]),
    "selector_gain": lambda: _selector("information-gain", pool=20, places=10),
    "selector_listed": lambda: _selector("arr", questions=answers(seed=3).indices),
}
