"""Kernels from comparisons: a positive semidefinite matrix of similarities, in batch or one answer at a time."""

from __future__ import annotations

from nearer.kernels.online import OnlineKernel
from nearer.kernels.relative import RelativeKernel

__all__ = ["OnlineKernel", "RelativeKernel"]
