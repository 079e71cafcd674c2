"""Saved models and what they are about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from nearer.errors import InputError

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons
    from nearer.ordinal import OrdinalEmbedding


def load_model(path: Path) -> OrdinalEmbedding:
    """The ordinal embedding in a file; another kind of model is refused."""
    from nearer.ordinal import OrdinalEmbedding
    from nearer.saving import load

    estimator = load(path)
    if not isinstance(estimator, OrdinalEmbedding):
        raise InputError(f"{path}: this is a {type(estimator).__name__}, not a map that `nearer fit` wrote")
    return estimator


def read_about(estimator: OrdinalEmbedding, path: Path, read: Callable[..., Comparisons]) -> Comparisons:
    """The comparisons of a file about the objects of a model; `read` takes `names` and `n_objects`.

    First the file is read for what it says itself, because with the model's names its numbers would count as indices.
    """
    names, n_objects = estimator.names_, len(estimator.embedding_)
    try:
        comparisons = read()
    except InputError:  # perhaps because of names that are numbers, which only the model tells from indices
        return read(names=names, n_objects=n_objects)
    named = comparisons.names is not None
    if not named and names is not None:
        named = {str(number) for number in set(comparisons.indices.ravel().tolist())} <= set(names)
    check_kind(estimator, path, named)
    as_in_the_model = comparisons.names == names and comparisons.n_objects <= n_objects
    if as_in_the_model or path.suffix.lower() == ".npz":  # whose rows are indices into its own names
        return comparisons
    return read(names=names, n_objects=n_objects)


def check_kind(estimator: OrdinalEmbedding, path: Path, named: bool) -> None:
    """Refuse numbers for a model that knows names, and names for one that knows numbers."""
    if named == (estimator.names_ is not None):
        return
    if estimator.names_ is None:
        raise InputError(
            f"{path}: the objects have names, but the model knows them by number, from 0 to "
            f"{len(estimator.embedding_) - 1}; give numbers, or fit a model to answers with names"
        )
    raise InputError(
        f"{path}: the objects have numbers, but the model knows them by name, such as {estimator.names_[0]!r}; "
        "give their names"
    )


def object_names(estimator: OrdinalEmbedding) -> list[str]:
    """The objects' names, or their indices where they have none."""
    if estimator.names_ is not None:
        return list(estimator.names_)
    return [str(index) for index in range(len(estimator.embedding_))]
