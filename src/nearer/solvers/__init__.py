"""Solvers: a gradient estimator, a step rule and the run that stops them.

>>> find("svrg-sbb") == SVRG(step="sbb")
True
>>> find("adadsg").requires <= find("dsgd").requires
True
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nearer.errors import InputError
from nearer.solvers.accelerated import AcceleratedProximalGradient
from nearer.solvers.adam import Adam
from nearer.solvers.base import Solver, minimise
from nearer.solvers.gradient_descent import GradientDescent
from nearer.solvers.lbfgs import LBFGS
from nearer.solvers.phases import Phases
from nearer.solvers.proximal import ProximalGradient
from nearer.solvers.result import Progress, Result, State
from nearer.solvers.run import Budget, Run, Stop
from nearer.solvers.sgd import SGD
from nearer.solvers.steps import Constant, Decay, StabilizedBB, StepRule
from nearer.solvers.svrg import SVRG

if TYPE_CHECKING:
    from nearer.solvers.buffered import OLP
    from nearer.solvers.doubly_stochastic import DSGD, AdaDSG
    from nearer.solvers.exact import Exact, ExactSolution, solve_exact
    from nearer.solvers.moments import OPAUC
    from nearer.solvers.saddle import SOLAM

#: the modules of solvers that few fits need, imported when first asked for
_LATER = {
    "AdaDSG": "doubly_stochastic",
    "DSGD": "doubly_stochastic",
    "OLP": "buffered",
    "OPAUC": "moments",
    "SOLAM": "saddle",
    "Exact": "exact",
    "ExactSolution": "exact",
    "solve_exact": "exact",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'nearer.solvers' has no attribute {name!r}")
    found = getattr(import_module(f"nearer.solvers.{_LATER[name]}"), name)
    globals()[name] = found
    return found


class _Table(Mapping[str, Solver]):
    """Solvers by name; one that is given as the name of its class is made when first asked for."""

    def __init__(self, solvers: dict[str, Solver | str]):
        self._solvers = solvers

    def __getitem__(self, name: str) -> Solver:
        found = self._solvers[name]
        if isinstance(found, str):
            found = self._solvers[name] = __getattr__(found)()
        assert isinstance(found, Solver)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._solvers)

    def __len__(self) -> int:
        return len(self._solvers)


_SOLVERS: dict[str, Solver | str] = {
    "auto": Phases((Adam(epochs=30), SVRG(step=StabilizedBB(first_step="careful")))),
    "svrg-sbb": SVRG(step="sbb"),
    "svrg-sbb0": SVRG(step="bb"),
    "svrg-sbb-restarts": SVRG(step="sbb", module_epochs=5),
    "svrg": SVRG(step="constant"),
    "sgd": SGD(),
    "adam": Adam(),
    "batch": GradientDescent(),
    "lbfgs": LBFGS(),
    "adadsg": "AdaDSG",
    "dsgd": "DSGD",
    "olp": "OLP",
    "opauc": "OPAUC",
    "solam": "SOLAM",
    "exact": "Exact",
}
#: all solvers by name; which of them an estimator takes follows from what its objective provides
SOLVERS: Mapping[str, Solver] = _Table(_SOLVERS)
#: those of kernels
KERNEL_SOLVERS: dict[str, Solver] = {
    "accelerated": AcceleratedProximalGradient(),
    "proximal": ProximalGradient(),
}

__all__ = [
    "DSGD",
    "KERNEL_SOLVERS",
    "LBFGS",
    "OLP",
    "OPAUC",
    "SGD",
    "SOLAM",
    "SOLVERS",
    "SVRG",
    "AcceleratedProximalGradient",
    "AdaDSG",
    "Adam",
    "Budget",
    "Constant",
    "Decay",
    "Exact",
    "ExactSolution",
    "GradientDescent",
    "Phases",
    "Progress",
    "ProximalGradient",
    "Result",
    "Run",
    "Solver",
    "StabilizedBB",
    "State",
    "StepRule",
    "Stop",
    "find",
    "minimise",
    "solve_exact",
    "that_fit",
]


def that_fit(*provided: frozenset[str], among: Mapping[str, Solver] = SOLVERS) -> dict[str, Solver]:
    """Return the solvers by name that need no more than what one of several objectives provides.

    >>> list(that_fit(frozenset({"value_and_gradient", "dtype"})))
    ['batch', 'lbfgs']
    """
    return {
        name: solver for name, solver in among.items() if any(solver.requires <= names for names in provided)
    }


def find(
    solver: str | Solver,
    among: Mapping[str, Solver] = SOLVERS,
    provided: tuple[frozenset[str], ...] | None = None,
) -> Solver:
    """Return the solver for a name, or the object itself.

    `provided` is what each objective that it may be for provides; a refusal names only solvers that fit one of them.
    """
    if isinstance(solver, Solver):
        return solver
    if isinstance(solver, str) and solver in among:
        return among[solver]
    if isinstance(solver, type) and issubclass(solver, Solver):
        raise InputError(
            f"solver must be an object, not the class {solver.__name__}: write {solver.__name__}()"
        )
    names = among if provided is None else that_fit(*provided, among=among)
    raise InputError(
        f"solver must be one of {', '.join(names)} or a nearer.solvers.Solver object, not {solver!r}"
    )
