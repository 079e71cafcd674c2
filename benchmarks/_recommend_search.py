"""Choice of settings: the same rule and the same number of trials for every rival."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Setting = dict[str, Any]
#: name of a setting: kind ("log", "linear" or "whole", which is a rounded "log"), lowest and highest value
Space = dict[str, tuple[str, float, float]]

#: trials of the third and of the last quarter lie around the best so far, within this share of each range
_NEAR = (0.2, 0.1)


def search(
    space: Space, score: Callable[[Setting], tuple[float, float]], trials: int, seed: int
) -> tuple[Setting, list[dict[str, Any]]]:
    """Return the setting with the highest score and all trials.

    The first half of the trials is spread over the whole space (a Latin hypercube), the second lies around the best
    so far. `score` returns the score of a setting and the seconds of its fit.

    >>> best, trials = search({"x": ("log", 1, 100)}, lambda s: (-abs(s["x"] - 10), 0.0), 20, seed=0)
    >>> 8 < best["x"] < 12, len(trials)
    (True, 20)
    """
    random = np.random.default_rng(seed)
    wide = (trials + 1) // 2
    strata = random.permuted(np.tile(np.arange(wide), (len(space), 1)), axis=1).T
    spread = (strata + random.random(strata.shape)) / wide
    tried: list[dict[str, Any]] = []
    places: list[np.ndarray] = []
    for number in range(trials):
        if number < wide:
            place = spread[number]
        else:
            near = _NEAR[2 * (number - wide) // max(trials - wide, 1)]
            place = np.clip(places[_best(tried)] + near * (2 * random.random(len(space)) - 1), 0, 1)
        setting = {name: _value(*axis, at) for (name, axis), at in zip(space.items(), place, strict=True)}
        value, seconds = score(setting)
        tried.append({**setting, "score": round(value, 5), "seconds": float(f"{seconds:.4g}")})
        places.append(place)
    chosen = tried[_best(tried)]
    return {name: chosen[name] for name in space}, tried


def _best(tried: list[dict[str, Any]]) -> int:
    return int(np.argmax([one["score"] for one in tried]))


def _value(kind: str, low: float, high: float, place: float) -> float | int:
    """Return the value at a place between 0 and 1 of a range.

    >>> _value("log", 1, 100, 0.5), _value("linear", 0, 1, 0.5), _value("whole", 16, 256, 0.5)
    (10.0, 0.5, 64)
    """
    if kind == "linear":
        return float(f"{low + (high - low) * place:.4g}")
    value = float(low * (high / low) ** place)
    return round(value) if kind == "whole" else float(f"{value:.4g}")
