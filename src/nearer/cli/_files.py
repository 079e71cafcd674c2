"""Which files a command may write, and writing all of them or none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from nearer.errors import InputError


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path] = ()) -> None:
    """Refuse before any work what could not be written at its end, or would replace what was read."""
    sources = [path for path in inputs if path.exists()]
    seen: set[Path] = set()
    for path in filter(None, outputs):
        if path.is_dir():
            raise InputError(f"{path}: this is a folder, give the name of a file")
        if not path.parent.is_dir():
            raise InputError(f"{path}: the folder {path.parent} does not exist")
        if not os.access(path.parent, os.W_OK):
            raise InputError(f"{path}: the folder {path.parent} cannot be written to")
        if any(path.exists() and path.samefile(source) for source in sources):
            raise InputError(f"{path}: this is the input, give the output another name")
        if path.resolve() in seen:
            raise InputError(f"{path}: two outputs have this name, give each its own")
        seen.add(path.resolve())


def check_page(path: Path | None) -> None:
    """Refuse a report that is to be anything but a page."""
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a report is an HTML page, give it a name that ends with .html")


def check_picture(path: Path | None) -> None:
    """Refuse a picture in a format that cannot be drawn."""
    if path is None:
        return
    from matplotlib.figure import Figure

    known = sorted(Figure().canvas.get_supported_filetypes())
    if path.suffix.removeprefix(".").lower() not in known:
        raise InputError(f"{path}: a picture ends with one of {', '.join(known)}")


def write_all(writers: Mapping[Path, Callable[[Path], object]]) -> None:
    """Write every file in a temporary folder beside its place, then move all there; a failure leaves none.

    Files keep their names in the temporary folder, because writers choose formats by them.
    """
    with ExitStack() as stack:
        moves = []
        for path, write in writers.items():
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=".nearer-", dir=path.parent))
            temporary = Path(folder) / path.name
            try:
                write(temporary)
            except InputError as error:
                raise InputError(str(error).replace(str(temporary), str(path))) from error
            moves.append((temporary, path))
        for temporary, path in moves:
            os.replace(temporary, path)
