"""Features that scores are linear in: the rows as they are, random Fourier features, or several maps side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from nearer._utils.arrays import row_blocks
from nearer._utils.schema import LARGEST, Array, Fields, Items, Number, Part, Settings, Size, optional
from nearer._utils.validation import positive, whole
from nearer.errors import InputError
from nearer.objectives.pair_rows import LazyRows, ready
from nearer.pairwise._scales import columns_of, length_of_rows, moved, sample_of, scales_of, shift_of

#: features that take more bytes than this are recomputed for every block of pairs
MOST_BYTES = 2**29


class RowMap(Protocol):
    """A fitted map from rows to features."""

    @property
    def width(self) -> int:
        """Return the number of features."""

    def __call__(self, X: Any) -> Any:
        """Return the features of the rows of X, dense or sparse."""


@dataclass(frozen=True)
class Rows:
    """The rows as they are, or each column less its shift and divided by its scale.

    Parameters
    ----------
    scales, shift : arrays (width,), optional
    length : float
        The unit in which the L2 term measures weights: as if rows were divided by it.

    Examples
    --------
    >>> Rows(2, np.array([1.0, 10.0]))(np.eye(2))
    array([[1. , 0. ],
           [0. , 0.1]])
    """

    width: int
    scales: np.ndarray | None = None
    shift: np.ndarray | None = None
    length: float = 1.0
    _schema = Fields(
        width=Size("d"),
        scales=optional(Array("d", at_least=1 / LARGEST, dtype="float64", order="C")),
        shift=optional(Array("d", dtype="float64", order="C")),
        length=Number(at_least=1 / LARGEST, at_most=LARGEST),
    )

    def __call__(self, X: Any) -> Any:
        return moved(X, self.shift, self.scales)

    def for_rows(self, weights: np.ndarray) -> np.ndarray:
        """Convert weights of these features to weights of the original columns; features run along the last axis."""
        return weights if self.scales is None else weights / self.scales


@dataclass(frozen=True)
class RandomFourier:
    """Random features whose inner products are about the Gaussian kernel `exp(-gamma |x - x'|²)`.

    Parameters
    ----------
    n_components : int
        Number of features; the error of a kernel value is about 1 / sqrt(n_components).
    gamma : float or "scale"
        Width of the kernel; "scale" is 1 / (number of features * their variance), from up to 1,000 of the rows of a
        fit or of a stream's first chunk. Columns are measured from their medians for that.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(5, 2))
    >>> features = RandomFourier(2000, gamma=0.5).fit(X, np.random.default_rng(1))(X)
    >>> kernel = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    >>> bool(np.abs(features @ features.T - kernel).max() < 0.1)
    True
    """

    n_components: int = 500
    gamma: float | str = "scale"
    _schema = Settings()

    def __post_init__(self) -> None:
        whole("n_components", self.n_components)
        if self.gamma != "scale":
            if isinstance(self.gamma, str):
                raise InputError(
                    f'must be "scale" or a number above 0, not {self.gamma!r}', parameter="gamma"
                )
            positive("gamma", self.gamma)

    def fit(self, X: Any, rng: np.random.Generator) -> FourierMap:
        """Return the map for rows like these."""
        gamma = _usual_gamma(X) if self.gamma == "scale" else float(self.gamma)
        directions = rng.normal(size=(X.shape[1], self.n_components)) * np.sqrt(2 * gamma)
        return FourierMap(directions, rng.uniform(0, 2 * np.pi, self.n_components))


@dataclass(frozen=True)
class FourierMap:
    """`sqrt(2 / D) cos(x W + b)`, in single precision: the error of D random features is far larger than rounding."""

    directions: np.ndarray
    offsets: np.ndarray
    _schema = Fields(
        directions=Array("d", "width", filled=True, dtype="float64"),
        offsets=Array("width", dtype="float64"),
    )

    @property
    def width(self) -> int:
        return len(self.offsets)

    def after(self, rows: Rows) -> FourierMap:
        """Return the map that includes the shift and the scales of `rows`."""
        directions = np.ascontiguousarray(rows.for_rows(self.directions.T).T)
        offsets = self.offsets if rows.shift is None else self.offsets - rows.shift @ directions
        return replace(self, directions=directions, offsets=offsets)

    def __call__(self, X: Any) -> np.ndarray:
        features = np.empty((X.shape[0], self.width), np.float32)
        for block in row_blocks(X.shape[0], self.width):
            features[block] = np.cos(X[block] @ self.directions + self.offsets)
        features *= np.float32(np.sqrt(2 / self.width))
        return features


@dataclass(frozen=True)
class Transformed:
    """The output of a fitted scikit-learn transformer, each column minus its shift."""

    transformer: Any
    width: int
    shift: np.ndarray | None = None

    def __call__(self, X: Any) -> Any:
        return moved(ready(self.transformer.transform(X)), self.shift, None)


@dataclass(frozen=True)
class Joined:
    """Several maps side by side, each times its scale.

    >>> Joined((Rows(1), Rows(1)), np.array([1.0, 2.0]))(np.ones((1, 1)))
    array([[1., 2.]])
    """

    parts: tuple[RowMap, ...]
    scales: np.ndarray
    _schema = Fields(
        parts=Items(Part(Rows, FourierMap, shares=("d",)), "kernels"),
        scales=Array("kernels", filled=True, at_least=0, dtype="float64"),
    )

    @property
    def width(self) -> int:
        return sum(part.width for part in self.parts)

    @property
    def slices(self) -> list[slice]:
        """Return the columns of each part."""
        ends = np.cumsum([part.width for part in self.parts])
        return [slice(int(end) - part.width, int(end)) for part, end in zip(self.parts, ends, strict=True)]

    def scaled(self, scales: np.ndarray) -> Joined:
        """Return the same maps with other scales."""
        return replace(self, scales=scales)

    def __call__(self, X: Any) -> Any:
        # a numpy scalar would turn single precision into double
        features = [part(X) * float(scale) for part, scale in zip(self.parts, self.scales, strict=True)]
        if all(sparse.issparse(part) for part in features):
            return sparse.hstack(features, format="csr")
        return np.hstack([part.toarray() if sparse.issparse(part) else part for part in features])


def fit_map(
    model: Any, X: Any, rng: np.random.Generator, scale: bool | str = False, centred: bool = False
) -> RowMap:
    """Fit the map that a model's name or description stands for.

    Parameters
    ----------
    model : "linear", "rff", RandomFourier, transformer of scikit-learn, or list of these
        The features of the kernels in a list are concatenated, each scaled so that the mean squared distance between
        two rows is 1. This makes the weights of kernels comparable.
    scale : "auto" or bool
        Whether to divide each column of X by the size of its numbers first. Applies to "linear" and "rff" only.
    centred : bool
        Whether to subtract the medians even if differences of rows lose no digits.
    """
    rows = None if sees_to_scales(model, scale) else _fit_rows(model, X, scale, centred)
    return _fit_map(model, X, rng, rows, centred)


def _fit_rows(model: Any, X: Any, scale: bool | str, centred: bool) -> Rows:
    """Return the map that scales and shifts each column."""
    kernels = model if isinstance(model, list | tuple) else [model]
    columns = columns_of(X)
    # a width that the user has chosen is in the units of the rows
    scales = scales_of(columns, scale, one_unit=any(_has_own_width(kernel) for kernel in kernels))
    shift = shift_of(columns, scales is not None or centred or not _is_linear(model))
    return Rows(X.shape[1], scales, shift, length_of_rows(columns.divided_by(scales), scale))


def _is_linear(model: Any) -> bool:
    return isinstance(model, str) and model == "linear"


def _has_own_width(kernel: Any) -> bool:
    return isinstance(kernel, RandomFourier) and kernel.gamma != "scale"


def sees_to_scales(model: Any, scale: bool | str) -> bool:
    """Return whether a model is the user's own, which gets unscaled rows; refuse scale=True for it."""
    kernels = model if isinstance(model, list | tuple) else [model]
    if all(isinstance(kernel, str | RandomFourier) for kernel in kernels):
        return False
    if scale is True:
        raise InputError(
            "scale=True is for the models 'linear' and 'rff': let a transformer or network scale the rows itself"
        )
    return True


def _fit_map(model: Any, X: Any, rng: np.random.Generator, rows: Rows | None, centred: bool) -> RowMap:
    if isinstance(model, list | tuple):
        if not model:
            raise InputError("is an empty list: name at least one kernel", parameter="model")
        parts = tuple(_fit_map(part, X, rng, rows, centred) for part in model)
        sample = sample_of(X)
        scales = np.array([1 / np.sqrt(_mean_squared_distance(part(sample))) for part in parts])
        return Joined(parts, scales)
    rows = Rows(X.shape[1]) if rows is None else rows
    if _is_linear(model):
        return rows
    if isinstance(model, RandomFourier) or (isinstance(model, str) and model == "rff"):
        described = model if isinstance(model, RandomFourier) else RandomFourier()
        return described.fit(rows(sample_of(X)), rng).after(rows)
    if isinstance(model, type):
        raise InputError(
            f"must be an object, not the class {model.__name__}: write {model.__name__}(...)",
            parameter="model",
        )
    if hasattr(model, "fit") and hasattr(model, "transform"):
        from sklearn.base import clone

        features = Transformed(clone(model).fit(X), 0)
        columns = columns_of(features(sample_of(X)))
        return replace(features, width=len(columns.usual), shift=shift_of(columns, centred))
    raise InputError(
        "must be 'linear', 'rff', a RandomFourier, a transformer, a torch module or a list of kernels, not "
        f"{model!r}",
        parameter="model",
    )


def is_map_of(row_map: RowMap, model: Any) -> bool:
    """Return whether a map is of the kind that a model stands for.

    >>> is_map_of(Rows(2), "linear"), is_map_of(Rows(2), "rff")
    (True, False)
    """
    if isinstance(model, list | tuple):
        return isinstance(row_map, Joined) and len(row_map.parts) == len(model)
    if _is_linear(model):
        return isinstance(row_map, Rows)
    if isinstance(model, RandomFourier) or (isinstance(model, str) and model == "rff"):
        width = model.n_components if isinstance(model, RandomFourier) else RandomFourier().n_components
        return isinstance(row_map, FourierMap) and row_map.width == width
    return isinstance(row_map, Transformed)


def features_of(X: Any, row_map: RowMap, most_bytes: int | None = None) -> Any:
    """Return features of the rows: a matrix if it fits into `most_bytes` (`MOST_BYTES`), otherwise `LazyRows`."""
    if isinstance(row_map, Rows):
        return ready(row_map(X))
    most_bytes = MOST_BYTES if most_bytes is None else most_bytes
    sample = row_map(X[:2])
    if sparse.issparse(sample) or X.shape[0] * row_map.width * sample.itemsize <= most_bytes:
        return ready(row_map(X))
    return LazyRows(X, row_map, row_map.width)


def scores_of(X: Any, row_map: RowMap, w: np.ndarray, centre: np.ndarray | None = None) -> np.ndarray:
    """Return the products of features and weights minus that of the centre, computed in blocks of rows."""
    level = level_of(row_map, w, centre)
    if isinstance(row_map, Rows):
        return np.asarray(X @ row_map.for_rows(w), dtype=np.float64) - level
    scores = np.empty(X.shape[0])
    for block in row_blocks(X.shape[0], row_map.width):
        scores[block] = row_map(X[block]) @ w
    return scores - level


def centre_of(X: Any, row_map: RowMap) -> np.ndarray:
    """Return the mean of the features of some rows, the zero of scores.

    Pairs determine scores only up to a constant. Two fits to similar rows agree about scores relative to the mean row.
    Scores relative to 0 may differ a lot if 0 is far from the rows.
    """
    return np.asarray(row_map(sample_of(X)).mean(axis=0, dtype=np.float64)).ravel()


def level_of(row_map: RowMap, w: np.ndarray, centre: np.ndarray | None) -> Any:
    """Return what to subtract from the products of rows and weights (features along the last axis) to get scores."""
    level = 0.0 if centre is None else w @ centre
    if isinstance(row_map, Rows) and row_map.shift is not None:
        level = level + row_map.for_rows(w) @ row_map.shift
    return level


def _usual_gamma(X: Any) -> float:
    """Return 1 / (number of features * variance of all numbers), as in scikit-learn."""
    rows = sample_of(X)
    if sparse.issparse(rows):
        count = rows.shape[0] * rows.shape[1]
        numbers = rows.data.astype(np.float64)
        variance = float(numbers @ numbers / count - (numbers.sum() / count) ** 2)
    else:
        variance = float(np.var(rows, dtype=np.float64))
    return 1 / (X.shape[1] * variance) if variance > 0 else 1.0


def _mean_squared_distance(features: Any) -> float:
    """Return the mean squared distance of two different rows: twice the sum of the columns' variances."""
    n = features.shape[0]
    if sparse.issparse(features):
        squares, mean = features.multiply(features).sum() / n, np.asarray(features.mean(axis=0)).ravel()
        total = float(squares - mean @ mean)
    else:
        total = float(features.var(axis=0, dtype=np.float64).sum())
    # equal rows have no scale
    return 2 * total * n / max(n - 1, 1) if total > 0 else 1.0
