"""The dataclasses of estimators of pairs that a model file may name: numbers, arrays and settings, no code."""

from __future__ import annotations

from nearer.pairwise._model import Learned
from nearer.pairwise.maps import FourierMap, Joined, RandomFourier, Rows
from nearer.pairwise.saved_state import FormerState as State
from nearer.pairwise.thresholds import Recent, Sigmoid, Staircase
from nearer.solvers import DSGD, OLP, OPAUC, SOLAM, AdaDSG, Exact

__all__ = [
    "DSGD",
    "OLP",
    "OPAUC",
    "SOLAM",
    "AdaDSG",
    "Exact",
    "FourierMap",
    "Joined",
    "Learned",
    "RandomFourier",
    "Recent",
    "Rows",
    "Sigmoid",
    "Staircase",
    "State",
]
