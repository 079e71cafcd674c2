"""Objectives: the parameters, how comparisons touch them, and what solvers may ask.

What an objective can do is listed in its `provides`; solvers state what they need and refuse a mismatch.
"""

from __future__ import annotations

from nearer.objectives.affinities import AffinityObjective
from nearer.objectives.all_pairs import AllPairs
from nearer.objectives.base import Objective
from nearer.objectives.gram import GramObjective
from nearer.objectives.links import LinkObjective
from nearer.objectives.metric_distances import MetricDistances
from nearer.objectives.parameters import OneArray, Parameters, Tensors
from nearer.objectives.points import PointObjective
from nearer.objectives.similarities import SimilarityObjective

__all__ = [
    "AffinityObjective",
    "AllPairs",
    "GramObjective",
    "LinkObjective",
    "MetricDistances",
    "Objective",
    "OneArray",
    "Parameters",
    "PointObjective",
    "SimilarityObjective",
    "Tensors",
]
