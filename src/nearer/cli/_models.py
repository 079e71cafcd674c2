"""Saved models and what they are about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nearer.errors import InputError

if TYPE_CHECKING:
    from nearer.ordinal import OrdinalEmbedding


def load_model(path: Path) -> OrdinalEmbedding:
    """The ordinal embedding in a file; another kind of model is refused."""
    from nearer.ordinal import OrdinalEmbedding
    from nearer.saving import load

    estimator = load(path)
    if not isinstance(estimator, OrdinalEmbedding):
        raise InputError(f"{path}: this is a {type(estimator).__name__}, not a map that `nearer fit` wrote")
    return estimator


def object_names(estimator: OrdinalEmbedding) -> list[str]:
    """The objects' names, or their indices where they have none."""
    if estimator.names_ is not None:
        return list(estimator.names_)
    return [str(index) for index in range(len(estimator.embedding_))]
