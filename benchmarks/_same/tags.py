"""Cases of `TagRecommender`."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

import nearer
from benchmarks._same.case import Case, Numbers, attributes, case, course

TAG_SOLVERS = ("ila", "central-path")


@cache
def posts() -> nearer.Posts:
    """Return posts of users and items with the three nearest of some tags."""
    rng = np.random.default_rng(5)
    users, items, tags = (rng.normal(size=(count, 2)) for count in (12, 10, 15))
    pairs = [(u, i) for u in range(12) for i in rng.choice(10, 5, replace=False)]
    far = [((users[u] - tags) ** 2).sum(axis=1) + ((items[i] - tags) ** 2).sum(axis=1) for u, i in pairs]
    rows = [(*pair, tag) for pair, row in zip(pairs, far, strict=True) for tag in np.argsort(row)[:3]]
    return nearer.Posts.from_array(rows, n_users=12, n_items=10, n_tags=15)


def _tags(solver: str) -> Numbers:
    model = nearer.TagRecommender(0.3, solver=solver, random_state=0).fit(posts())
    scores = model.predict_scores(np.arange(12), np.zeros(12, int))
    return attributes(model, "beta_", "n_posts_") | course(model) | {"scores": scores}


_SINGLE = "directions are computed in single precision"
CASES: dict[str, Case] = {f"tags {solver}": case(_tags, solver) for solver in TAG_SOLVERS}
CASES["tags central-path"] = replace(CASES["tags central-path"], rtol=1e-5, reason=_SINGLE)
