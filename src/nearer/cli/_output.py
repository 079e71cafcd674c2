"""What a command puts out: lines and complaints for people, one JSON object for machines, and files, all or none."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import typer

from nearer._utils.files import destination, is_stdout, replacing
from nearer._utils.group import own_rank
from nearer._utils.text import counted
from nearer.errors import InputError

INTERRUPTED = 130  # the exit code after ctrl-C: 128 + SIGINT


def complain(message: str) -> None:
    """Print one sentence on stderr; of several processes, all but the first say who they are."""
    process = f" (process {own_rank()})" if own_rank() else ""
    print(f"nearer{process}: {' '.join(message.split())}", file=sys.stderr, flush=True)


def show(facts: Mapping[str, Any], lines: Iterable[tuple[str, str]], *, as_json: bool) -> None:
    """Print the facts as JSON or the lines as two columns; on stderr if one of the files written is stdout."""
    err = any(isinstance(fact, Path) and is_stdout(fact) for fact in facts.values())
    if as_json:
        typer.echo(json.dumps(plain(facts), ensure_ascii=False, allow_nan=False), err=err)
        return
    rows = list(lines)
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        typer.echo(f"{name:<{width}}  {value}", err=err)


def plain(value: Any) -> Any:
    """Convert numpy scalars and arrays, paths and non-finite numbers to what JSON can hold.

    >>> import numpy as np
    >>> plain({"error": np.float64(0.5), "steps": np.array([1, 2]), "objective": float("nan")})
    {'error': 0.5, 'steps': [1, 2], 'objective': None}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def percent(share: float) -> str:
    """
    >>> percent(0.93251)
    '93.3%'
    """
    return f"{share:.1%}"


def left_out(n_dropped: int) -> str:
    """Return an addition to a number of comparisons that says how many rows were left out.

    >>> left_out(0), left_out(1)
    ('', ', 1 row left out (invalid or undecided)')
    """
    return f", {counted(n_dropped, 'row')} left out (invalid or undecided)" if n_dropped else ""


def number_or_name(text: str) -> float | str:
    """Return the value of an option that takes a number or a word.

    >>> number_or_name("0.5"), number_or_name("auto")
    (0.5, 'auto')
    """
    try:
        return float(text)
    except ValueError:
        return text


def output_file(given: Path | None, default: str, *, force: bool) -> Path:
    """Return the named file, or the default one unless it exists and `force` is not set."""
    if given is not None:
        return given
    path = Path(default)
    if os.path.lexists(path) and not force:
        raise InputError(
            f"{path}: this file exists already; choose another name with --out, or replace it with --force"
        )
    return path


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path] = ()) -> None:
    """Refuse, before any work, outputs that cannot be written or would replace an input."""
    sources = [path for path in inputs if path.exists()]
    seen: set[Path] = set()
    for path in filter(None, outputs):
        if path.is_dir():
            raise InputError(f"{path}: this is a folder, give the name of a file")
        _check_writable(path)
        if any(path.exists() and path.samefile(source) for source in sources):
            raise InputError(f"{path}: this is the input, give the output another name")
        if path.resolve() in seen:
            raise InputError(f"{path}: two outputs have this name, give each its own")
        seen.add(path.resolve())


def _check_writable(path: Path) -> None:
    """Refuse a file in a folder that is missing or read-only, and a device or pipe that cannot be written to."""
    target = destination(path)
    if target is None:
        if not os.access(path, os.W_OK):
            raise InputError(f"{path}: this device or pipe cannot be written to")
        return
    if not target.parent.is_dir():
        raise InputError(f"{path}: the folder {target.parent} does not exist")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"{path}: the folder {target.parent} cannot be written to")


def check_page(path: Path | None) -> None:
    """Refuse a name for a report that does not end with .html."""
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a report is an HTML page, give it a name that ends with .html")


def check_picture(path: Path | None) -> None:
    """Refuse the name of a picture in an unknown format."""
    if path is None:
        return
    from matplotlib.figure import Figure

    known = sorted(Figure().canvas.get_supported_filetypes())
    if path.suffix.removeprefix(".").lower() not in known:
        raise InputError(f"{path}: a picture ends with one of {', '.join(known)}")


def write_all(writers: Mapping[Path, Callable[[Path], object]]) -> None:
    """Write every file under a temporary name, then rename all; a failure leaves none."""
    with ExitStack() as stack:
        for path, write in writers.items():
            temporary = stack.enter_context(replacing(path))
            try:
                write(temporary)
            except InputError as error:
                raise InputError(str(error).replace(str(temporary), str(path))) from error
