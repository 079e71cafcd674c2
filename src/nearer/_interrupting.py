"""Ctrl-C that waits until a piece of work is whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupt_between() -> Iterator[Callable[[], bool]]:
    """While inside, ctrl-C only sets a mark, which the function that is yielded tells; after it, it interrupts.

    For work whose parts must be finished once begun: ask between two parts, and leave. Outside the main thread
    ctrl-C never arrives, and the mark stays unset.

    >>> with interrupt_between() as interrupted:
    ...     interrupted()
    False
    """
    pressed = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
