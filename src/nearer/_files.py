"""Writing files so that a crash never leaves half of one behind."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` on success, delete it on failure.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "note.txt") as temporary:
    ...         _ = temporary.write_text("hello")
    ...     (Path(folder) / "note.txt").read_text()
    'hello'
    """
    target = Path(path)
    # the suffix stays last: some writers choose the format by it
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        yield temporary
        os.replace(temporary, target)
    except OSError as error:  # its file is the one that was asked for; nobody knows the temporary name
        if error.filename is not None and Path(os.fsdecode(error.filename)) == temporary:
            raise type(error)(error.errno, error.strerror, str(target)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)
