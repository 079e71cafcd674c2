"""Random parts of comparisons that never separate what belongs together."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer._utils.text import counted
from nearer._utils.validation import whole
from nearer.comparisons.checks import Fields
from nearer.errors import InputError


def units_of(fields: Fields, by: str | None) -> np.ndarray:
    """For every row the number of its unit, 0, 1, ...: rows of one unit stay on one side of any split.

    Units are single rows, or groups, or annotators; where groups and annotators overlap, all rows that a
    chain of shared groups and annotators connects.
    """
    if by not in (None, "annotator"):
        raise InputError(f"must be 'annotator' or None, not {by!r}", parameter="by")
    if by == "annotator" and fields.annotators is None:
        raise InputError(
            "is 'annotator', but the comparisons have no annotators",
            parameter="by",
            remedy="give them or leave it out",
        )
    labels = [fields.groups] if by is None else [fields.groups, fields.annotators]
    known = [np.unique(label, return_inverse=True)[1] for label in labels if label is not None]
    if not known:
        return np.arange(len(fields.indices))
    return known[0] if len(known) == 1 else _connected(*known)


def _connected(groups: np.ndarray, annotators: np.ndarray) -> np.ndarray:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_groups, n_nodes = groups.max(initial=-1) + 1, groups.max(initial=-1) + annotators.max(initial=-1) + 2
    links = coo_array((np.ones(len(groups)), (groups, n_groups + annotators)), shape=(n_nodes, n_nodes))
    return connected_components(links, directed=False)[1][groups].astype(np.int64)


def held_out_rows(units: np.ndarray, test_size: Any, random: np.random.Generator) -> np.ndarray:
    """A mask of the rows in the test part."""
    target = _target(test_size, len(units))
    sizes = np.bincount(units)
    if len(sizes) < 2:
        raise InputError(
            f"{counted(len(units), 'comparison')} in {counted(len(sizes), 'group')} cannot be split",
            remedy="give at least two rows, groups or annotators",
        )
    order = random.permutation(len(sizes))
    filled = np.cumsum(sizes[order])
    n_units = int(np.argmin(np.abs(filled - target))) + 1
    chosen = np.zeros(len(sizes), dtype=bool)
    chosen[order[: min(n_units, len(sizes) - 1)]] = True
    return chosen[units]


def _target(test_size: Any, n_rows: int) -> float:
    """How many rows the test part should have."""
    whole = isinstance(test_size, (int, np.integer)) and not isinstance(test_size, bool)
    if isinstance(test_size, str) or not 0 < test_size < (n_rows if whole else 1):
        raise InputError(
            f"must be a share between 0 and 1, or a number of rows below the {n_rows} there are, not {test_size!r}",
            parameter="test_size",
        )
    return float(test_size) if whole else test_size * n_rows


def fold_of_rows(units: np.ndarray, n_splits: int, random: np.random.Generator) -> np.ndarray:
    """For every row the number of the fold that tests it."""
    n_units = int(units.max(initial=-1)) + 1
    whole("n_splits", n_splits, at_least=2)
    if n_splits > n_units:
        raise InputError(
            f"must be from 2 to {n_units}, the number of rows or groups, not {n_splits}", parameter="n_splits"
        )
    fold_of_unit = np.empty(n_units, dtype=np.int64)
    fold_of_unit[random.permutation(n_units)] = np.arange(n_units) % n_splits
    return fold_of_unit[units]
