"""Timing of loops over many comparisons, rivals taking turns."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from nearer import Comparisons


def interleaved(
    rivals: dict[str, Callable[[], object]], repeats: int, max_seconds: float
) -> dict[str, list[float]]:
    """Seconds of each call, the rivals in turns, after one call of each that does not count.

    Ends early, with at least three turns, where the turns would take longer than `max_seconds`.
    """
    for call in rivals.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    begun = time.perf_counter()
    for turn in range(repeats):
        if turn >= 3 and time.perf_counter() - begun > max_seconds:
            break
        for name, call in rivals.items():
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def random_comparisons(n_objects: int, n_comparisons: int, seed: int) -> Comparisons:
    """Triplets of three different objects drawn at random: whom they favour does not matter to the clock."""
    rng = np.random.default_rng(seed)
    first, a, b = (rng.integers(n_objects - taken, size=n_comparisons, dtype=np.int32) for taken in range(3))
    a += a >= first  # steps over those already taken
    low, high = np.minimum(first, a), np.maximum(first, a)
    b += b >= low
    b += b >= high
    return Comparisons(np.stack([first, a, b], axis=1), n_objects)


def per_comparison(seconds: list[float], n_comparisons: int) -> dict[str, float | int]:
    """Median and quartiles in nanoseconds a comparison."""
    low, middle, high = (1e9 * np.quantile(seconds, [0.25, 0.5, 0.75]) / n_comparisons).tolist()
    return {"ns": round(middle, 2), "low": round(low, 2), "high": round(high, 2), "turns": len(seconds)}
