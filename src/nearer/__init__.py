"""nearer: learn similarity from comparisons.

>>> import nearer
>>> answers, truth = nearer.datasets.planted(20, 2, 2000, random_state=0)
>>> train, test = answers.split(test_size=0.2, random_state=0)
>>> nearer.OrdinalEmbedding(n_components=2, random_state=0).fit(train).score(test) > 0.9
True
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nearer import active, datasets, losses, metrics, plotting, solvers
    from nearer.comparisons import Comparisons
    from nearer.features import FeatureMap
    from nearer.kernels.online import OnlineKernel
    from nearer.kernels.relative import RelativeKernel
    from nearer.ordinal import OrdinalEmbedding
    from nearer.pairwise.auc import AUCClassifier
    from nearer.pairwise.learner import PairwiseLearner
    from nearer.saving import load, save
    from nearer.selection import DimensionChoice, choose_dimension

try:
    __version__ = version("nearer")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0.0.0"

# Names are imported when first used: scikit-learn, numba and matplotlib would make `import nearer` slow.
_HOMES = {
    "Comparisons": "nearer.comparisons",
    "OrdinalEmbedding": "nearer.ordinal",
    "FeatureMap": "nearer.features",
    "OnlineKernel": "nearer.kernels.online",
    "RelativeKernel": "nearer.kernels.relative",
    "AUCClassifier": "nearer.pairwise.auc",
    "PairwiseLearner": "nearer.pairwise.learner",
    "DimensionChoice": "nearer.selection",
    "choose_dimension": "nearer.selection",
    "save": "nearer.saving",
    "load": "nearer.saving",
}
_MODULES = ("active", "datasets", "losses", "metrics", "plotting", "solvers")

__all__ = [
    "AUCClassifier",
    "Comparisons",
    "DimensionChoice",
    "FeatureMap",
    "OnlineKernel",
    "OrdinalEmbedding",
    "PairwiseLearner",
    "RelativeKernel",
    "__version__",
    "active",
    "choose_dimension",
    "datasets",
    "load",
    "losses",
    "metrics",
    "plotting",
    "save",
    "solvers",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"nearer.{name}")
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'nearer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
