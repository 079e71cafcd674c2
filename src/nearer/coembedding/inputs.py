"""Read rows and supervision as scikit-learn and metric-learn write them: rows, tuples of rows, or indices of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nearer._utils.tables import naming_cells
from nearer.coembedding.tasks import ComparisonTask, LabelTask, PairTask, TargetTask, Task
from nearer.comparisons import Comparisons
from nearer.errors import InputError, Place
from nearer.pairwise.inputs import check_sizes, checked_data, checked_rows

#: rows of a tuple: a pair, a triplet, or two pairs
_TUPLES = (2, 3, 4)


def read(estimator: Any, X: Any, y: Any, reset: bool = False) -> tuple[Any, Task]:
    """Return the rows of X, as floats, and what y says about them; with `reset` the estimator records its features."""
    if _asks_preprocessor(estimator, X):
        return _read_indices(estimator, np.asarray(X), y, reset)
    if _dimensions(X) == 3:
        return _read_tuples(estimator, X, y, reset)
    return _read_rows(estimator, X, y, reset)


def rows_of(estimator: Any, X: Any) -> Any:
    """Return rows as floats, dense or CSR, where X may hold indices for the preprocessor."""
    if _asks_preprocessor(estimator, X):
        indices = np.asarray(X)
        if indices.ndim != 1:
            raise InputError(f"X must be one index per row, not of shape {indices.shape}", parameter="X")
        X = looked_up(estimator.preprocessor, indices)
    return checked_rows(estimator, X)


def pairs_of(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return both rows of every pair: of X of shape (n, 2, features), or of indices (n, 2) for the preprocessor."""
    if _asks_preprocessor(estimator, X):
        indices = np.asarray(X)
        shape = indices.shape
        if len(shape) == 2 and shape[1] == 2:
            both = checked_rows(estimator, looked_up(estimator.preprocessor, indices.T.ravel()))
            return both[: len(indices)], both[len(indices) :]
    else:
        array = np.asarray(X)
        shape = array.shape
        if len(shape) == 3 and shape[1] == 2:
            return checked_rows(estimator, array[:, 0]), checked_rows(estimator, array[:, 1])
    raise InputError(
        f"has shape {shape}, but pairs of rows have shape (n, 2, features)",
        "pass both rows of each pair, or the rows and the others as two tables",
        parameter="X",
    )


def looked_up(preprocessor: Any, indices: np.ndarray) -> Any:
    """Return the rows of some indices from a table, or from a function that returns them."""
    if callable(preprocessor):
        return preprocessor(indices)
    table = preprocessor if sparse.issparse(preprocessor) else np.asarray(preprocessor)
    strange = np.flatnonzero((indices < 0) | (indices >= table.shape[0]))
    if len(strange):
        at = int(strange[0])
        raise InputError(
            f"is {indices[at]}, but the preprocessor has {table.shape[0]} rows",
            "give indices from 0 to one below that",
            parameter="X",
            place=Place(row=at),
        )
    return table[indices]


def _asks_preprocessor(estimator: Any, X: Any) -> bool:
    """Return whether X holds indices; with a preprocessor, rows are still rows."""
    if estimator.preprocessor is None or sparse.issparse(X):
        return False
    array = np.asarray(X)
    return array.dtype.kind in "iu" and (array.ndim == 1 or (array.ndim == 2 and array.shape[1] in _TUPLES))


def _dimensions(X: Any) -> int:
    if sparse.issparse(X) or hasattr(X, "columns"):
        return 2
    with naming_cells(X):
        return X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim


def _read_rows(estimator: Any, X: Any, y: Any, reset: bool) -> tuple[Any, Task]:
    if y is None:
        raise InputError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: pass labels, similarities "
            "or Comparisons of the rows"
        )
    if isinstance(y, Comparisons):
        rows = _learnable(checked_rows(estimator, X, reset))
        return rows, _compared(_by_name(X, y, rows.shape[0]))
    target = np.asarray(y, dtype=object) if isinstance(y, list) and not np.ndim(_first(y)) else np.asarray(y)
    if target.ndim == 2 and target.shape[1] > 1:
        rows = _learnable(checked_rows(estimator, X, reset))
        return rows, TargetTask(_checked_target(target, rows.shape[0]))
    n_rows = (X if hasattr(X, "shape") else np.asarray(X)).shape[0]
    if target.ndim and len(target) != n_rows:
        raise InputError(
            f"has {len(target)} labels, but X has {n_rows} rows", "give one label per row", parameter="y"
        )
    rows, labels = checked_data(estimator, X, y, reset)
    return _learnable(rows), LabelTask(_checked_labels(labels))


def _read_tuples(estimator: Any, X: Any, y: Any, reset: bool) -> tuple[Any, Task]:
    array = np.asarray(X)
    count, width = array.shape[:2]
    _check_width(width, array.shape)
    rows = _learnable(checked_rows(estimator, array.reshape(count * width, -1), reset))
    return rows, _task_of(np.arange(count * width).reshape(count, width), y)


def _read_indices(estimator: Any, indices: np.ndarray, y: Any, reset: bool) -> tuple[Any, Task]:
    if indices.ndim == 1:
        return _read_rows(estimator, looked_up(estimator.preprocessor, indices), y, reset)
    used, places = np.unique(indices, return_inverse=True)
    rows = _learnable(checked_rows(estimator, looked_up(estimator.preprocessor, used), reset))
    return rows, _task_of(places.reshape(indices.shape), y)


def _task_of(tuples: np.ndarray, y: Any) -> Task:
    """Return the task of tuples of row numbers: pairs, or comparisons with the nearer rows first."""
    _check_different(tuples)
    signs = None if y is None else _signs(y, len(tuples))
    if tuples.shape[1] == 2:
        if signs is None:
            raise InputError(
                "says which pairs belong together, but is None", "pass 1 or -1 for each", parameter="y"
            )
        if len(np.unique(signs)) < 2:
            raise InputError(
                "has pairs of one kind only",
                "give pairs that belong together and pairs that do not",
                parameter="y",
            )
        return PairTask(tuples, signs > 0)
    if tuples.shape[1] == 3:
        tuples = tuples[:, [0, 1, 0, 2]]
    if signs is not None:
        tuples = np.where(signs[:, None] > 0, tuples, tuples[:, [2, 3, 0, 1]])
    return ComparisonTask(tuples)


def _check_different(tuples: np.ndarray) -> None:
    """Refuse tuples that hold the distance of a row from itself."""
    width = tuples.shape[1]
    ends = {2: [(0, 1)], 3: [(0, 1), (0, 2)], 4: [(0, 1), (2, 3)]}[width]
    equal = np.any([tuples[:, i] == tuples[:, j] for i, j in ends], axis=0)
    if equal.any():
        raise InputError(
            "pairs a row with itself",
            "leave such tuples out",
            parameter="X",
            place=Place(row=int(equal.argmax())),
        )


def _signs(y: Any, count: int) -> np.ndarray:
    """Return 1 or -1 per tuple, from these or from booleans."""
    signs = np.asarray(y)
    if signs.shape != (count,):
        raise InputError(
            f"has shape {signs.shape}, but there are {count} tuples: give one each", parameter="y"
        )
    if signs.dtype.kind == "b":
        return np.where(signs, 1, -1)
    strange = ~np.isin(signs, (-1, 1))
    if strange.any():
        at = int(np.flatnonzero(strange)[0])
        raise InputError(
            f"holds {signs[at]!r}, but says 1 for yes and -1 for no", parameter="y", place=Place(row=at)
        )
    return signs.astype(int)


def _compared(comparisons: Comparisons) -> ComparisonTask:
    if not len(comparisons):
        raise InputError("there are no comparisons to learn from: pass at least one")
    weights = comparisons.weights
    if weights is not None and not weights.any():
        raise InputError("all comparisons have weight 0: set at least one weight above 0")
    return ComparisonTask(comparisons.quadruplets(), weights, comparisons.groups)


def _by_name(X: Any, comparisons: Comparisons, n_rows: int) -> Comparisons:
    """Return comparisons whose indices are row numbers; a frame whose index holds names is matched by name."""
    from nearer.comparisons.joining import reindexed

    names, index = comparisons.names, getattr(X, "index", None)
    labels = None if index is None or callable(index) else list(index)
    if names is not None and labels is not None and all(isinstance(label, str) for label in labels):
        missing = sorted(set(names) - set(labels))
        if missing:
            raise InputError(
                f"has no row for the object {missing[0]!r}", "give the features of all objects", parameter="X"
            )
        return reindexed(comparisons, tuple(labels))
    exact = names is not None
    if comparisons.n_objects > n_rows or (exact and comparisons.n_objects != n_rows):
        raise InputError(
            f"has {n_rows} rows, but the comparisons are about {comparisons.n_objects} objects: give one row per "
            "object, in their order",
            parameter="X",
        )
    return comparisons


def _checked_target(target: np.ndarray, n_rows: int) -> np.ndarray:
    if target.shape != (n_rows, n_rows):
        remedy = (
            "wrap answers in nearer.Comparisons(...)"
            if target.shape[1] in (3, 4)
            else "give a similarity for every two rows"
        )
        raise InputError(f"has shape {target.shape}, but X has {n_rows} rows", remedy, parameter="y")
    with naming_cells(target, "similarities", "give numbers"):
        numbers = target.astype(np.float64)
    bad = np.argwhere(~np.isfinite(numbers))
    if len(bad):
        row, column = (int(at) for at in bad[0])
        raise InputError(
            f"holds {numbers[row, column]}: give finite similarities",
            parameter="y",
            place=Place(row=row, column=column),
        )
    return numbers


def _checked_labels(labels: np.ndarray) -> np.ndarray:
    from sklearn.utils.multiclass import check_classification_targets

    try:
        check_classification_targets(labels)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{str(error).rstrip('.')}: give labels as texts, whole numbers or booleans"
        ) from error
    return labels


def _check_width(width: int, shape: tuple[int, ...]) -> None:
    if width not in _TUPLES:
        raise InputError(
            f"X has shape {shape}, but tuples are pairs, triplets or quadruplets of rows: give 2, 3 or 4 rows each"
        )


def _learnable(rows: Any) -> Any:
    """Return rows whose squares can be worked with."""
    if rows.shape[0] < 2:
        raise InputError("Found array with 1 sample(s), while a minimum of 2 is required: give more rows")
    check_sizes(rows)
    return rows


def _first(values: list) -> Any:
    return values[0] if values else None
