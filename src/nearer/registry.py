"""The table of estimators: one row serves `nearer.X`, model files, `nearer fit --model` and the API pages.

To add an estimator, write its module and add a row to `ESTIMATORS`. Its module is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple


class Registration(NamedTuple):
    """One estimator: where it is, what it is for, and how users reach it."""

    name: str
    module: str
    #: one line for the overview of the API
    about: str
    #: its page in docs/api
    page: str
    #: what `nearer fit --model` calls it; None if the command line does not fit it
    model: str | None = None
    #: the options of `nearer fit` by the parameters that they set
    options: Mapping[str, str] = {}
    #: other options of `nearer` that not all models have: how their files are read
    reading: tuple[str, ...] = ()
    #: the commands that its model files are for
    commands: tuple[str, ...] = ()
    #: the module of nearer.cli with its own `fit` and other commands, if they are not those of models of answers
    cli: str | None = None
    #: False if it is found in its own package only, not as `nearer.X`
    at_root: bool = True


_BUDGET = {"max_epochs": "max_epochs", "max_seconds": "max_seconds", "tol": "tol"}
_TABLE = ("header", "invalid")
_COMPARED = ("columns", "coding", "zero", "codes", "first_index", *_TABLE)
_ANSWERS = (*_COMPARED, "dim", "report", "start")
_ROWS = ("labels", "ignore", "features")
_PAIRS = ("left", "right", "weight", "time_column", "ids", "duplicates", "at_least", *_TABLE)
_SPACE = {"beta": "beta", "loss": "loss", "max_rank": "rank", **_BUDGET}
_OF_ANSWERS: dict[str, Any] = {"reading": _ANSWERS, "commands": ("evaluate", "predict", "plot")}

ESTIMATORS = (
    Registration(
        "OrdinalEmbedding",
        "nearer.ordinal",
        "points from comparisons",
        "ordinal.md",
        "embedding",
        {
            "n_components": "dim",
            "loss": "loss",
            "solver": "solver",
            "l2": "l2",
            "effort": "effort",
            "n_init": "restarts",
            "n_jobs": "jobs",
            **_BUDGET,
        },
        **_OF_ANSWERS,
    ),
    Registration(
        "RelativeKernel",
        "nearer.kernels.relative",
        "a positive semidefinite kernel from comparisons",
        "kernels.md",
        "kernel",
        {"loss": "loss", "trace_penalty": "trace_penalty", "max_rank": "rank", **_BUDGET},
        **_OF_ANSWERS,
    ),
    Registration(
        "OnlineKernel",
        "nearer.kernels.online",
        "such a kernel, learned from one answer at a time",
        "kernels.md",
        "online",
        {
            "update": "update",
            "step": "step",
            "max_step": "max_step",
            "passes": "passes",
            "trace_penalty": "trace_penalty",
            "rank": "rank",
        },
        **_OF_ANSWERS,
    ),
    Registration(
        "TwoTower",
        "nearer.towers.two_tower",
        "two towers over all pairs of two sets, from who was seen with what",
        "towers.md",
        "towers",
        {
            "n_components": "dim",
            "loss": "loss",
            "solver": "solver",
            "l2": "l2",
            "omega": "omega",
            "hidden": "hidden",
            "inputs": "inputs",
            "validation": "validation",
            "device": "device",
            "checkpoint": "checkpoint",
            **_BUDGET,
        },
        reading=(*_PAIRS, "left_features", "right_features", "search"),
        commands=("evaluate", "recommend", "export"),
        cli="_towers",
    ),
    Registration(
        "AUCClassifier",
        "nearer.pairwise.auc",
        "scores that rank the rows of one class above those of the other",
        "pairwise.md",
    ),
    Registration(
        "PairwiseLearner",
        "nearer.pairwise.learner",
        "scores, rankings and distances from pairs of rows",
        "pairwise.md",
    ),
    Registration(
        "MetricLearner",
        "nearer.coembedding.metric",
        "a Mahalanobis distance from similarities, comparisons, labels or pairs",
        "metric.md",
        "metric",
        {**_SPACE, "n_neighbors": "neighbors"},
        reading=(*_COMPARED, *_ROWS),
        commands=("evaluate", "predict"),
        cli="_metric",
    ),
    Registration(
        "CoEmbeddingClassifier",
        "nearer.coembedding.classifier",
        "the labels of rows, by distances in one space of rows and labels",
        "labels.md",
        "multilabel",
        {**_SPACE, "threshold": "threshold"},
        reading=(*_ROWS, "separator"),
        commands=("evaluate", "predict", "plot"),
        cli="_labels",
    ),
    Registration(
        "TagRecommender",
        "nearer.coembedding.tags",
        "the tags that a user gives to an item, by distances in one space of users, items and tags",
        "tags.md",
        "tags",
        {**_SPACE, "solver": "solver"},
        reading=("user", "item", "tag", "weight", "ids", "duplicates", *_TABLE),
        commands=("evaluate", "recommend", "plot"),
        cli="_tags",
    ),
    Registration(
        "LinkPredictor",
        "nearer.coembedding.links",
        "which objects of two sets, or of one, are linked, by distances and thresholds in one space",
        "links.md",
        "links",
        {**_SPACE, **{name: name for name in ("graph", "negatives", "rule", "offset", "balance")}},
        reading=(*_PAIRS, "left_features", "right_features"),
        commands=("evaluate", "predict", "recommend", "plot"),
        cli="_links",
    ),
    Registration(
        "FeatureMap",
        "nearer.features",
        "places objects that were never compared, by their features",
        "features.md",
    ),
    Registration(
        "Selector", "nearer.active.selector", "which question to ask next", "active.md", at_root=False
    ),
)
BY_NAME = {row.name: row for row in ESTIMATORS}
#: the estimators of `nearer fit --model`
BY_MODEL = {row.model: row for row in ESTIMATORS if row.model is not None}
#: packages whose dataclasses may be part of a saved model, and the modules that list those in `__all__`
PARTS = {
    "active": "nearer.active",
    "coembedding": "nearer.coembedding._saved",
    "kernels": "nearer.kernels._forms",
    "losses": "nearer.losses",
    "pairwise": "nearer.pairwise._saved",
    "solvers": "nearer.solvers",
    "towers": "nearer.towers._saved",
}


def estimator_class(name: str) -> Any:
    """Return the class of a registered estimator.

    >>> estimator_class("FeatureMap").__name__
    'FeatureMap'
    """
    return getattr(import_module(BY_NAME[name].module), name)
