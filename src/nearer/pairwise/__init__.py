"""Learning from pairs of samples: one should score higher than the other, or two be nearer than others.

The estimators are `nearer.AUCClassifier` and `nearer.PairwiseLearner`; here is what they are made of.

>>> sorted(PAIRWISE_SOLVERS)
['adadsg', 'dsgd', 'exact', 'olp', 'opauc', 'solam']
"""

from __future__ import annotations

from nearer.pairwise.buffered import OLP
from nearer.pairwise.doubly_stochastic import DSGD, AdaDSG
from nearer.pairwise.exact import ExactSolution, solve_exact
from nearer.pairwise.exactly import Exact
from nearer.pairwise.maps import RandomFourier
from nearer.pairwise.moments import OPAUC
from nearer.pairwise.networks import Network
from nearer.pairwise.saddle import SOLAM
from nearer.pairwise.solvers import PAIRWISE_SOLVERS
from nearer.pairwise.state import PairProgress

__all__ = [
    "DSGD",
    "OLP",
    "OPAUC",
    "PAIRWISE_SOLVERS",
    "SOLAM",
    "AdaDSG",
    "Exact",
    "ExactSolution",
    "Network",
    "PairProgress",
    "RandomFourier",
    "solve_exact",
]
