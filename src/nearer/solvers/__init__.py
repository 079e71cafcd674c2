"""Solvers: a gradient estimator, a step rule and the run that stops them.

>>> find("svrg-sbb") == SVRG(step="sbb")
True
>>> from nearer.objectives import PointObjective
>>> fitting(PointObjective)
['svrg-sbb', 'svrg-sbb0', 'svrg-sbb-restarts', 'svrg', 'sgd', 'adam', 'batch', 'lbfgs', 'gd', 'gd-diag', 'full-adam']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nearer.errors import InputError
from nearer.objectives.base import Objective
from nearer.solvers.accelerated import AcceleratedProximalGradient
from nearer.solvers.adam import Adam, FullAdam, NoisyAdam
from nearer.solvers.base import Phases, Solver, check_fit, minimise
from nearer.solvers.gradient_descent import GradientDescent
from nearer.solvers.lbfgs import LBFGS
from nearer.solvers.proximal import ProximalGradient
from nearer.solvers.result import Budget, Progress, Result, State
from nearer.solvers.run import Run, Stop
from nearer.solvers.sgd import SGD
from nearer.solvers.steps import Constant, Decay, StabilizedBB, StepRule
from nearer.solvers.svrg import SVRG

if TYPE_CHECKING:
    from nearer.solvers.alternating import AlternatingLeastSquares
    from nearer.solvers.buffered import OLP
    from nearer.solvers.central_path import CentralPath
    from nearer.solvers.doubly_stochastic import DSGD, AdaDSG
    from nearer.solvers.eigen_adam import EigenAdam, NoisyEigenAdam
    from nearer.solvers.exact import Exact, ExactSolution, solve_exact
    from nearer.solvers.gauss_newton import GaussNewton
    from nearer.solvers.ila import ILA
    from nearer.solvers.moments import OPAUC
    from nearer.solvers.saddle import SOLAM
    from nearer.solvers.sampled_pairs import BlockSampling, OnlineGramians

#: the modules of solvers that few fits need, imported when first asked for
_LATER = {
    "AdaDSG": "doubly_stochastic",
    "DSGD": "doubly_stochastic",
    "AlternatingLeastSquares": "alternating",
    "BlockSampling": "sampled_pairs",
    "CentralPath": "central_path",
    "EigenAdam": "eigen_adam",
    "NoisyEigenAdam": "eigen_adam",
    "OnlineGramians": "sampled_pairs",
    "GaussNewton": "gauss_newton",
    "ILA": "ila",
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


#: a class by name, with its settings if it has any
_Later = str | tuple[str, dict[str, Any]]


class _Table(Mapping[str, Solver]):
    """Solvers by name; one that is given as the name of its class, with settings, is made when first asked for."""

    def __init__(self, solvers: dict[str, Solver | _Later]):
        self._solvers = solvers

    def __getitem__(self, name: str) -> Solver:
        found = self._solvers[name]
        if not isinstance(found, Solver):
            kind, settings = (found, {}) if isinstance(found, str) else found
            found = self._solvers[name] = __getattr__(kind)(**settings)
        assert isinstance(found, Solver)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._solvers)

    def __len__(self) -> int:
        return len(self._solvers)


_SOLVERS: dict[str, Solver | _Later] = {
    "svrg-sbb": SVRG(step="sbb"),
    "svrg-sbb0": SVRG(step="bb"),
    "svrg-sbb-restarts": SVRG(step="sbb", module_epochs=5),
    "svrg": SVRG(step="constant"),
    "sgd": SGD(),
    "adam": Adam(),
    "batch": GradientDescent(),
    "lbfgs": LBFGS(),
    "newton": "GaussNewton",
    "gd": GradientDescent(growth_every=5),
    "gd-diag": GradientDescent(growth_every=5, diagonal=True),
    "full-adam": FullAdam(),
    "eigen-adam": "EigenAdam",
    "noisy-adam": NoisyAdam(),
    "noisy-eigen-adam": "NoisyEigenAdam",
    "als": "AlternatingLeastSquares",
    "sogram": "OnlineGramians",
    "sogram-diag": ("OnlineGramians", {"diagonal": True}),
    "sampling": "BlockSampling",
    "sampling-diag": ("BlockSampling", {"diagonal": True}),
    "sg": ("OnlineGramians", {"alpha": 1.0}),
    "adadsg": "AdaDSG",
    "dsgd": "DSGD",
    "olp": "OLP",
    "opauc": "OPAUC",
    "solam": "SOLAM",
    "exact": "Exact",
    "accelerated": AcceleratedProximalGradient(),
    "proximal": ProximalGradient(),
    "ila": "ILA",
    "central-path": "CentralPath",
}
#: all solvers by name; `fitting` returns those for an objective
SOLVERS: Mapping[str, Solver] = _Table(_SOLVERS)

__all__ = [
    "DSGD",
    "ILA",
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
    "AlternatingLeastSquares",
    "BlockSampling",
    "Budget",
    "CentralPath",
    "Constant",
    "Decay",
    "EigenAdam",
    "Exact",
    "ExactSolution",
    "FullAdam",
    "GaussNewton",
    "GradientDescent",
    "NoisyAdam",
    "NoisyEigenAdam",
    "OnlineGramians",
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
    "fitting",
    "minimise",
    "solve_exact",
]


def fitting(*objectives: Objective | type[Objective]) -> list[str]:
    """Return the names of the solvers that fit one of these objectives: it provides what they require."""
    return [name for name, solver in SOLVERS.items() if _fits(solver, objectives)]


def _fits(solver: Solver, objectives: tuple[Objective | type[Objective], ...]) -> bool:
    return any(solver.requires <= objective.provides for objective in objectives)  # type: ignore[operator]


def find(
    solver: str | Solver, *objectives: Objective | type[Objective], automatic: Solver | None = None
) -> Solver:
    """Return the solver with a name, or the object itself, and check that it fits one of the objectives.

    Parameters
    ----------
    solver : str or Solver
        A name in `SOLVERS`, or a solver.
    *objectives : Objective or its class
        What the solver may have to minimise; an InputError names the solvers that fit.
    automatic : Solver, optional
        What "auto" stands for, if the estimator has such a choice.
    """
    if automatic is not None and isinstance(solver, str) and solver == "auto":
        return automatic
    found = SOLVERS.get(solver) if isinstance(solver, str) else solver
    if isinstance(found, type) and issubclass(found, Solver):
        raise InputError(
            f"must be an object, not the class {found.__name__}: write {found.__name__}()", parameter="solver"
        )
    if not isinstance(found, Solver):
        names = fitting(*objectives) if objectives else list(SOLVERS)
        names = names if automatic is None else ["auto", *names]
        raise InputError(
            f"must be one of {', '.join(names)} or a nearer.solvers.Solver object, not {solver!r}",
            parameter="solver",
        )
    if objectives and not _fits(found, objectives):
        check_fit(found, objectives[0])
    return found
