"""How loops are compiled: one set of options for all of them."""

from __future__ import annotations

from numba import njit

# all of fast math but "no NaN, no infinity": divergence must stay visible
_FAST = {"reassoc", "nsz", "arcp", "contract", "afn"}

#: a loop that Python calls: cached on disk, without the interpreter's lock
loop = njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
#: the same without fast math, for loops that copy, shuffle or rescale
exact_loop = njit(cache=True, nogil=True)
#: a part of a loop. It becomes part of the caller's code, so numba's cache does not see when it changes.
inline = njit(inline="always", fastmath=_FAST, error_model="numpy")
#: the same for functions of numbers and pointers: typed and compiled once, then merged into each caller's machine code,
#: which compiles much faster. (With arrays, numba would count references at each call.)
merged = njit(forceinline=True, nogil=True, fastmath=_FAST, error_model="numpy")
