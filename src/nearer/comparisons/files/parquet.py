"""What a parquet file declares about itself, looked at before it is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nearer.comparisons.files.opening import MOST_TIMES, expands_too_far
from nearer.errors import InputError, Place

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData

_ROW_BYTES = 4  # what a row takes at the very least, however well it is packed


def check_expansion(metadata: FileMetaData, path: Path) -> None:
    """Refuse a file that declares far more content than its size allows for.

    Groups of rows are asked, not their columns: pyarrow ends the process where the metadata of a column are damaged.
    """
    n_bytes = _ROW_BYTES * metadata.num_rows
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        n_bytes += max(group.total_byte_size, 0)
    if expands_too_far(n_bytes, path.stat().st_size):
        raise InputError(
            f"the file unpacks to more than {MOST_TIMES} times its size",
            place=Place(str(path)),
            remedy="if you trust it, write it as csv with the program that wrote it",
        )
