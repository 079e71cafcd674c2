"""Opening files: the reader for each ending, gzip, and one error that names the file for any damage.

`read` and `write` of `Comparisons` and `Interactions` are the way in; see the guides for the formats.
"""

from __future__ import annotations

import csv
import errno
import gzip
import os
import stat
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO, StringIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, AnyStr, Generic, TextIO

from nearer._utils.files import replacing
from nearer.comparisons.files.kinds import Columns, TableKind
from nearer.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from nearer.comparisons.files.writing import Written

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".npz": "npz",
}
MOST_EXPANDED = 1 << 26  # bytes that any packed file may unpack to, and
MOST_TIMES = 100  # how many times its size a larger one may; real tables come to 3 to 30
_BLOCK = 1 << 18  # longer than any cell that the csv module reads: none can hold a whole blank block


def format_of(path: Path) -> str:
    """Return the format that a file's name stands for.

    >>> format_of(Path("answers.csv.gz")), format_of(Path("answers.parquet"))
    ('csv', 'parquet')
    """
    ending = path.suffix.lower()
    if ending == ".gz":
        ending = path.with_suffix("").suffix.lower()
        if FORMATS.get(ending) not in ("csv", "jsonl"):
            raise InputError(
                "only csv, tsv, txt and jsonl files can be gzipped", "choose such a name", place=path
            )
    if ending not in FORMATS and path.is_dir():
        raise InputError("this is a folder", "name one of its files", place=path)
    if ending not in FORMATS:
        raise InputError(
            f"the ending {ending!r} is not known", f"use one of {', '.join(FORMATS)}", place=path
        )
    return FORMATS[ending]


def read_table(
    path: str | os.PathLike[str],
    wanted: TableKind,
    columns: Columns | None = None,
    header: bool | None = None,
) -> Any:
    """Return the content of a file of comparisons or pairs, as `wanted` says."""
    path = Path(path)
    kind = format_of(path)
    with reading(path):
        return _read_any(path, kind, columns, header, wanted)


def _read_any(path: Path, kind: str, columns: Columns | None, header: bool | None, wanted: TableKind) -> Any:
    if header is not None and kind != "csv":
        raise not_for("header", "csv, tsv and txt files")
    if kind == "csv":
        from nearer.comparisons.files.csv import read_csv

        return read_csv(path, columns, header, wanted)
    if kind == "jsonl":
        from nearer.comparisons.files.jsonl import read_jsonl

        return read_jsonl(path, columns, wanted)
    if kind == "parquet":
        from nearer.comparisons.files.parquet import read_parquet

        return read_parquet(path, columns, wanted)
    for name, value in {"columns": columns, **wanted.settings_of_tables()}.items():
        if value is not None:
            raise not_for(name, "tables, not for npz files")
    return wanted.read_npz(path)


def not_for(parameter: str, what: str) -> InputError:
    """Return the error about a setting of another kind of file."""
    return InputError(f"is for {what}", "leave it out", parameter=parameter)


def write_table(written: Written, path: str | os.PathLike[str]) -> None:
    """Write a file of the format that its name stands for."""
    path = Path(path)
    kind = format_of(path)
    with replacing(path) as temporary:
        if kind == "npz":
            from nearer.comparisons.files.npz import write_npz

            write_npz(written, temporary)
        elif kind == "parquet":
            from nearer.comparisons.files.parquet import write_parquet

            write_parquet(written, temporary)
        else:
            from nearer.comparisons.files.writing import write_text

            write_text(written, temporary, path)


def expands_too_far(n_expanded: int, n_packed: int) -> bool:
    """Return whether packed bytes stand for more than real files of comparisons do.

    >>> expands_too_far(10**9, 10**8), expands_too_far(10**9, 10**6)
    (False, True)
    """
    return n_expanded > max(MOST_EXPANDED, MOST_TIMES * n_packed)


def check_expansion(path: Path) -> None:
    """Unpack a gzipped file once without keeping anything, and refuse it if it expands too far."""
    if not _is_gzip(path):
        return
    n_expanded = 0
    with open(path, "rb") as packed, gzip.GzipFile(fileobj=packed) as stream:
        while block := stream.read(_BLOCK):
            n_expanded += len(block)
            if expands_too_far(n_expanded, packed.tell()):
                raise InputError(
                    f"the file unpacks to more than {MOST_TIMES} times its size",
                    "if you trust it, unpack it with gunzip and read the result",
                )


def open_bytes(path: Path, mode: str = "rb") -> IO[bytes]:
    """Return a binary file, unpacked or packed on the way if its name ends in .gz."""
    return gzip.open(path, mode, compresslevel=6) if _is_gzip(path) else open(path, mode)  # type: ignore[return-value]


def open_text(path: Path) -> TextIO:
    """Return a text file to read, without its byte-order mark; bytes that are not UTF-8 become lone surrogates."""
    open_any = gzip.open if _is_gzip(path) else open
    return open_any(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")


class Lines(Generic[AnyStr]):
    """The lines of a stream. Long stretches of blank lines are left out at once, and counted."""

    def __init__(self, stream: IO[AnyStr]) -> None:
        self._stream: IO[AnyStr] = stream
        self.n_left_out = 0

    def __iter__(self) -> Iterator[AnyStr]:
        while block := self._stream.read(_BLOCK) + self._stream.readline():
            if block.isspace():
                self.n_left_out += _n_lines(block)
            else:
                lines: Any = BytesIO(block) if isinstance(block, bytes) else StringIO(block, newline="")
                yield from lines


def _n_lines(blanks: str | bytes) -> int:
    """Return lines of a block as Python counts them: a text ends one also at a carriage return alone."""
    if isinstance(blanks, bytes):
        return blanks.count(b"\n")
    return blanks.count("\n") + blanks.count("\r") - blanks.count("\r\n")


def arrow_memory(content: bytes) -> pa.BufferReader:
    """Copy content to Arrow's own memory: its threads must not hold what the interpreter frees as it exits."""
    import pyarrow as pa

    return pa.BufferReader(pa.array([content], pa.large_binary()).buffers()[2])


def _is_gzip(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


# what decoders of text, json, gzip, zip, npy and parquet raise on content that is damaged or made up; Arrow's
# errors are among them, or known by their module
DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    RuntimeError,
    SyntaxError,
    SystemError,
    EOFError,
    csv.Error,
    tokenize.TokenError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
_LONGEST_REASON = 200


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Let only two things out of a reader: an `InputError` that names the file, or an error of the system.

    >>> with reading(Path(__file__)):
    ...     bytes([255]).decode()
    Traceback (most recent call last):
    nearer.errors.InputError: ...opening.py: the text is not UTF-8; save the file as UTF-8
    """
    try:
        _check_file(path)
        check_expansion(path)
        yield
    except InputError as error:
        if str(path) in str(error):
            raise
        raise error.within(path) from error
    except OSError as error:
        if not _is_of_the_system(error):
            raise _damaged(path, error) from error
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    except Exception as error:
        if isinstance(error, MemoryError):
            raise InputError(
                "the file needs more memory than there is",
                ["split it", "correct the sizes it declares"],
                place=path,
            ) from error
        if not (isinstance(error, DAMAGE) or type(error).__module__.startswith("pyarrow")):
            raise
        raise _damaged(path, error) from error


def _check_file(path: Path) -> None:
    """Refuse what can be read only once; files are looked at before they are read."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError("this is a pipe or a device", "write its content to a file and read that")
    with open(path, "rb"):  # a folder, or a file without permission
        pass


def _is_of_the_system(error: OSError) -> bool:
    """Return whether the system failed, not a decoder: these set no number, or ask for impossible positions."""
    return not isinstance(error, gzip.BadGzipFile) and error.errno not in (None, errno.EINVAL)


def _damaged(path: Path, error: Exception) -> InputError:
    problem, remedy = _problem_and_remedy(error)
    return InputError(problem, remedy, place=path)


def _problem_and_remedy(error: Exception) -> tuple[str, str]:
    if isinstance(error, (gzip.BadGzipFile, EOFError, zlib.error)):
        return "this is not a whole gzipped file", "is it damaged, or not packed at all?"
    if isinstance(error, UnicodeError):
        return "the text is not UTF-8", "save the file as UTF-8"
    reason = next(iter(str(error).splitlines()), "").strip().rstrip(".")[:_LONGEST_REASON]
    if isinstance(error, RecursionError):
        reason = "values lie too deep within others"
    return (
        f"the file cannot be read ({reason or type(error).__name__})",
        "is it damaged, or another format with the wrong name?",
    )
