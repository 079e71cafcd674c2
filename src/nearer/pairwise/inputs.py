"""Check the input of the estimators of pairs: rows, labels, groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nearer._utils.tables import finite_rows, labels_of_one_kind, naming_cells, well_formed
from nearer.errors import InputError

_BLOCK = 1000
#: bounds on the largest absolute value of all rows: squares and their sums neither overflow nor vanish in between
_LARGEST, _SMALLEST = 1e150, 1e-120


def checked_rows(estimator: Any, X: Any, reset: bool = False) -> Any:
    """Return rows as floats, dense or CSR."""
    return finite_rows(_validated(estimator, X, "no_validation", reset))


def checked_data(
    estimator: Any, X: Any, y: Any, reset: bool = False, learned: bool = False
) -> tuple[Any, np.ndarray]:
    """Return rows as floats, dense or CSR, and their labels; with `reset` the estimator records its features.

    With `learned` the rows are to be learned from, so their squares must be finite.
    """
    if y is not None and not callable(getattr(estimator, "pair", None)):  # a function may accept any labels
        y = labels_of_one_kind(y, "y", "leave out rows without a label")
    X, y = _validated(estimator, X, y, reset)
    X = finite_rows(X)
    if learned:
        check_sizes(X)
    return X, y


def check_sizes(X: Any) -> None:
    """Refuse numbers whose squares are infinite, or all of which are so small that their squares are zero."""
    numbers = X if isinstance(X, np.ndarray) else X.data[None, :]
    with np.errstate(over="ignore", under="ignore"):
        squares = float(np.einsum("ij,ij->", numbers, numbers))
    if _SMALLEST**2 <= squares < np.inf or not numbers.any():
        return
    largest = float(max(numbers.max(), -numbers.min()))
    if not _SMALLEST <= largest <= _LARGEST:
        raise InputError(
            f"the largest number of X is {largest:.0e} in size, too {'large' if largest > 1 else 'small'} to work with "
            "its square: scale the features, for example by sklearn.preprocessing.MaxAbsScaler"
        )


def _validated(estimator: Any, X: Any, y: Any, reset: bool) -> Any:
    from sklearn.utils.validation import validate_data

    if sparse.issparse(X):
        well_formed(X)
    else:
        with naming_cells(X):
            shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
        if len(shape) != 2:
            raise InputError(f"X must not have shape {shape}: Reshape your data to one row for each sample")
    options: dict[str, Any] = {
        "accept_sparse": "csr",
        "dtype": (np.float64, np.float32),
        "ensure_all_finite": False,
        "reset": reset,
    }
    with naming_cells(X):
        return validate_data(estimator, X, y, **options)


def binary_classes(y: np.ndarray, remedy: str = "give rows of both") -> np.ndarray:
    """Return the two classes of labels, sorted."""
    from sklearn.utils.multiclass import check_classification_targets

    try:
        check_classification_targets(y)
    except (TypeError, ValueError) as error:  # numbers that are not classes, or bytes
        raise InputError(
            f"{str(error).rstrip('.')}: give two classes as texts, whole numbers or booleans"
        ) from error
    classes = np.unique(y)
    if len(classes) == 1:
        raise InputError(
            f"holds one class only, {_named(classes)}, but a pair takes a row of each of two classes: {remedy}",
            parameter="y",
        )
    if len(classes) > 2:
        raise InputError(
            f"Only binary classification is supported, but y holds {len(classes)} classes, {_named(classes)}: keep two "
            "of them, or ask of one against the others"
        )
    return classes


def two_classes(classes: Any) -> np.ndarray:
    """Return the classes that the user names, sorted."""
    classes = np.unique(labels_of_one_kind(classes, "classes", "name both classes"))
    if len(classes) != 2:
        raise InputError(f"must name two classes, not {len(classes)}: {_named(classes)}", parameter="classes")
    return classes


def classes_of_stream(known: np.ndarray | None, y: np.ndarray, classes: Any) -> np.ndarray:
    """Return the classes of a stream: those already known, those that the user names, or those of the first rows."""
    if known is None:
        if classes is None:
            return binary_classes(y, "name both by classes=, or begin with rows of both")
        return two_classes(classes)
    if classes is not None and not np.array_equal(two_classes(classes), known):
        raise InputError(
            f"are {_named(two_classes(classes))}, but the stream began with {_named(known)}: name the same, or "
            "leave them out",
            parameter="classes",
        )
    return known


def positive_rows(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return which rows are of the second class; refuse labels of neither class."""
    positive = y == classes[1]
    strange = ~(positive | (y == classes[0]))
    if strange.any():
        row = int(np.flatnonzero(strange)[0])
        raise InputError(
            f"holds {_named(y[row : row + 1])} in row {row}, but the classes are {_named(classes)}: give these "
            "labels only, or fit again with the others",
            parameter="y",
        )
    return positive


def checked_groups(groups: Any, n_rows: int) -> np.ndarray | None:
    """Return one group per row, or None."""
    if groups is None:
        return None
    groups = labels_of_one_kind(groups, "groups", "give the group of every row")
    if groups.shape != (n_rows,):
        raise InputError(
            f"has shape {groups.shape}, but X has {n_rows} rows: give one group per row", parameter="groups"
        )
    return groups


def checked_grades(y: np.ndarray) -> np.ndarray:
    """Return labels that have an order: numbers or booleans."""
    if y.dtype.kind not in "biuf":
        raise InputError(
            f"pair='ranking' needs grades, numbers of which the higher is better, not labels such as {_named(y[:1])}"
        )
    return y


def check_not_constant(X: Any) -> None:
    """Refuse rows that are all equal; usually the first block shows that they differ."""
    first = X[:1].toarray() if sparse.issparse(X) else X[:1]
    for start in range(0, X.shape[0], _BLOCK):
        rows = X[start : start + _BLOCK]
        if sparse.issparse(rows):
            spread = rows.max(axis=0).toarray() - rows.min(axis=0).toarray()
            if spread.any() or (rows[:1].toarray() != first).any():
                return
        elif (rows != first).any():
            return
    raise InputError(
        "all features are constant, so that no row can be told from another: give features that vary"
    )


def _named(labels: np.ndarray) -> str:
    shown = [repr(label.item() if isinstance(label, np.generic) else label) for label in labels[:5]]
    return ", ".join(shown) + (", ..." if len(labels) > 5 else "")
