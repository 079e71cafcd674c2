"""Where the time of an online pass over a whole kernel goes, by profile."""

from __future__ import annotations

import cProfile
import pstats
import time
from typing import Any

import numpy as np

from benchmarks._tables import Table, digits
from nearer import Comparisons, OnlineKernel
from nearer.kernels._symmetric import Symmetric

#: (file, function) of what does the work; no function of the list calls another often
PARTS = {
    "products of the resolvent or the kernel with a vector": [("_symmetric.py", "times")],
    "working waiting columns into the two matrices": [("_symmetric.py", "settle")],
    "reading columns of the two matrices": [("_symmetric.py", "column")],
    "low space: new directions": [("_lowest.py", "_outside"), ("_lowest.py", "_append")],
    "low space: smallest eigenpair within": [("_lowest.py", "lowest")],
    "low space: following the kernel": [("_lowest.py", "change"), ("_lowest.py", "lift")],
    "low space: clearing out": [("_lowest.py", "clear_out")],
    "entries between an answer's objects": [("_symmetric.py", "block"), ("_symmetric.py", "change")],
}
REST = "everything else"


def account(online: OnlineKernel, answers: Comparisons) -> dict[str, Any]:
    """Milliseconds an answer by part, while these answers are learned; and what a product alone takes."""
    held = online.held_.held
    before = held.n_projections, held.n_products, online.n_steps_  # type: ignore[union-attr]
    profile = cProfile.Profile(time.process_time)
    began = time.process_time()
    profile.runcall(online.partial_fit, answers)
    total = time.process_time() - began
    spent = _by_part(profile)
    spent[REST] = total - sum(spent.values())
    after = held.n_projections, held.n_products, online.n_steps_  # type: ignore[union-attr]
    projections, products, steps = (b - a for a, b in zip(before, after, strict=True))
    return {
        "answers": len(answers),
        "steps": steps,
        "projections": projections,
        "products": products,
        "milliseconds": {part: round(1000 * seconds / len(answers), 4) for part, seconds in spent.items()},
        "one_product": round(1000 * _one_product(held.matrix), 4),  # type: ignore[union-attr]
    }


def _by_part(profile: cProfile.Profile) -> dict[str, float]:
    """Seconds spent in the functions of each part and below."""
    spent = dict.fromkeys(PARTS, 0.0)
    for (file, _, function), (_, _, _, below, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        for part, members in PARTS.items():
            if any(file.endswith(end) and function == name for end, name in members):
                spent[part] += below
    return spent


def _one_product(matrix: Symmetric) -> float:
    """Median seconds of one product with the matrix that waits for nothing."""
    matrix.settle()
    vector = np.random.default_rng(0).normal(size=len(matrix.base))
    seconds = []
    for _ in range(10):
        began = time.process_time()
        matrix.times(vector)
        seconds.append(time.process_time() - began)
    return float(np.median(seconds))


def table(found: dict[str, Any], n: int) -> Table:
    """Where the milliseconds go."""
    spent = found["milliseconds"]
    total = sum(spent.values())
    shown = Table(f"Where the time of an answer goes, n = {n:,}", ["part", "ms an answer", "share"])
    for part, milliseconds in sorted(spent.items(), key=lambda item: -item[1]):
        shown.add(part, digits(milliseconds), f"{milliseconds / total:.0%}")
    shown.add("all", digits(total), "")
    shown.note = (
        f"{found['answers']} more answers after the pass, under a profiler: {found['steps']} steps, "
        f"{found['projections']} eigenproblems, {digits(found['products'] / max(found['projections'], 1))} products "
        f"with a matrix an eigenproblem. One product of a dense {n:,} x {n:,} matrix with a vector alone takes "
        f"{digits(found['one_product'])} ms."
    )
    return shown
