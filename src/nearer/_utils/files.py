"""Write files so that a crash never leaves half a file behind.

Every file of the library is written through `replacing`: under a temporary name in the same folder, then renamed. Links
are followed; devices and pipes are written to, because replacing them with a file would help nobody.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # no such locks on Windows
    fcntl = None  # type: ignore[assignment]

_HOUR = 3600.0
_held: set[Path] = set()  # temporary files that this process is writing


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path; on success its content takes the place of `path`, on failure nothing changes.

    A symbolic link stays, and the file that it leads to is replaced. An existing file keeps its permissions. Devices
    and pipes are written to at the end. An error about the temporary file names `path` instead.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "note.txt") as temporary:
    ...         _ = temporary.write_text("hello")
    ...     (Path(folder) / "note.txt").read_text()
    'hello'
    """
    asked = Path(path)
    if asked in _held:  # called by another writer, which renames
        yield asked
        return
    target = destination(asked)
    with _poured(asked) if target is None else _renamed(asked, target) as temporary:
        yield temporary


def destination(path: Path) -> Path | None:
    """Return the file that a path leads to through links, existing or not; None for a device, a pipe or our output.

    >>> destination(Path("new.csv")), destination(Path(os.devnull))
    (PosixPath('new.csv'), None)
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode) or _own_stream(path) is not None:
        return None
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def is_stdout(path: Path) -> bool:
    """Return whether a path such as /dev/stdout leads to where this process prints."""
    return _own_stream(path) == 1


def _own_stream(path: Path) -> int | None:
    """Return the descriptor of stdout or stderr if the path leads to the same file."""
    for descriptor in (1, 2):
        with suppress(OSError):
            if os.path.samestat(os.stat(path), os.fstat(descriptor)):
                return descriptor
    return None


@contextmanager
def _poured(node: Path) -> Iterator[Path]:
    """Yield a temporary file elsewhere, whose content is then copied to a device or a pipe."""
    with tempfile.TemporaryDirectory(prefix="nearer-") as folder:
        temporary = Path(folder) / f"output{_ending(node)}"
        with _named(node, temporary), _marked(temporary):
            yield temporary
            own = _own_stream(node)
            # a copy of our own descriptor shares its position: later output follows it
            into: int | Path = node if own is None else os.dup(own)
            with temporary.open("rb") as content, open(into, "wb") as stream:
                shutil.copyfileobj(content, stream)


@contextmanager
def _renamed(asked: Path, target: Path) -> Iterator[Path]:
    """Yield a temporary file in the folder of the target, which then replaces it."""
    _sweep(target)
    temporary = target.with_name(f"{_prefix(target)}{secrets.token_hex(4)}{_ending(asked)}")
    with _named(asked, temporary), _locked(temporary), _marked(temporary):
        mode = _permissions(target)
        if (
            mode is not None
        ):  # from the start: a private file must not be readable by others while it is written
            os.chmod(temporary, mode | stat.S_IRUSR | stat.S_IWUSR)
        try:
            yield temporary
            _synced(temporary)
            if mode is not None:
                os.chmod(temporary, mode)
            os.replace(temporary, target)
            _synced_folder(target.parent)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def _marked(temporary: Path) -> Iterator[None]:
    _held.add(temporary)
    try:
        yield
    finally:
        _held.discard(temporary)


@contextmanager
def _named(asked: Path, temporary: Path) -> Iterator[None]:
    """Let errors name the requested file: users do not know the temporary one, and a full disk names none."""
    try:
        yield
    except OSError as error:
        name = error.filename
        if type(error) is not OSError and error.errno is None:
            raise  # a message of our own, not one of the system
        if name is not None and (isinstance(name, int) or Path(os.fsdecode(name)) != temporary):
            raise
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(asked)) from error


@contextmanager
def _locked(temporary: Path) -> Iterator[None]:
    """Create the temporary file and hold a lock on it, which the system releases when the process ends."""
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        if fcntl is None:
            os.close(descriptor)  # Windows cannot rename an open file
        else:
            with suppress(OSError):  # some network drives have no locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        if fcntl is not None:
            os.close(descriptor)


def _sweep(target: Path) -> None:
    """Delete temporary files for the same target whose writers were killed."""
    ours = re.compile(re.escape(_prefix(target)) + r"[0-9a-f]{8}(\..*)?")
    with suppress(OSError):
        for name in os.listdir(target.parent):
            if ours.fullmatch(name):
                _delete_abandoned(target.with_name(name))


def _delete_abandoned(leftover: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(leftover, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode) and _is_abandoned(descriptor):
                leftover.unlink()
        finally:
            os.close(descriptor)


def _is_abandoned(descriptor: int) -> bool:
    """Return whether a temporary file is abandoned: no process locks it, and it is older than a moment."""
    age = time.time() - os.fstat(descriptor).st_mtime
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return age > _HOUR
        return age > 1.0
    return age > _HOUR


def _prefix(target: Path) -> str:
    """Return the prefix of temporary files for a target; short, because the length of names is limited."""
    return f".nearer-{zlib.crc32(os.fsencode(target.name)):08x}-"


def _ending(path: Path) -> str:
    """Return the ending of a name, including the one before .gz: writers choose formats by it."""
    return "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:])


def _permissions(target: Path) -> int | None:
    """Return the permission bits of a file, or None if it does not exist."""
    try:
        return stat.S_IMODE(os.stat(target).st_mode) & 0o777
    except FileNotFoundError:
        return None


def _synced(path: Path) -> None:
    """Wait until the content is on the disk: the rename must not get there first."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _synced_folder(folder: Path) -> None:
    """Wait until the rename is on the disk, if the system supports that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
