"""What fitted models of objects have in common: so many objects, and a map of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nearer._fitting.inputs import known_to
from nearer.comparisons import Comparisons
from nearer.kernels.base import KernelModel
from nearer.metrics import triplet_error

if TYPE_CHECKING:
    from nearer.kernels.online import OnlineKernel
    from nearer.kernels.relative import RelativeKernel
    from nearer.ordinal import OrdinalEmbedding

    Model = OrdinalEmbedding | RelativeKernel | OnlineKernel


def n_objects_of(model: Model) -> int:
    """How many objects a model knows."""
    return model._n_objects if isinstance(model, KernelModel) else len(model.embedding_)


def map_of(model: Model, n_components: int = 2) -> np.ndarray:
    """The points of an embedding, or the leading dimensions of a kernel.

    >>> import nearer
    >>> answers, _ = nearer.datasets.planted(6, 2, 50, random_state=0)
    >>> map_of(nearer.OnlineKernel().fit(answers), 3).shape
    (6, 3)
    """
    return model.embedding(n_components) if isinstance(model, KernelModel) else model.embedding_


def share_on_map(model: Model, points: np.ndarray, comparisons: Comparisons) -> float:
    """The share of comparisons that hold for these points of the model's objects."""
    return 1.0 - triplet_error(points, known_to(comparisons, len(points), model.names_))
