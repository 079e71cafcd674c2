"""What a solver is, and the one function that runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from nearer._blas import one_thread
from nearer._schema import Fields, Settings
from nearer.errors import InputError
from nearer.solvers.monitor import Budget, Callback, Monitor, Stop
from nearer.solvers.result import Result


class Solver(ABC):
    """A way to descend. Subclasses are frozen dataclasses whose fields are the settings.

    `run` moves `x` until the monitor raises `Stop`, or returns when the solver's own schedule is over.
    """

    name: ClassVar[str]
    #: what the objective must provide
    requires: ClassVar[frozenset[str]]
    #: whether `run` returns by itself, by a schedule of its own
    ends: ClassVar[bool] = False
    _schema: ClassVar[Fields] = Settings()

    @property
    def default_epochs(self) -> int:
        """The budget where the user gives none."""
        return 200

    @abstractmethod
    def run(self, objective: Any, x: np.ndarray, rng: np.random.Generator, monitor: Monitor) -> np.ndarray:
        """Descend from x (which may be overwritten); gives the last point."""


def check_fit(solver: Solver, objective: Any) -> None:
    """Refuse, before any work, an objective that lacks what the solver needs."""
    missing = sorted(solver.requires - objective.provides)
    if missing:
        raise InputError(
            f"the solver {solver.name!r} needs {', '.join(missing)}, which "
            f"{type(objective).__name__} does not provide: choose another solver"
        )


@one_thread()
def minimise(
    solver: Solver,
    objective: Any,
    x: np.ndarray,
    *,
    budget: Budget | None = None,
    callback: Callback | None = None,
    rng: np.random.Generator | None = None,
) -> tuple[np.ndarray, Result]:
    """Run a solver on an objective from x; gives the best point seen and the course of the fit.

    An interruption (ctrl-C) or a divergence ends the run like any other reason: the best point is kept.

    Examples
    --------
    >>> import nearer
    >>> from nearer.objectives import PointObjective
    >>> answers, truth = nearer.datasets.planted(20, 2, 500, random_state=0)
    >>> f = PointObjective(answers, nearer.losses.STE(), n_components=2, l2=1e-3)
    >>> start = np.random.default_rng(0).normal(size=f.shape)
    >>> x, result = minimise(nearer.solvers.LBFGS(), f, start)
    >>> result.stop_reason, bool(result.objective < f.value(start))
    ('tolerance', True)
    """
    check_fit(solver, objective)
    x = np.array(x, dtype=objective.dtype, order="C")  # of another order the loops would compile anew
    if x.shape != objective.shape:
        raise InputError(f"the start has shape {x.shape} but the objective needs {objective.shape}")
    budget = budget or Budget()
    if budget.max_epochs is None:
        budget = replace(budget, max_epochs=solver.default_epochs)
    monitor = Monitor(budget, callback)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # divergence is watched for, not warned of
            solver.run(objective, x, rng or np.random.default_rng(), monitor)
    except Stop:
        pass
    except KeyboardInterrupt:
        if monitor.best_points is None:
            raise
        monitor.reason = "interrupted"
    if monitor.best_points is None:
        raise RuntimeError(
            f"the solver {solver.name!r} ended without a record: its run must call monitor.begin"
        )
    monitor.finish(objective.value)
    return monitor.best_points, monitor.result()
