"""What a fit asks of the process: threads, ctrl-C between two pieces of work, how long numba compiles.

**Threads.** A fit is thousands of small vector operations between compiled loops. BLAS splits those over threads as
soon as they exceed some ten thousand numbers. This costs more than it saves, and its idle threads then spin and keep
the cores busy: fits took 3 to 25 times longer. So a fit runs with BLAS on one thread (`one_thread`), and only the few
decompositions that are large enough to gain get the threads back (`threads_for`). The setting belongs to the process,
not to a Python thread. Fits that run at the same time share it: the first one saves the user's setting and the last one
restores it. Our own threads (`in_threads`) run compiled loops and products of matrices, which release Python's lock.

**Ctrl-C.** An interruption in the middle of compiled code, or while numba compiles, can leave a process in a state that
crashes later. So fits note ctrl-C and check for it between two pieces of work (`noting`, `interrupted`). Work that
belongs to no solver, such as a pass of an objective over its data, asks its run whether to go on (`polling`, `heed`).

**Compiling.** numba compiles for several seconds at the first fit on a machine and never again (`compiling`).
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import lru_cache
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")
#: raises if the run that this work is a part of is over
_poll: ContextVar[Callable[[], object] | None] = ContextVar("poll", default=None)

#: rows of a square matrix from which its eigenproblem or inverse is worth more than one thread
LARGE = 4000


class _Shared:
    """The number of fits running in this process, and the setting of the threads before the first of them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running = 0
        self.before: list[tuple[Any, int]] = []


_shared = _Shared()
if hasattr(os, "register_at_fork"):  # a forked child must not inherit a lock that another thread holds
    os.register_at_fork(after_in_child=lambda: setattr(_shared, "lock", threading.Lock()))


@lru_cache(maxsize=1)
def _libraries() -> list[Any]:
    """Return the BLAS libraries that numpy and scipy call."""
    import scipy.linalg  # noqa: F401 - scipy ships its own BLAS, which must be loaded to be found
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


@lru_cache
def _pool(n_jobs: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_jobs, thread_name_prefix="nearer")


if hasattr(os, "register_at_fork"):  # a forked child has the pool but not its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


def in_threads(jobs: Sequence[Callable[[], T]], n_jobs: int) -> list[T]:
    """Run the jobs on up to `n_jobs` threads, this one included, and return their results in order.

    A job must not call this again.

    All jobs end before the first exception among them is raised. Ctrl-C reaches them as if they ran in this thread.

    >>> in_threads([lambda: 1, lambda: 2, lambda: 3], n_jobs=2)
    [1, 2, 3]
    """
    if len(jobs) == 1:
        return [jobs[0]()]
    todo, results, failures = deque(enumerate(jobs)), dict[int, T](), dict[int, Exception]()

    def work() -> None:
        while todo:
            try:
                at, job = todo.popleft()
            except IndexError:  # another thread was quicker
                return
            try:
                results[at] = job()
            except Exception as error:  # the other jobs do not depend on it
                failures[at] = error

    # this thread works too: a gradient may take as long as it takes to wake another one
    helpers = [_pool(n_jobs - 1).submit(copy_context().run, work) for _ in range(min(n_jobs, len(jobs)) - 1)]
    try:
        work()
    finally:
        todo.clear()
        wait([helper for helper in helpers if not helper.cancel()])
    for helper in helpers:
        if not helper.cancelled():
            helper.result()  # raises what is not an Exception, such as KeyboardInterrupt
    if failures:
        raise failures[min(failures)]
    return [results[at] for at in range(len(jobs))]


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Note:
    """Whether ctrl-C was pressed, and whether the fit has seen it."""

    pressed = False
    seen = False


_note: _Note | None = None
#: whether this thread, or the one that it works for, is the main thread within `noting`
_heeds_ctrl_c: ContextVar[bool] = ContextVar("heeds_ctrl_c", default=False)


def interrupted() -> bool:
    """Return whether ctrl-C was pressed within `noting`; the caller must then end its work."""
    note = _note
    if note is None or not _heeds_ctrl_c.get():
        return False
    note.seen = note.seen or note.pressed
    return note.pressed


@contextmanager
def noting() -> Iterator[None]:
    """Note the first ctrl-C for `interrupted` instead of raising; a second one interrupts at once.

    If nobody asked after it was pressed, it interrupts when the block ends. Blocks may be nested. If ctrl-C is
    ignored, already has a handler, or never arrives (outside the main thread), nothing changes.
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
    token = _heeds_ctrl_c.set(True)
    try:
        yield
    finally:
        _note = None
        _heeds_ctrl_c.reset(token)
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if note.pressed and not note.seen:
        raise KeyboardInterrupt


@contextmanager
def polling(poll: Callable[[], object]) -> Iterator[None]:
    """Let `heed` within this block call a function that raises if the work must end."""
    token = _poll.set(poll)
    try:
        yield
    finally:
        _poll.reset(token)


def heed() -> None:
    """Ask whether to go on, in the middle of work that takes long: a pass over many blocks, an eigenproblem.

    Callers that have nothing to unwind need not do anything; outside `polling` this does nothing.
    """
    poll = _poll.get()
    if poll is not None:
        poll()


@contextmanager
def interrupt_between() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether ctrl-C was pressed; raise KeyboardInterrupt at the end if it was.

    >>> with interrupt_between() as pressed:
    ...     pressed()
    False
    """
    pressed = False

    def look() -> bool:  # remains true after the block, for callers that catch the KeyboardInterrupt
        nonlocal pressed
        pressed = pressed or interrupted()
        return pressed

    with noting():
        yield look
        if look():
            raise KeyboardInterrupt


@contextmanager
def compiling(on_start: Callable[[], object] | None = None) -> Iterator[Callable[[], float]]:
    """Measure how long numba compiles; yield a function that returns the seconds so far.

    Loops that come from the cache on disk do not count: numba reports only those that it compiles.

    >>> with compiling() as seconds:
    ...     pass
    >>> seconds()
    0.0
    """
    from numba.core.event import Listener, install_listener

    class Clock(Listener):
        seconds, depth, began = 0.0, 0, 0.0

        def on_start(self, event: Any) -> None:
            if self.depth == 0:  # the time of a loop includes that of the functions it calls
                self.began = time.perf_counter()
                if on_start is not None:
                    on_start()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.perf_counter() - self.began

    clock = Clock()
    with install_listener("numba:compile", clock):
        yield lambda: clock.seconds
