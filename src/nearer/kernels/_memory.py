"""Whether a kernel fits into the memory of this machine, asked before anything is allocated."""

from __future__ import annotations

import os

from nearer.errors import InputError

_BYTES_PER_NUMBER = 8


def check_room(n_objects: int, rank: int | None, remedy: str) -> None:
    """Refuse a kernel over so many objects, or `rank` columns of points, that no memory holds it.

    `remedy` says what to do instead.
    """
    needed = _BYTES_PER_NUMBER * n_objects * (n_objects if rank is None else rank)
    if needed > machine_memory():
        what = "a whole kernel" if rank is None else f"a kernel of rank {rank}"
        raise InputError(
            f"{what} over {n_objects:,} objects takes {needed / 2**30:,.0f} GiB, more memory than this machine has: "
            f"{remedy}, or give names instead where most indices are unused"
        )


def machine_memory() -> int:
    """Return the bytes that this process may use; where the system does not say, more than any machine has."""
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        import resource  # not on every system

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        return physical if limit == resource.RLIM_INFINITY else min(physical, limit)
    except (AttributeError, ImportError, OSError, ValueError):
        return 2**60
