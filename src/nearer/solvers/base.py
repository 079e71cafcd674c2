"""What a solver is, and the one function that runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from nearer._utils.runtime import interrupted, noting, one_thread
from nearer._utils.schema import Fields, Settings
from nearer.errors import InputError
from nearer.objectives.base import Objective
from nearer.solvers.result import Result, State
from nearer.solvers.run import Budget, Callback, Run, Stop


class Solver(ABC):
    """A way to descend. Subclasses are frozen dataclasses whose fields are the settings.

    `solve` moves the parameters until the run raises `Stop`, or returns when the solver's own schedule is over.
    """

    name: ClassVar[str]
    #: the methods and attributes of an objective that it uses, besides those that every objective has
    requires: ClassVar[frozenset[str]]
    #: whether `solve` returns by itself, by a schedule of its own
    ends: ClassVar[bool] = False
    _schema: ClassVar[Fields] = Settings()

    @property
    def default_epochs(self) -> int:
        """The budget if the user sets none."""
        return 200

    @abstractmethod
    def solve(self, objective: Any, x: Any, rng: np.random.Generator, run: Run) -> Any:
        """Descend from x, which may be overwritten; return the last parameters."""


def check_fit(solver: Solver, objective: Objective | type[Objective]) -> None:
    """Refuse, before any work, an objective (or a class of them) that lacks what the solver needs."""
    missing = sorted(solver.requires - objective.provides)  # type: ignore[operator]
    if missing:
        from nearer.solvers import fitting  # the table of all solvers, which needs this module

        kind = objective if isinstance(objective, type) else type(objective)
        names = ", ".join(fitting(objective))
        raise InputError(
            f"the solver {solver.name!r} needs {', '.join(missing)}, which {kind.__name__} does not provide: "
            f"choose {names or 'another solver'}"
        )


@one_thread()
def minimise(
    solver: Solver,
    objective: Objective,
    x: Any,
    *,
    budget: Budget | None = None,
    callback: Callback | None = None,
    rng: np.random.Generator | None = None,
    score: Callable[[Any], float] | None = None,
    state: State | None = None,
    run: Run | None = None,
) -> tuple[Any, Result]:
    """Run a solver on an objective from x; return the best parameters seen and the course of the fit.

    Ctrl-C or a divergence ends the run like any other reason: the best parameters are kept.

    Parameters
    ----------
    solver : Solver
        How to descend.
    objective : Objective
        What to minimise; it must provide what the solver requires.
    x : parameters
        Where to begin; they are copied.
    budget : Budget, optional
        When to stop.
    callback : callable, optional
        Called with a `Progress`; a true answer stops the run. Not with `run`, which has one.
    rng : numpy Generator, optional
        For all draws.
    score : callable, optional
        Called with the parameters at each record; the best ones are those of the highest score.
    state : State, optional
        Where an earlier run ended.
    run : Run, optional
        A fit of which this is a part: its budget, clock and callback count.

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
    x = objective.start(x)
    whole = Run(budget, callback) if run is None else run
    budget = budget or whole.budget
    if budget.max_epochs is None:
        budget = replace(budget, max_epochs=solver.default_epochs)
    part = whole.part(budget, parameters=objective.parameters, score=score, state=state)
    try:
        # divergence is watched for, not warned of; the run looks for ctrl-C
        with np.errstate(over="ignore", invalid="ignore"), noting():
            solver.solve(objective, x, rng or np.random.default_rng(), part)
            if interrupted():
                part.stop_reason = "interrupted"
    except Stop:
        pass
    except KeyboardInterrupt:
        if part.best is None:
            raise
        part.stop_reason = "interrupted"
    if part.best is None:
        raise RuntimeError(f"the solver {solver.name!r} ended without a record: `solve` must call run.begin")
    part.finish(objective.value)
    return part.best, part.result()
