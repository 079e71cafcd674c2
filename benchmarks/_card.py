"""What a graphics card can do at best, how long calls take on it, and with what they were measured."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks._store import FOLDER
from nearer._utils.namespaces import rounded_products

#: numbers that are copied to measure bandwidth, and rows of the square matrices that are multiplied
_COPIED, _ROWS = 2**28, 8192


def milliseconds(call: Callable[[], object], turns: int) -> dict[str, float]:
    """Return the median and the extremes of several calls after one that does not count."""
    call()
    found = []
    for _ in range(turns):
        torch.cuda.synchronize()
        began = time.perf_counter()
        call()
        torch.cuda.synchronize()
        found.append(1e3 * (time.perf_counter() - began))
    numbers = {"ms": np.median(found), "low": min(found), "high": max(found)}
    return {name: round(float(value), 3) for name, value in numbers.items()}


def ceilings() -> dict[str, float]:
    """Return the bytes per second of a copy, read and written, and the operations per second of matrix products."""
    x = torch.randn(_COPIED, device="cuda")
    y = torch.empty_like(x)
    copy = milliseconds(lambda: y.copy_(x), 10)["ms"]
    found = {"copy": 2 * x.numel() * x.element_size() / copy * 1e3}
    operations = 2 * _ROWS**3
    for name, dtype in (("float32", torch.float32), ("tf32", torch.float32), ("float64", torch.float64)):
        A, B = (torch.randn(_ROWS, _ROWS, device="cuda", dtype=dtype) for _ in range(2))
        with rounded_products(name == "tf32"):
            found[name] = operations / milliseconds(lambda A=A, B=B: A @ B, 10)["ms"] * 1e3  # type: ignore[misc]
    return {name: float(f"{value:.4g}") for name, value in found.items()}


def record() -> dict[str, Any]:
    """Return the card, its driver and memory, and the versions of what ran on it."""
    import triton

    card = torch.cuda.get_device_properties(0)
    return {
        "card": card.name,
        "memory GB": round(card.total_memory / 1e9, 1),
        "multiprocessors": card.multi_processor_count,
        "driver": _driver(),
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
        "triton": triton.__version__,
        "python": platform.python_version(),
        "commit": os.environ.get("COMMIT") or _said_by("git", "-C", str(FOLDER), "rev-parse", "HEAD"),
    }


def _driver() -> str:
    return _said_by("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")


def _said_by(*command: str) -> str:
    """Return what a program says, or that it cannot."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
