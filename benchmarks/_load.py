"""Other work on the machine while a fit runs, and processes as a user starts them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: what limits the threads of BLAS in a process
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


def environment(*, one_thread: bool = False) -> dict[str, str]:
    """Return the environment without any thread variable, or with all of them set to one."""
    kept = {key: value for key, value in os.environ.items() if key not in THREAD_VARIABLES}
    return kept | dict.fromkeys(THREAD_VARIABLES, "1") if one_thread else kept


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Run endless loops in other processes during the block."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
