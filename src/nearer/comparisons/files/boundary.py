"""The one place where what goes wrong inside a file becomes a sentence that names it."""

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
from pathlib import Path

from nearer.comparisons.files.opening import check_expansion
from nearer.errors import InputError, Place

# what decoders of text, json, gzip, zip, npy and parquet raise on content that is damaged or made up; Arrow's
# errors are among them, or known by their module
_DAMAGE = (
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
    nearer.errors.InputError: ...boundary.py: the text is not UTF-8; save the file as UTF-8
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
                place=Place(str(path)),
                remedy=["split it", "correct the sizes it declares"],
            ) from error
        if not (isinstance(error, _DAMAGE) or type(error).__module__.startswith("pyarrow")):
            raise
        raise _damaged(path, error) from error


def _check_file(path: Path) -> None:
    """Refuse what can be read only once; files are looked at before they are read."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError(
            "this is a pipe or a device",
            place=Place(str(path)),
            remedy="write its content to a file and read that",
        )
    with open(path, "rb"):  # a folder, or a file without permission
        pass


def _is_of_the_system(error: OSError) -> bool:
    """Whether the system failed, rather than a decoder: these set no number, or ask for impossible positions."""
    return not isinstance(error, gzip.BadGzipFile) and error.errno not in (None, errno.EINVAL)


def _damaged(path: Path, error: Exception) -> InputError:
    problem, remedy = _problem_and_remedy(error)
    return InputError(problem, place=Place(str(path)), remedy=remedy)


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
