"""Texts that come back from every file as they were; numpy cuts them at their last NUL without a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nearer.comparisons.row_errors import UNKEPT, row_place
from nearer.errors import InputError

_BLOCK_ROWS = 1 << 16


def check_texts(values: Any, array: np.ndarray, what: str) -> None:
    """Refuse texts that files cannot keep: `values` as they were given, and numpy's array of them.

    >>> check_texts(["ann", "bob"], np.array(["ann", "bob"]), "annotators")
    """
    row = _first_nul(values)
    if row is None:
        row = next(_unkept(array), None)
    if row is not None:
        raise InputError(f"the {what} hold {UNKEPT}", place=row_place(row), remedy="correct this row")


def _first_nul(values: Any) -> int | None:
    """The first row in which a NUL stands, where numpy has not cut it off yet."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "U":
        return None
    rows = np.asarray(values, dtype=object)
    cells = rows.ravel().tolist()
    at = next((at for at, cell in enumerate(cells) if isinstance(cell, str) and "\0" in cell), None)
    return None if at is None else at // max(1, rows[:1].size)


def _unkept(array: np.ndarray) -> Iterator[int]:
    """Rows with a NUL within a text, half a character, or a number that stands for no character; one per block."""
    for start in range(0, len(array), _BLOCK_ROWS):
        block = array[start : start + _BLOCK_ROWS]
        rows = block.reshape(len(block), -1).astype(f"=U{max(1, block.dtype.itemsize // 4)}")
        signs = np.ascontiguousarray(rows).view(np.uint32).reshape(*rows.shape, -1)
        bad = ((signs >= 0xD800) & (signs <= 0xDFFF)) | (signs > 0x10FFFF)
        bad[..., :-1] |= (signs[..., :-1] == 0) & (signs[..., 1:] != 0)
        found = bad.any(axis=(1, 2))
        if found.any():
            yield start + int(np.argmax(found))
