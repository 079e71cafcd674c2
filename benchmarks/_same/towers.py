"""Cases of `TwoTower`."""

from __future__ import annotations

from typing import Any

import numpy as np

import nearer
from benchmarks._same.case import Case, Numbers, attributes, case, course

TOWER_SOLVERS = (
    *("newton", "gd", "gd-diag", "full-adam", "eigen-adam", "noisy-adam", "noisy-eigen-adam", "als"),
    *("sogram", "sogram-diag", "sampling", "sampling-diag", "sg"),
)


def _fit(**settings: Any) -> Numbers:
    clicks, left, _ = nearer.datasets.planted_interactions(40, 25, 3, 300, random_state=0)
    settings = {
        "n_components": 4,
        "hidden": (6,),
        "max_epochs": 5,
        "dtype": "float64",
        "random_state": 0,
    } | settings
    model = nearer.TwoTower(**settings).fit(clicks, left=left if settings.get("inputs") is None else None)
    asked = {"items": model.recommend(k=3).items, "score": model.score(clicks)}
    if settings.get("inputs") is None:
        asked["new"] = model.embed_left(features=np.ones((1, 3)), history=clicks.csr()[:1])
    return attributes(model, "left_embedding_", "right_embedding_") | course(model) | asked


def _of(solver: str) -> Case:
    loss = {"loss": "square"} if solver == "als" else {}
    return case(_fit, solver=solver, inputs="ids", **loss)


CASES: dict[str, Case] = {
    **{f"towers {solver}": _of(solver) for solver in TOWER_SOLVERS},
    "towers auto": case(_fit),
    "towers linear": case(_fit, hidden=(), inputs="ids"),
    "towers network alone": case(_fit, linear=False, frequency=0.0, inputs="ids"),
}
