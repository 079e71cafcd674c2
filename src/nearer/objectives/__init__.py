"""Objectives: the parameters, how comparisons touch them, and what solvers may ask.

What an objective can do is listed in its `provides`; solvers state what they need and refuse a mismatch.
"""

from __future__ import annotations

from nearer.objectives.all_pairs import AllPairs
from nearer.objectives.base import Objective
from nearer.objectives.gram import GramObjective
from nearer.objectives.parameters import OneArray, Parameters, Tensors
from nearer.objectives.points import PointObjective

__all__ = [
    "AllPairs",
    "GramObjective",
    "Objective",
    "OneArray",
    "Parameters",
    "PointObjective",
    "Tensors",
]
