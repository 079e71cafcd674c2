"""Warnings that show a line of the caller's own program, not one of nearer's."""

from __future__ import annotations

import sys
import warnings


def warn(message: str | Warning) -> None:
    """Warn on behalf of the line that called into nearer."""
    warnings.warn(message, UserWarning, stacklevel=_caller() + 1)


def _caller() -> int:
    """How far up from `warn` the first line is that is not nearer's."""
    frame, level = sys._getframe(1), 0
    # decorators of contextlib stand between two functions of nearer
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        ("nearer", "contextlib")
    ):
        frame, level = frame.f_back, level + 1
    return level
