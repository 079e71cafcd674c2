"""nearer: learn similarity from comparisons.

>>> import nearer
>>> answers, truth = nearer.datasets.planted(20, 2, 2000, random_state=0)
>>> train, test = answers.split(test_size=0.2, random_state=0)
>>> nearer.OrdinalEmbedding(n_components=2, random_state=0).fit(train).score(test) > 0.9
True
"""

# ruff: noqa: F401 - type checkers read the imports below
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nearer.registry import ESTIMATORS

if TYPE_CHECKING:
    from nearer import active, datasets, losses, metrics, plotting, solvers
    from nearer.coembedding.classifier import CoEmbeddingClassifier
    from nearer.coembedding.links import LinkPredictor
    from nearer.coembedding.metric import MetricLearner
    from nearer.coembedding.tags import TagRecommender
    from nearer.comparisons import Comparisons
    from nearer.features import FeatureMap
    from nearer.interactions import Interactions, Posts
    from nearer.kernels.online import OnlineKernel
    from nearer.kernels.relative import RelativeKernel
    from nearer.ordinal import OrdinalEmbedding
    from nearer.pairwise.auc import AUCClassifier
    from nearer.pairwise.learner import PairwiseLearner
    from nearer.saving import load, save
    from nearer.selection import DimensionChoice, choose_dimension
    from nearer.towers.two_tower import TwoTower

    __version__: str

# Names are imported when first used: scikit-learn, numba and matplotlib would make `import nearer` slow.
_HOMES = {row.name: row.module for row in ESTIMATORS if row.at_root} | {
    "Comparisons": "nearer.comparisons",
    "DimensionChoice": "nearer.selection",
    "Interactions": "nearer.interactions",
    "Posts": "nearer.interactions",
    "choose_dimension": "nearer.selection",
    "save": "nearer.saving",
    "load": "nearer.saving",
}
_MODULES = ("active", "datasets", "losses", "metrics", "plotting", "solvers")

__all__ = sorted([*_HOMES, *_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"nearer.{name}")
    if name == "__version__":
        value: Any = _version()
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'nearer' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("nearer")
    except PackageNotFoundError:  # a source tree that was never installed
        return "0.0.0"
