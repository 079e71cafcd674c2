"""How long numba compiles: several seconds at the first fit on a machine, nothing later."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def compiling(on_start: Callable[[], object] | None = None) -> Iterator[Callable[[], float]]:
    """Watch numba compile; what is yielded gives the seconds that went into it so far.

    Loops that come from the cache on disk do not count: numba tells of those that it compiles.

    >>> with compiling() as seconds:
    ...     pass
    >>> seconds()
    0.0
    """
    from numba.core.event import Listener, install_listener

    class Clock(Listener):
        seconds, depth, began = 0.0, 0, 0.0

        def on_start(self, event: Any) -> None:
            if self.depth == 0:  # a loop compiles the functions it calls within its own time
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
