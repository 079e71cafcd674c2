"""What users give as comparisons, and what a model makes of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from nearer.comparisons import Comparisons
from nearer.comparisons.joining import reindexed
from nearer.comparisons.store import check_numbers
from nearer.errors import InputError


def as_comparisons(X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> Comparisons:
    """Comparisons as they are; arrays of indices or names, with or without responses, as comparisons."""
    if y is not None and isinstance(X, Comparisons):
        raise InputError(
            "comparisons hold their answers already: leave y out, or give the questions as an array"
        )
    if y is not None:
        return Comparisons.from_responses(X, y)
    return X if isinstance(X, Comparisons) else Comparisons(X)


def known_to(
    comparisons: Comparisons, n_objects: int, names: tuple[str, ...] | None, *, can_grow: bool = False
) -> Comparisons:
    """The comparisons by the indices of a model with these objects: by name where they have names.

    Where the model can grow, the sentence about an unknown object says so.

    >>> known_to(Comparisons([("cat", "dog", "car")]), 4, ("dog", "cat", "sun", "car")).indices
    array([[1, 0, 3]], dtype=int32)
    """
    if comparisons.names is None:
        if comparisons.n_objects > n_objects:
            check_numbers(comparisons)
            raise InputError(
                f"the comparisons are about {comparisons.n_objects} objects but the model knows "
                f"{n_objects}: {_remedy(can_grow, 'the others')}"
            )
        return comparisons
    if names is None:
        raise InputError(
            f"the comparisons name their objects, such as {comparisons.names[0]!r}, but the model knows them by "
            "number: fit it on comparisons with names, or give indices"
        )
    if comparisons.names == names:
        return comparisons
    _check_names(comparisons, names, can_grow)
    return reindexed(comparisons, names)


def _remedy(can_grow: bool, what: str) -> str:
    return f"add {what} with add_objects first" if can_grow else f"fit it on comparisons that include {what}"


def _check_names(comparisons: Comparisons, names: tuple[str, ...], can_grow: bool) -> None:
    """Refuse rows about objects that the model does not know, naming the first."""
    assert comparisons.names is not None
    strange = ~np.isin(comparisons.names, names)
    rows, columns = np.nonzero(strange[comparisons.indices])
    if len(rows):
        name = comparisons.names[comparisons.indices[rows[0], columns[0]]]
        raise InputError(
            f"row {rows[0]} (counting from 0): the model does not know the object {name!r}: "
            f"{_remedy(can_grow, 'it')}, or leave the row out"
        )
