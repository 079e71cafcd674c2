"""The formats of cblearn: a list of questions with responses of three kinds, and a sparse tensor."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from nearer._utils.optional import optional
from nearer.comparisons.arrays import as_rows, flipped
from nearer.comparisons.validation import Content
from nearer.errors import InputError, Place, Suggestion

Format = Literal["list-order", "list-boolean", "list-count", "tensor-count"]
FORMATS = ("list-order", "list-boolean", "list-count", "tensor-count")


def questions_and_responses(query: Any, response: Any) -> tuple[np.ndarray, np.ndarray | None, int | None]:
    """Return rows, signed responses (None if the rows are in order), and the number of objects if known."""
    n_objects = None
    if _is_sparse(query):
        if response is not None:
            raise InputError("is in the sparse tensor itself", "leave it out", parameter="response")
        query, response, n_objects = _tensor_entries(query)
    rows = as_rows(query)
    if response is None:
        return rows, None, n_objects
    signed = np.asarray(response)
    if signed.dtype.kind not in "biuf":
        raise InputError(f"must hold booleans or numbers, not {signed.dtype}", parameter="response")
    if n_objects is None and np.isin(signed, (0, 1)).all():
        signed = signed.astype(bool)  # cblearn's own rule: numbers that are all 0 or 1 are booleans
    return rows, signed, n_objects


def _is_sparse(query: Any) -> bool:
    return hasattr(query, "tocoo") or (hasattr(query, "coords") and hasattr(query, "data"))


def _tensor_entries(tensor: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Coordinates (q, 3) or (q, 4), entries and size of an n * n * n (* n) tensor, flattened or not."""
    if hasattr(tensor, "tocoo"):
        tensor = tensor.tocoo()
    shape = tuple(int(size) for size in tensor.shape)
    n, cells = shape[0], int(np.prod([int(size) for size in shape], dtype=object))
    width = next((width for width in (3, 4) if n**width == cells), None)
    if width is None:
        raise InputError(f"a tensor of comparisons has the shape (n, n, n) or (n, n * n), got {shape}")
    coords = np.asarray(
        tensor.coords if hasattr(tensor, "coords") else (tensor.row, tensor.col), dtype=np.int64
    )
    if len(shape) != width:
        coords = np.stack(np.unravel_index(np.ravel_multi_index(tuple(coords), shape), (n,) * width))
    return coords.T, np.asarray(tensor.data), n


#: answers that weights may stand for, and rows that a list of them may have
_MOST_ANSWERS, _MOST_LISTED = 2**53, 10**7


def to_cblearn(fields: Content, format: Format) -> Any:
    """Return the comparisons as cblearn takes them; see `Comparisons.to_cblearn`."""
    if format not in FORMATS:
        raise InputError(f"must be one of {', '.join(FORMATS)}, not {format!r}", parameter="format")
    counts = _whole_counts(fields.weights, len(fields.indices))
    rows = fields.indices.copy()
    if format in ("list-order", "list-boolean") and counts.sum() > _MOST_LISTED:
        raise InputError(
            f"{format!r} repeats every answer as often as its weight says, which makes {counts.sum():,} rows",
            [Suggestion("format", "list-count"), "leave the weights out"],
            parameter="format",
        )
    if format == "list-order":
        return np.repeat(rows, counts, axis=0)
    rows, in_order = _standard(rows)
    if format == "list-boolean":
        return np.repeat(rows, counts, axis=0), np.repeat(in_order, counts)
    rows, signed = rows[counts > 0], np.where(in_order, counts, -counts)[counts > 0]
    if format == "list-count":
        return rows, signed
    sparse = optional("sparse", "format='tensor-count'")
    return sparse.COO(rows.T, signed, shape=(fields.n_objects,) * rows.shape[1])


def _whole_counts(weights: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Return weights as the number of times an answer was given."""
    if weights is None:
        return np.ones(n_rows, dtype=np.int64)
    broken = weights != np.floor(weights)
    if broken.any():
        row = int(np.argmax(broken))
        raise InputError(
            f"the weight {weights[row]} is not a whole number, and cblearn knows only counts of answers",
            "round the weights or leave them out",
            place=Place(row=row),
        )
    if weights.sum() > _MOST_ANSWERS:
        raise InputError(
            f"the weights stand for {weights.sum():.3g} answers, more than the {_MOST_ANSWERS:,} that an array of "
            "counts can hold: divide the weights or leave them out"
        )
    return weights.astype(np.int64)


def _standard(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return cblearn's standard order of questions (j < k for triplets), and whether the first answer won in it."""
    if rows.shape[1] == 4:
        rows = np.concatenate([np.sort(rows[:, :2], axis=1), np.sort(rows[:, 2:], axis=1)], axis=1)
        in_order = np.argmin(rows, axis=1) < 2
    else:
        in_order = rows[:, 1] < rows[:, 2]
    return np.where(in_order[:, None], rows, flipped(rows)), in_order
