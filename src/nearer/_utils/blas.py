"""How many threads the linear algebra under numpy and scipy (BLAS and LAPACK) may use.

A fit is thousands of small vector operations between compiled loops. BLAS splits those over threads as soon as they
exceed some ten thousand numbers, which costs more than it saves, and its idle threads then spin and keep the cores
from everything else: fits took 3 to 25 times longer. So a fit runs with BLAS on one thread (`one_thread`), and only
the few decompositions that are large enough to gain get the threads back (`threads_for`).

The setting belongs to the process, not to a Python thread. Fits that run at the same time share it: the first one
saves the user's setting and the last one restores it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

#: rows of a square matrix from which its eigenproblem or inverse is worth more than one thread
LARGE = 4000


class _Shared:
    """The fits under way in this process, and what the threads were set to before the first of them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running = 0
        self.before: list[tuple[Any, int]] = []


_shared = _Shared()
if hasattr(os, "register_at_fork"):  # a forked child must not inherit a lock that another thread holds
    os.register_at_fork(after_in_child=lambda: setattr(_shared, "lock", threading.Lock()))


@lru_cache(maxsize=1)
def _libraries() -> list[Any]:
    """The BLAS libraries that numpy and scipy call."""
    import scipy.linalg  # noqa: F401 - scipy brings a BLAS of its own, which must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the block with BLAS on one thread; also usable as a decorator.

    >>> with one_thread():
    ...     [library.num_threads for library in _libraries() if library.num_threads != 1]
    []
    """
    with _shared.lock:
        if _shared.running == 0:
            _shared.before = [(library, library.num_threads) for library in _libraries()]
            _limit()
        _shared.running += 1
    try:
        yield
    finally:
        with _shared.lock:
            _shared.running -= 1
            if _shared.running == 0:
                _restore()
                _shared.before = []


@contextmanager
def threads_for(rows: int) -> Iterator[None]:
    """Run a decomposition of a matrix of this many rows on one thread, or on the user's if it is large."""
    if rows < LARGE:
        with one_thread():
            yield
        return
    with _shared.lock:
        _restore()
    try:
        yield
    finally:
        with _shared.lock:
            if _shared.running:
                _limit()


def _limit() -> None:
    for library, _ in _shared.before:
        library.set_num_threads(1)


def _restore() -> None:
    for library, count in _shared.before:
        library.set_num_threads(count)
