"""The solvers of pairs by name.

>>> sorted(PAIRWISE_SOLVERS)
['adadsg', 'dsgd', 'exact', 'olp', 'opauc', 'solam']
>>> find_pairwise_solver("dsgd") == DSGD()
True
"""

from __future__ import annotations

from nearer.errors import InputError
from nearer.pairwise.base import PairSolver
from nearer.pairwise.buffered import OLP
from nearer.pairwise.doubly_stochastic import DSGD, AdaDSG
from nearer.pairwise.exactly import Exact
from nearer.pairwise.moments import OPAUC
from nearer.pairwise.saddle import SOLAM

AnySolver = PairSolver | Exact

PAIRWISE_SOLVERS: dict[str, AnySolver] = {
    solver.name: solver for solver in (AdaDSG(), DSGD(), OLP(), OPAUC(), SOLAM(), Exact())
}

__all__ = [
    "DSGD",
    "OLP",
    "OPAUC",
    "PAIRWISE_SOLVERS",
    "SOLAM",
    "AdaDSG",
    "AnySolver",
    "Exact",
    "PairSolver",
    "find_pairwise_solver",
]


def find_pairwise_solver(solver: str | AnySolver) -> AnySolver:
    """The solver for a name, or the object itself.

    >>> find_pairwise_solver("exact")
    Exact(tol=1e-06, max_iterations=200)
    """
    if isinstance(solver, PairSolver | Exact):
        return solver
    if isinstance(solver, str) and solver in PAIRWISE_SOLVERS:
        return PAIRWISE_SOLVERS[solver]
    if isinstance(solver, type) and issubclass(solver, PairSolver | Exact):
        raise InputError(
            f"solver must be an object, not the class {solver.__name__}: write {solver.__name__}()"
        )
    raise InputError(
        f"solver must be one of {', '.join(PAIRWISE_SOLVERS)} or a solver object of nearer.pairwise, not {solver!r}"
    )
