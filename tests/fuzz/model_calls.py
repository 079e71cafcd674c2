"""Everything that a loaded model offers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import nearer


def calls_of(model: Any) -> Iterator[Callable[[], Any]]:
    yield lambda: repr(model)
    if isinstance(model, nearer.active.Selector):
        yield from _calls_of_selector(model)
        return
    if "max_seconds" in model.get_params():
        model.set_params(max_seconds=0.3)
    if isinstance(model, nearer.TwoTower):
        yield from _calls_of_towers(model)
        return
    if isinstance(model, nearer.TagRecommender):
        yield from _calls_of_tags(model)
        return
    if isinstance(model, nearer.LinkPredictor):
        yield from _calls_of_links(model)
        return
    yield from _calls_about_objects(model) if hasattr(model, "names_") else _calls_about_rows(model)


def _calls_of_selector(model: Any) -> Iterator[Callable[[], Any]]:
    yield lambda: (model.answers, model.pending, model.points, model.n_answers)
    yield lambda: model.named(model.pending)
    yield lambda: model.tell(model.next(5))
    yield model.refit
    yield lambda: model.next(20)
    yield model.forget
    yield lambda: model.grow(model.n_objects + 1)
    yield lambda: model.grow(names=["a new one"])
    yield lambda: model.next(3)


def _calls_of_towers(model: Any) -> Iterator[Callable[[], Any]]:
    from scipy import sparse

    sizes = len(model.left_embedding_), len(model.right_embedding_)
    seen = sparse.random(*sizes, 0.2, random_state=0, format="csr")
    features = [
        None if found is None else len(found.size) for found in (model.left_scaling_, model.right_scaling_)
    ]
    rows = [None if count is None else np.ones((2, min(count, 50))) for count in features]
    yield lambda: model.recommend(k=3, names=True)
    yield lambda: model.recommend([0], k=100, exclude_seen=False)
    yield lambda: model.similar_right(k=2)
    yield lambda: model.similarity([0], [0])
    yield lambda: model.score(seen)
    yield lambda: model.embed_left(features=rows[0], history=seen[:2])
    yield lambda: model.embed_right(features=rows[1], history=sparse.csr_matrix(seen.T)[:2])
    yield lambda: model.embed_left(features=rows[0])
    if sizes[0] * sizes[1] < 10**6 and sum(model.hidden) < 1000:
        yield lambda: model.fit(seen)


def _calls_of_tags(model: Any) -> Iterator[Callable[[], Any]]:
    names = [getattr(model, f"{side}_names_") for side in ("user", "item", "tag")]
    posts = [[0 if known is None else known[0] for known in names if known != ()]]
    features = [
        None if factor is None else np.ones((2, min(len(factor), 50)))
        for factor in (model.user_factor_, model.item_factor_)
    ]
    yield lambda: model.recommend(*posts[0][:2], k=3, names=True) if len(posts[0]) == 3 else None
    yield lambda: model.recommend([0, 1], [0, 1], exclude_seen=True)
    yield lambda: model.recommend("a stranger", "something new", k=10**6)
    yield lambda: model.recommend(None, [0], user_features=features[0], item_features=None)
    yield lambda: model.predict_scores([0], None, item_features=features[1])
    yield lambda: model.decision_function(posts)
    yield lambda: model.score(posts)
    yield lambda: nearer.plotting.plot_coembedding(model)
    yield lambda: model.fit(posts)


def _calls_of_links(model: Any) -> Iterator[Callable[[], Any]]:
    from scipy import sparse

    sizes = len(model.left_embedding_), len(model.right_embedding_)
    held_out = sparse.csr_matrix(([1.0], ([0], [sizes[1] - 1])), shape=sizes)
    ones = model.graph_ != "undirected"
    rows = [
        None if factor is None else np.ones((2, min(max(len(factor) - ones, 0), 50)))
        for factor in (model.left_factor_, model.right_factor_)
    ]
    pairs = [[0, 1], [1, 0]]
    yield lambda: model.recommend(k=3, names=True)
    yield lambda: model.recommend([0], k=10**6, exclude_seen=False)
    yield lambda: model.recommend(k=2, left=rows[0])
    yield lambda: model.predict(pairs)
    yield lambda: model.predict_proba(pairs)
    yield lambda: model.decision_function(pairs, left=rows[0], right=rows[1])
    yield lambda: model.score(pairs, [0, 1])
    yield lambda: model.score(held_out)
    yield lambda: (model.embed_left(rows[0]), model.embed_right(rows[1]))
    if sizes[0] * sizes[1] < 10**6:
        yield lambda: model.fit(held_out)


def _calls_about_objects(model: Any) -> Iterator[Callable[[], Any]]:
    from nearer._fitting import map_of, n_objects_of

    given = nearer.datasets.planted(max(min(n_objects_of(model), 20), 4), 2, 40, random_state=4).comparisons
    for name in ("predict", "predict_proba", "score"):
        yield lambda name=name: getattr(model, name)(given) if hasattr(model, name) else None
    for name in ("rank_", "points_", "kernel_", "n_steps_", "n_projections_"):
        yield lambda name=name: getattr(model, name, None)
    yield lambda: map_of(model, 2)
    if hasattr(model, "partial_fit"):
        yield lambda: model.partial_fit(given)
        yield lambda: model.partial_fit(given)
    if hasattr(model, "add_objects"):
        yield lambda: model.add_objects(2)
        yield lambda: model.add_objects(names=["one", "two"])
        yield lambda: model.partial_fit(given)
    yield lambda: model.predict(given)
    yield lambda: model.fit(given)


def _calls_about_rows(model: Any) -> Iterator[Callable[[], Any]]:
    from scipy import sparse

    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, min(model.n_features_in_, 50)))
    y = np.arange(40) % 2
    labels = model.classes_[y] if hasattr(model, "classes_") else y
    is_map = isinstance(model, nearer.FeatureMap)
    target = rng.normal(size=(40, model.dual_coef_.shape[1])) if is_map else labels
    for rows in (X, X.astype(np.float32)) if is_map else (X, sparse.csr_matrix(X)):
        for name in ("predict", "predict_proba", "decision_function", "transform"):
            yield lambda name=name, rows=rows: getattr(model, name)(rows) if hasattr(model, name) else None
        yield lambda rows=rows: model.score(rows, target)
        if hasattr(model, "partial_fit"):
            yield lambda rows=rows: model.partial_fit(rows, target)
    for name in ("coef_", "intercept_", "components_", "kernel_weights_", "threshold_"):
        yield lambda name=name: getattr(model, name, None)
    yield lambda: model.pair_distance(X, X) if hasattr(model, "pair_distance") else None
    yield lambda: model.pair_distance(np.stack([X, -X], 1)) if hasattr(model, "get_metric") else None
    yield lambda: model.get_metric()(X[0], X[1]) if hasattr(model, "get_metric") else None
    yield lambda: model.get_feature_names_out() if hasattr(model, "get_feature_names_out") else None
    yield lambda: model.fit(X, target)
