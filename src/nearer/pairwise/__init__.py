"""Learning from pairs of samples: one should score higher than the other, or two be nearer than others.

The estimators are `nearer.AUCClassifier` and `nearer.PairwiseLearner`; here is what they are made of. The solvers are
those of `nearer.solvers`.

>>> AdaDSG().name
'adadsg'
"""

from __future__ import annotations

from nearer.pairwise.maps import RandomFourier
from nearer.pairwise.networks import Network
from nearer.solvers.buffered import OLP
from nearer.solvers.doubly_stochastic import DSGD, AdaDSG
from nearer.solvers.exact import Exact, ExactSolution, solve_exact
from nearer.solvers.moments import OPAUC
from nearer.solvers.saddle import SOLAM

__all__ = [
    "DSGD",
    "OLP",
    "OPAUC",
    "SOLAM",
    "AdaDSG",
    "Exact",
    "ExactSolution",
    "Network",
    "RandomFourier",
    "solve_exact",
]
