"""Ctrl-C that waits until a piece of work is whole.

An interruption in the middle of compiled code, or while numba compiles, can leave a process in a state that crashes
later. So fits note ctrl-C and look at the note between two pieces of work.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class _Note:
    """Whether ctrl-C was pressed, and whether anyone has acted on it."""

    pressed = False
    seen = False


_note: _Note | None = None


def interrupted() -> bool:
    """Return whether ctrl-C was pressed within `noting`; who asks must end its work then."""
    if _note is None or threading.current_thread() is not threading.main_thread():
        return False
    _note.seen = _note.seen or _note.pressed
    return _note.pressed


@contextmanager
def noting() -> Iterator[None]:
    """Note the first ctrl-C for `interrupted` instead of raising; a second one interrupts at once.

    If nobody asked after it was pressed, it interrupts when the block ends. Blocks may be nested. Where ctrl-C is
    ignored, has a handler already, or never arrives (outside the main thread), nothing changes.
    """
    global _note
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or _note is not None or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    note = _note = _Note()

    def press(number: int, frame: FrameType | None) -> None:
        if note.pressed:
            raise KeyboardInterrupt
        note.pressed = True

    signal.signal(signal.SIGINT, press)
    try:
        yield
    finally:
        _note = None
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if note.pressed and not note.seen:
        raise KeyboardInterrupt


@contextmanager
def interrupt_between() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether ctrl-C was pressed; raise KeyboardInterrupt at the end if it was.

    >>> with interrupt_between() as pressed:
    ...     pressed()
    False
    """
    pressed = False

    def look() -> bool:  # remains true after the block, for those who catch what it raises
        nonlocal pressed
        pressed = pressed or interrupted()
        return pressed

    with noting():
        yield look
        if look():
            raise KeyboardInterrupt
