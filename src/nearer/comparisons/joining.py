"""Join comparisons, and express them in the indices of a model."""

from __future__ import annotations

import numpy as np

from nearer.comparisons import Comparisons
from nearer.errors import InputError


def reindexed(comparisons: Comparisons, names: tuple[str, ...]) -> Comparisons:
    """Return the same comparisons with indices into `names`.

    >>> c = Comparisons([("cat", "dog", "car")])
    >>> reindexed(c, ("dog", "cat", "sun", "car")).indices
    array([[1, 0, 3]], dtype=int32)
    """
    assert comparisons.names is not None
    position = {name: at for at, name in enumerate(names)}
    lookup = np.array([position.get(name, -1) for name in comparisons.names], dtype=np.int64)
    indices = lookup[comparisons.indices]
    unknown = {comparisons.names[at] for at in comparisons.indices[indices < 0]}
    if unknown:
        others = f" (nor {len(unknown) - 1} others)" if len(unknown) > 1 else ""
        raise InputError(
            f"the model does not know the object {min(unknown)!r}{others}: fit it on comparisons that include it"
        )
    return Comparisons(
        indices,
        len(names),
        weights=comparisons.weights,
        annotators=comparisons.annotators,
        groups=comparisons.groups,
        names=names,
    )


def joined(first: Comparisons, second: Comparisons) -> Comparisons:
    """Return both sets of comparisons, the objects of the first keeping their indices.

    Numbers in the second are indices into the names of the first, if only the first has names.

    >>> joined(Comparisons([("a", "b", "c")]), Comparisons([("b", "a", "d")])).names
    ('a', 'b', 'c', 'd')
    """
    numbered_later = second.names is None and second.n_objects <= first.n_objects
    if (first.names is None) != (second.names is None) and not numbered_later:
        raise InputError(
            "some comparisons name their objects and the others number them: give all with names, or all without"
        )
    names = first.names
    n_objects = max(first.n_objects, second.n_objects)
    if first.names is not None and second.names is not None:
        known = set(first.names)
        names = first.names + tuple(name for name in second.names if name not in known)
        n_objects = len(names)
        second = reindexed(second, names)
    triplets = first.shape[1] == 3 and second.shape[1] == 3
    parts = [c.indices if triplets else c.quadruplets() for c in (first, second)]
    return Comparisons(
        np.concatenate(parts),
        n_objects,
        weights=_joined_weights(first, second),
        groups=_joined_groups(first, second),
        names=names,
    )


def _joined_weights(first: Comparisons, second: Comparisons) -> np.ndarray | None:
    if first.weights is None and second.weights is None:
        return None
    return np.concatenate([np.ones(len(c)) if c.weights is None else c.weights for c in (first, second)])


def _joined_groups(first: Comparisons, second: Comparisons) -> np.ndarray | None:
    """Groups renumbered so that those of the two sets differ; rows without one stand alone."""
    if first.groups is None and second.groups is None:
        return None
    numbered = [
        np.arange(len(c)) if c.groups is None else np.unique(c.groups, return_inverse=True)[1]
        for c in (first, second)
    ]
    return np.concatenate([numbered[0], numbered[1] + len(first)])
