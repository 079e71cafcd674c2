"""Embeddings as files for other programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._utils.files import replacing
from nearer._utils.optional import optional
from nearer._utils.text import one_of
from nearer.errors import InputError

if TYPE_CHECKING:
    from nearer.towers.two_tower import TwoTower


def write_embeddings(model: TwoTower, path: str | os.PathLike[str]) -> None:
    """Write both embeddings to .npz or .parquet, or an index of the right ones to .usearch."""
    path = Path(path)
    writers = {".npz": _npz, ".parquet": _parquet, ".usearch": _usearch}
    ending = path.suffix.lower()
    if ending not in writers:
        raise InputError(f"must end with {one_of(list(writers))}, not {path.suffix!r}", parameter="path")
    if not path.parent.is_dir():
        raise InputError(
            f"{path} cannot be written because the folder {path.parent} does not exist: create it"
        )
    with replacing(path) as temporary:
        writers[ending](model, temporary)


def _npz(model: TwoTower, path: Path) -> None:
    names = {"left_names": model.left_names_, "right_names": model.right_names_}
    known = {key: np.array(value) for key, value in names.items() if value is not None}
    arrays: dict[str, Any] = {"left": model.left_embedding_, "right": model.right_embedding_, **known}
    with path.open("wb") as stream:
        np.savez(stream, **arrays)


def _parquet(model: TwoTower, path: Path) -> None:
    """One row per entity: side, name or index, embedding."""
    import pyarrow as pa
    from pyarrow import parquet

    sides = (
        ("left", model.left_embedding_, model.left_names_),
        ("right", model.right_embedding_, model.right_names_),
    )
    parts = []
    for side, X, names in sides:
        ids = [str(k) for k in range(len(X))] if names is None else list(names)
        rows = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
        parts.append(pa.table({"side": [side] * len(X), "id": ids, "embedding": rows}))
    parquet.write_table(pa.concat_tables(parts), path)


def _usearch(model: TwoTower, path: Path) -> None:
    """An index for the inner product; its keys are the indices of right entities."""
    package = optional("usearch.index", "an index of embeddings", "usearch")
    index = package.Index(ndim=model.right_embedding_.shape[1], metric="ip", dtype="f32")
    index.add(np.arange(len(model.right_embedding_)), model.right_embedding_.astype(np.float32))
    index.save(str(path))
