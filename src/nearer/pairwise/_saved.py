"""The parts of estimators of pairs that a model file may hold: numbers, arrays and settings, no code."""

from __future__ import annotations

from nearer.pairwise._model import Learned
from nearer.pairwise.buffered import OLP
from nearer.pairwise.doubly_stochastic import DSGD, AdaDSG
from nearer.pairwise.exactly import Exact
from nearer.pairwise.maps import FourierMap, Joined, RandomFourier, Rows
from nearer.pairwise.moments import OPAUC
from nearer.pairwise.saddle import SOLAM
from nearer.pairwise.state import State
from nearer.pairwise.thresholds import Recent, Sigmoid, Staircase

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
