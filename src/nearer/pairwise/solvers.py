"""The solvers of pairs by name.

>>> sorted(PAIRWISE_SOLVERS)
['adadsg', 'dsgd', 'olp', 'opauc', 'solam']
>>> find_pairwise_solver("dsgd") == DSGD()
True
"""

from __future__ import annotations

from nearer.errors import InputError
from nearer.pairwise.base import PairSolver
from nearer.pairwise.buffered import OLP
from nearer.pairwise.doubly_stochastic import DSGD, AdaDSG
from nearer.pairwise.moments import OPAUC
from nearer.pairwise.saddle import SOLAM

PAIRWISE_SOLVERS: dict[str, PairSolver] = {
    solver.name: solver for solver in (AdaDSG(), DSGD(), OLP(), OPAUC(), SOLAM())
}

__all__ = [
    "DSGD",
    "OLP",
    "OPAUC",
    "PAIRWISE_SOLVERS",
    "SOLAM",
    "AdaDSG",
    "PairSolver",
    "find_pairwise_solver",
]


def find_pairwise_solver(solver: str | PairSolver) -> PairSolver:
    """The solver for a name, or the object itself."""
    if isinstance(solver, PairSolver):
        return solver
    if isinstance(solver, str) and solver in PAIRWISE_SOLVERS:
        return PAIRWISE_SOLVERS[solver]
    raise InputError(
        f"solver must be one of {', '.join(PAIRWISE_SOLVERS)} or a solver object of nearer.pairwise, not {solver!r}"
    )
