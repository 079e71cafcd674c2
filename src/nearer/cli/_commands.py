"""How a command ends: exit codes, and one sentence on stderr instead of a traceback."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

BAD_INPUT = 2
BROKEN_PIPE = 141  # 128 + SIGPIPE, what a shell reports for `yes | head`
INTERRUPTED = 130  # 128 + SIGINT
_OPTIONS = {
    r"invalid='(\w+)'": r"--invalid \1",
    r"zero='(\w+)'": r"--zero \1",
    r"header=False": "--no-header",
    r"columns=\{[^}]*\}": "--columns anchor=...,near=...,far=...",
}


class Commands(TyperGroup):
    """The group of all commands; every way to start one comes through `main`."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run a command and leave with its exit code."""
        run: Callable[..., Any] = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **extra)
        sys.exit(_exit_code(lambda: run(*args, standalone_mode=False, **extra)))

    def invoke(self, ctx: Any) -> Any:
        """Run a command; ctrl-C outside a fit leaves no file behind and says so."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # a reader that has gone away is noticed here, not while Python shuts down
            return result
        except KeyboardInterrupt:
            complain("interrupted, nothing was written")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # nobody reads any more: what is left in the buffer goes nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None


def complain(message: str) -> None:
    """One sentence on stderr."""
    print(f"nearer: {in_options(' '.join(message.split()))}", file=sys.stderr)


def in_options(message: str) -> str:
    """What the library advises in Python, as it is typed here.

    >>> in_options("row 3: correct it or pass invalid='drop' to leave it out")
    'row 3: correct it or pass --invalid drop to leave it out'
    """
    for pattern, option in _OPTIONS.items():
        message = re.sub(pattern, option, message)
    return message


def _exit_code(run: Callable[[], Any]) -> int:
    try:
        code = run()
    except Exception as error:
        message = sentence(error)
        if message is None or os.environ.get("NEARER_TRACEBACK"):
            raise
        if message:
            complain(message)
        return BAD_INPUT
    return code if isinstance(code, int) else 0


def sentence(error: Exception) -> str | None:
    """What went wrong in the user's terms; None where it is not the user's doing.

    >>> sentence(FileNotFoundError(2, "No such file or directory", "answers.csv"))
    'answers.csv: no such file or directory'
    """
    if isinstance(error, OSError):
        reason = (error.strerror or str(error)).strip()
        reason = reason[:1].lower() + reason[1:]
        return reason if error.filename is None else f"{_name(error.filename)}: {reason}"
    if isinstance(error, MemoryError):
        return f"out of memory ({error})" if str(error) else "out of memory"
    if isinstance(error, ValueError):
        return str(error) or None
    return _usage(error)


def _name(filename: Any) -> str:
    return filename if isinstance(filename, str) else os.fsdecode(filename)


def _usage(error: Exception) -> str | None:
    """Usage errors of typer, whose classes moved between its versions: known by their method."""
    if not hasattr(error, "format_message"):
        return None
    context = getattr(error, "ctx", None)
    help_command = f"{context.command_path} --help" if context is not None else "nearer --help"
    message = error.format_message().rstrip(".")
    # without any argument, typer has shown the help already and has nothing to add
    return f"{message} (see: {help_command})" if message else ""
