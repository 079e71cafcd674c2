"""What a solver is, solvers in sequence, and the one function that runs them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from nearer._utils.runtime import interrupted, noting, one_thread
from nearer._utils.schema import Fields, Items, Part, Settings
from nearer.errors import InputError
from nearer.objectives.base import Objective
from nearer.solvers.result import Budget, Result, State
from nearer.solvers.run import Callback, Run, Stop

#: the protocol of the objectives that a solver minimises
O = TypeVar("O", bound=Objective)


class Solver(ABC, Generic[O]):
    """A way to descend. Subclasses are frozen dataclasses whose fields are the settings.

    `solve` moves the parameters until the run raises `Stop`, or returns when the solver's own schedule is over.
    """

    name: ClassVar[str]
    #: the methods and attributes of an objective that it uses, besides those that every objective has
    requires: ClassVar[frozenset[str]]
    #: whether `solve` returns by itself, when its own schedule is over
    ends: ClassVar[bool] = False
    #: whether it walks a stream: the latest parameters are its answer, and records are means over what it met
    online: ClassVar[bool] = False
    #: the names of the losses that it can minimise; None means any
    losses: ClassVar[frozenset[str] | None] = None
    _schema: ClassVar[Fields] = Settings()

    @property
    def default_epochs(self) -> int | None:
        """Return the budget if the user sets none; None means that the solver's own schedule is enough."""
        return 200

    @abstractmethod
    def solve(self, objective: O, x: Any, rng: np.random.Generator, run: Run) -> Any:
        """Descend from x, which may be overwritten; return the last parameters."""


@dataclass(frozen=True)
class Phases(Solver[Objective]):
    """Run solvers in sequence, each from the end of the one before; all but the last must end by themselves."""

    solvers: tuple[Solver, ...]
    name = "phases"
    _schema = Fields(solvers=Items(Part(Solver)))

    @property
    def requires(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset().union(*(solver.requires for solver in self.solvers))

    @property
    def default_epochs(self) -> int:
        return sum(solver.default_epochs or 0 for solver in self.solvers)

    def __post_init__(self) -> None:
        if not self.solvers or not all(isinstance(solver, Solver) for solver in self.solvers):
            raise InputError(
                "Phases needs at least one solver: pass a tuple such as (Adam(epochs=30), SVRG())"
            )
        endless = [solver.name for solver in self.solvers[:-1] if not solver.ends]
        if endless:
            raise InputError(f"the solver {endless[0]!r} never ends by itself: put it last")

    def solve(self, objective: Objective, x: np.ndarray, rng: np.random.Generator, run: Run) -> np.ndarray:
        for solver in self.solvers:
            x = solver.solve(objective, x, rng, run)
        return x


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
    if solver.losses is not None and not isinstance(objective, type):
        loss: str = objective.loss.name  # type: ignore[attr-defined]  # such solvers require it
        if loss not in solver.losses:
            raise InputError(
                f"the solver {solver.name!r} minimises the loss {' or '.join(sorted(solver.losses))} only, not "
                f"{loss!r}: choose that loss or another solver"
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

    Ctrl-C or a divergence ends the run like any other reason: the best parameters are kept. In several processes, a
    second ctrl-C ends the process.

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
    if budget.max_epochs is None and solver.default_epochs is not None:
        budget = replace(budget, max_epochs=solver.default_epochs)
    part = whole.part(budget, parameters=objective.parameters, score=score, state=state, online=solver.online)
    start = objective.parameters.copy(x) if solver.online else None
    part.best = start
    try:
        # divergence is watched for, not warned of; the run looks for ctrl-C
        with np.errstate(over="ignore", invalid="ignore"), noting():
            solver.solve(objective, x, rng or np.random.default_rng(), part)
            if interrupted():
                part.stop_reason = "interrupted"
    except Stop:
        pass
    except KeyboardInterrupt:
        if part.best is None or part.in_processes:  # the other processes are elsewhere in the work
            raise
        part.stop_reason = "interrupted"
    if part.best is None:
        raise RuntimeError(f"the solver {solver.name!r} ended without a record: `solve` must call run.begin")
    part.finish(objective.value)
    if solver.online and part.stop_reason == "diverged":  # back to where all was sound
        part.best, part.memory = start, State() if state is None else state.copy()
    return part.best, part.result()
