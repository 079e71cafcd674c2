"""Choose between numpy and torch by the arrays at hand."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


def namespace(x: Any) -> Any:
    """Return the module whose functions accept x: torch for a tensor, numpy for anything else.

    Both modules share the names that losses need: exp, log, log1p, sqrt, clip, asarray, full_like, finfo. A tensor
    exists only if its owner has imported torch, so this function never imports it.

    >>> namespace(np.ones(2)) is np
    True
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return torch
    return np


def as_like(array: np.ndarray, like: Any, *, whole: bool = False) -> Any:
    """Return an array of numbers as the type, precision and device of another; whole numbers keep their precision.

    >>> as_like(np.ones(1), np.zeros(1, np.float32)).dtype
    dtype('float32')
    """
    if namespace(like) is np:
        return array if whole else array.astype(like.dtype)
    found = namespace(like).from_numpy(array)
    return found.to(like.device) if whole else found.to(like.device, like.dtype)


@contextmanager
def rounded_products(allowed: bool) -> Iterator[None]:
    """Let GPUs round the factors of products of float32 matrices to 10 bits (TF32), or forbid it."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    settings = torch.backends.cuda.matmul
    before, settings.allow_tf32 = settings.allow_tf32, allowed
    try:
        yield
    finally:
        settings.allow_tf32 = before


def to_numpy(array: Any) -> np.ndarray:
    """Return a copy of an array or tensor as a numpy array.

    >>> to_numpy(np.ones(1))
    array([1.])
    """
    return array.copy() if namespace(array) is np else array.detach().cpu().numpy().copy()
