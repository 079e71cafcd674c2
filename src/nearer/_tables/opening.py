"""Opening files that may be gzipped, and handing their content to Arrow."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import pyarrow as pa


def open_bytes(path: Path, mode: str = "rb") -> IO[bytes]:
    """A binary file, unpacked or packed on the way where its name ends in .gz."""
    return gzip.open(path, mode, compresslevel=6) if _is_gzip(path) else open(path, mode)  # type: ignore[return-value]


def open_text(path: Path) -> TextIO:
    """A text file to read, without its byte-order mark; bytes that are not UTF-8 become lone surrogates."""
    open_any = gzip.open if _is_gzip(path) else open
    return open_any(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")


def arrow_memory(content: bytes) -> pa.BufferReader:
    """The content in memory of Arrow's own: its threads must not hold what the interpreter takes down as it ends."""
    import pyarrow as pa

    return pa.BufferReader(pa.array([content], pa.large_binary()).buffers()[2])


def _is_gzip(path: Path) -> bool:
    return path.suffix.lower() == ".gz"
