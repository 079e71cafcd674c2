"""Conclusions of `retrieval`."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import retrieval
from benchmarks.conclusions._words import Rows, share, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """How often the paper's solver wins under the paper's conditions, then the default."""
    cases = [_maps(rows, data, flip, loss, settings) for data, flip, loss in _cases(settings)]
    sbb = [_best_sbb(maps) for maps in cases]
    wins = sum(
        best > max(maps[name] for name in ("batch", "SGD", "SVRG"))
        for best, maps in zip(sbb, cases, strict=True)
    )
    over_svrg = sum(best > maps["SVRG"] for best, maps in zip(sbb, cases, strict=True))
    batch = sum(
        maps["batch"] > max(best, maps["SGD"], maps["SVRG"]) for best, maps in zip(sbb, cases, strict=True)
    )
    default = sum(maps["default"] == max(maps.values()) for maps in cases)
    lead = [
        maps["default"] - max(value for name, value in maps.items() if name != "default") for maps in cases
    ]
    plain = sum(maps["features"] == min(maps.values()) for maps in cases)
    return [
        "The paper's order did not reproduce: at equal evaluations the best SVRG-SBB has the highest mean "
        f"average precision of the paper's solvers in only {share(wins, len(cases))} cases (a data set, "
        f"loss and share of flips each). `batch` has it in {batch}, and SVRG-SBB is ahead of SVRG in "
        f"{over_svrg}.",
        "Not tested: SVRG and SGD with steps tuned to each data set (theirs are chosen from the data and "
        "decay), and the paper's own images, which are not available.",
        f"`default`, with a regulariser and a budget of its own, is best in {share(default, len(cases))} "
        f"cases, by {span(lead, '.3f')}. That is not a comparison of solvers.",
        f"Searching by the features themselves is worst in {share(plain, len(cases))} cases.",
    ]


def _cases(settings: dict[str, Any]) -> list[tuple[str, float, str]]:
    """Return every data set with every share of flips and every loss."""
    return [
        (data, flip, loss)
        for data in settings["data"]
        for flip in settings["flips"]
        for loss in settings["losses"]
    ]


def _maps(rows: Rows, data: str, flip: float, loss: str, settings: dict[str, Any]) -> dict[str, float]:
    """Return the median of the mean average precision, by solver."""
    found = retrieval.results_of(rows, data, flip)
    names = {"features": "features", **{name: f"{loss} {name}" for name in retrieval.fits(settings)}}
    return {name: float(np.median([one[key]["map"] for one in found])) for name, key in names.items()}


def _best_sbb(maps: dict[str, float]) -> float:
    return max(value for name, value in maps.items() if name.startswith("SBB-"))
