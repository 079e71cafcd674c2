"""Posts in files; the formats are those of comparisons."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.comparisons.files.opening import format_of, write_table
from nearer.comparisons.files.writing import Written
from nearer.errors import InputError
from nearer.interactions.arrays import count_of
from nearer.interactions.assembling import RowAssembler
from nearer.interactions.post_content import SIDES, PostContent, settled_posts
from nearer.interactions.post_tables import WantedPosts

if TYPE_CHECKING:
    import pyarrow as pa


class PostAssembler(RowAssembler):
    """Collects the rows of a table of posts."""

    wanted: WantedPosts

    def _content(self, codes: list[np.ndarray], sizes: Any, names: Any, n_dropped: int) -> PostContent:
        weights = None if self.weights is None else self.weights.finish()
        about = weights, self.layout.ignored, n_dropped
        content = PostContent(np.stack(codes, axis=1), tuple(sizes), tuple(names), *about)
        return settled_posts(content, self.wanted.duplicates, self._place_of_kept)


def write_posts(content: PostContent, path: str | os.PathLike[str]) -> None:
    """Write a table of posts."""
    if format_of(Path(path)) == "npz":
        raise InputError("posts are written as tables", "choose csv, jsonl or parquet", place=path)
    names = {name for known in content.names for name in known or ()}
    notes: dict[str, Any] = {}
    for side, known, size in zip(SIDES, content.names, content.sizes, strict=True):
        notes |= {f"{side}_names": known, count_of(side): size}
    write_table(Written(len(content.codes), lambda rows: _table(content, rows), names, notes, dict), path)


def _table(content: PostContent, rows: slice) -> pa.Table:
    """Return some rows as a table; names are dictionary-encoded strings."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for side, codes, known in zip(SIDES, content.codes[rows].T, content.names, strict=True):
        numbers = pa.array(codes.copy())
        columns[side] = (
            numbers
            if known is None
            else pa.DictionaryArray.from_arrays(numbers, pa.array(known, pa.string()))
        )
    if content.weights is not None:
        columns["weight"] = pa.array(content.weights[rows])
    return pa.table(columns)
