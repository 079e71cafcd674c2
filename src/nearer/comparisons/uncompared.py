"""Objects that no comparison mentions, counted without an array over all objects."""

from __future__ import annotations

import numpy as np

from nearer.comparisons.checks import Fields

#: with more objects per cell than this, sorting the cells takes less memory than a mark per object
_SPARSE = 10


def compared_objects(fields: Fields) -> np.ndarray:
    """Return the indices of the objects that some row mentions, ascending."""
    if fields.n_objects > _SPARSE * fields.indices.size:
        return np.unique(fields.indices)
    seen = np.zeros(fields.n_objects, dtype=bool)
    for column in fields.indices.T:
        seen[column] = True
    return np.flatnonzero(seen)


def n_uncompared(fields: Fields) -> int:
    """Return the number of objects that no row mentions."""
    return fields.n_objects - len(compared_objects(fields))


def first_uncompared(fields: Fields, count: int) -> np.ndarray:
    """Return the lowest `count` indices of objects that no row mentions."""
    seen = compared_objects(fields)
    candidates = np.arange(min(len(seen) + count, fields.n_objects))  # of which at most len(seen) are seen
    return np.setdiff1d(candidates, seen, assume_unique=True)[:count]


def uncompared(fields: Fields) -> np.ndarray:
    """Return the indices of all objects that no row mentions."""
    seen = np.zeros(fields.n_objects, dtype=bool)
    seen[compared_objects(fields)] = True
    return np.flatnonzero(~seen)
