"""One fit from beginning to end: counting, timing, recording, keeping the best, calling back and stopping.

A fit is one `Run`. Solvers report to it and hold no stopping logic of their own. Where a fit solves several problems
(trials of a penalty, several starts), each is a part of the run: a `Run` too, which shares the clock, the callback
and the decision to stop with the whole.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from nearer._utils.runtime import interrupted
from nearer.objectives.parameters import Lazy, OneArray, Parameters
from nearer.solvers.result import STOP_REASONS, Budget, Progress, Result, State

Callback = Callable[[Progress], object]
#: given this process's reason to stop or None, return the reason that all processes share
Agree = Callable[[str | None], str | None]

_BLOWN_UP = 1e6  # an objective this many times the first one is not coming back
_VANISHED = 1e-12  # a nonnegative one this small compared with the first is solved
_IDLE_EPOCHS = 2  # epochs in a row without enough progress that end a run
_MOST_ROWS = 1000  # records of an online run: a stream may have any number of chunks
_USER = ("callback", "interrupted")  # reasons that are the user's wish
_COLUMNS = ("epoch", "objective", "seconds", "evaluations", "step")


class Stop(Exception):  # noqa: N818 - not an error: the ordinary end of a fit
    """Raised by a run to end a solver."""


class Run:
    """Counts evaluations, keeps the history and the best parameters, and ends a solver when it is time.

    Solvers call `count` as they evaluate, `record` after each epoch and, if their epochs are long, `look` in between,
    and `poll` within work that has nothing to show yet. All but the first may raise `Stop`.

    Parameters
    ----------
    budget : Budget, optional
        When to stop.
    callback : callable, optional
        Called with a `Progress`; a true answer stops the run.
    parameters : Parameters, optional
        How to copy and show the parameters; those of one numpy array by default.
    score : callable, optional
        Called with the parameters at each record; higher is better. The best parameters are those of the highest
        score instead of the lowest objective, and the history has a column "score".
    agree : callable, optional
        Makes one decision to stop of those of several processes; see `nearer.solvers.agreement`.
    state : State, optional
        Where an earlier run ended: counts, history and the solver's memory continue from there.
    online : bool
        Keep the latest parameters instead of the best, and at most 1000 records, of which the older ones thin out:
        for solvers that walk a stream.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        callback: Callback | None = None,
        *,
        parameters: Parameters | None = None,
        score: Callable[[Any], float] | None = None,
        agree: Agree | None = None,
        state: State | None = None,
        online: bool = False,
    ):
        self.budget = budget or Budget()
        self.parameters: Parameters = parameters or OneArray()
        self.details: dict[str, Any] = {}
        self.stop_reason = "epochs"
        self.best: Any = None
        self.best_value = math.inf
        #: arrays and numbers that the solver needs to go on later; it fills them before it ends
        self.memory = State() if state is None else state.copy()
        #: what the present part is about, its number, and the most parts that the stage can have
        self.stage, self.part_number, self.n_parts = "", 0, 1
        #: evaluations that the solver's schedule will make, if it knows; only the progress bar looks at them
        self.expected: int | None = None
        self._whole: Run | None = None
        self._lock = threading.RLock()  # parts may run in threads
        self._wishes: list[str] | None = None  # a user's wish to stop one of several runs at the same time
        self._callback, self._score, self._agree, self._online = callback, score, agree, online
        self._rows: list[dict[str, float]] = []  # those of this run
        last = self.memory.last_row()
        self.epoch, self.evaluations = int(last.get("epoch", -1)), int(last.get("evaluations", 0))
        self._seconds = last.get("seconds", 0.0)
        self._before = (self.epoch, self.evaluations, self._seconds)
        self._previous = last.get("objective", math.inf)
        self._first_value = self.memory.first("objective")
        self.over = False
        if online:
            self.best_value = last.get("objective", math.nan)
        self._best_score, self._best_is_exact = -math.inf, True
        self._latest: Lazy | None = None
        self._stored: Callable[[], State] | None = None
        self._idle_epochs = 0
        self._first: tuple[float, Any] | None = None
        self._clock = time.perf_counter()

    # -- what solvers call ---------------------------------------------------------------------------------------

    def count(self, evaluations: int) -> None:
        """Add derivatives of single terms taken."""
        with self._lock:
            self.evaluations += evaluations
            if self._whole is not None:
                self._whole.count(evaluations)

    def note(self, **details: Any) -> None:
        """Leave values for the result's details; the latest of a name counts."""
        self.details.update(details)

    def remember(self, stored: Callable[[], State]) -> None:
        """Name a function that returns what the solver needs to continue; it is called if somebody asks for it."""
        self._stored = stored

    def room(self, evaluations: int) -> int:
        """Return how many of these evaluations the budget still allows."""
        if self.budget.max_evaluations is None:
            return evaluations
        return min(evaluations, self.budget.max_evaluations - (self.evaluations - self._before[1]))

    def begin(self, x: Any, value: float, step: float) -> None:
        """Record the start; after another solver of the same run, its last record stands for it."""
        if self.epoch < 0:
            self.record(x, value, step, settled=False)
        else:
            self._keep(x, value, exact=True)

    def record(
        self,
        x: Any,
        value: float,
        step: float,
        *,
        exact: bool = True,
        settled: bool = True,
        gap: float | None = None,
        epoch: int | None = None,
        reason: str | None = None,
        **columns: float,
    ) -> None:
        """End an epoch; raise `Stop` if the run is over.

        If it was over before, this adds what the unfinished epoch brought; nobody is asked and nothing is raised.

        Parameters
        ----------
        x : parameters, or a function that returns them
            A function is called only if somebody needs them.
        value, step : float
            The objective there, and the length of the last step.
        exact : bool
            False if the value is a mean over parameters met on the way. Such values do not compare with others, so the
            latest parameters are kept.
        settled : bool
            False while a schedule still means to make large steps: the tolerance does not count then.
        gap : float, optional
            By how much the value can still fall at most, if the solver knows; it replaces the last decrease, and is a
            column of the history.
        epoch : int, optional
            The number of the epoch, if several records belong to one; by default one more than the last.
        reason : str, optional
            Why the solver ends here, if it does: one of `STOP_REASONS`.
        columns : float
            Further columns of the history.
        """
        self._tick()
        self.epoch = self.epoch + 1 if epoch is None else epoch
        previous, self._previous = self._previous, value
        if self._first_value is None:
            self._first_value = value
        row = dict(zip(_COLUMNS, (self.epoch, value, self._seconds, self.evaluations, step), strict=True))
        look = Lazy(x)
        if gap is not None:
            columns["gap"] = gap
        if self._score is not None:
            columns["score"] = float(self._score(look()))
        self._rows.append({**row, **columns})
        self._keep(look, value, exact, columns.get("score"))
        if not self.over:
            asked = self._ask(look, value, step, columns)
            self._leave(reason or asked or self._ended(previous, value, settled, gap))

    def look(self, x: Any, value: float, step: float = math.nan, **columns: float) -> None:
        """Show callbacks where a long epoch stands; raise `Stop` if the run is over. Nothing is recorded."""
        self._tick()
        asked = None if self._callback is None else self._ask(Lazy(x), value, step, columns)
        self._leave(asked or self._spent())

    def poll(self) -> None:
        """Raise `Stop` if the time is up or ctrl-C was pressed, in the middle of an eigenproblem for example."""
        self._tick()
        most = self.budget.max_seconds
        late = most is not None and self._seconds - self._before[2] >= most
        self._leave("seconds" if late else None)

    def end(self, reason: str) -> None:
        """Note that the run is over, without raising `Stop`."""
        self.stop_reason, self.over = reason, True

    # -- what estimators call ------------------------------------------------------------------------------------

    def enter(self, stage: str, parts: int = 1) -> None:
        """Begin a stage of at most `parts` parts. Callbacks and the progress bar show the current one."""
        self.stage, self.part_number, self.n_parts = stage, 0, parts

    def watch(self, callback: Callback) -> None:
        """Call another function beside the user's, whose answer does not stop the run."""
        users = self._callback

        def both(progress: Progress) -> object:
            callback(progress)
            return None if users is None else users(progress)

        self._callback = both

    def part(self, budget: Budget | None = None, **settings: Any) -> Run:
        """Return a run for the next problem of this fit, within what is left of the budget.

        `settings` are those of `Run`: parameters, score, state.
        """
        self.part_number += 1
        return self._below((budget or self.budget).less(self.seconds, self.evaluations), **settings)

    def shares(self, count: int, budget: Budget) -> list[Run]:
        """Return runs for problems that may be worked on at the same time; if the user stops one, all stop.

        Each may use an equal share of the evaluations that are left, so that the outcome does not depend on the number
        of threads.
        """
        left = budget.less(self.seconds, self.evaluations)
        if left.max_evaluations is not None:
            left = replace(left, max_evaluations=max(left.max_evaluations // count, 1))
        runs, wishes = [self._below(left) for _ in range(count)], list[str]()
        for k, run in enumerate(runs):
            run._wishes, run.part_number = wishes, self.part_number + k
        self.part_number += count
        return runs

    def _below(self, budget: Budget, **settings: Any) -> Run:
        """Return a run that shares callback, lock and decisions with this one."""
        run = Run(budget, self._callback, agree=self._agree, **settings)
        run.stage, run.part_number, run.n_parts = self.stage, max(self.part_number, 1), self.n_parts
        run._whole, run._lock, run._wishes = self, self._lock, self._wishes
        return run

    def resume(self, budget: Budget, callback: Callback | None) -> None:
        """Continue after a pause, which does not count; the budget is for the work from here on."""
        self.budget, self._callback = budget, callback
        self.stop_reason, self.over = "epochs", False
        self._before = (self.epoch, self.evaluations, self._seconds)
        self._clock = time.perf_counter()

    @property
    def in_processes(self) -> bool:
        """Return whether several processes decide together when this run is over."""
        return self._agree is not None

    @property
    def seconds_left(self) -> float | None:
        """Return what is left of the budget of seconds, if there is one."""
        most = self.budget.max_seconds
        return None if most is None else max(most - self.seconds, 0.0)

    @property
    def seconds(self) -> float:
        """Return the time so far; callbacks do not count."""
        return self._seconds + time.perf_counter() - self._clock

    def _pause(self, since: float) -> None:
        """Leave the time since then out of every clock."""
        self._clock += time.perf_counter() - since
        if self._whole is not None:
            self._whole._pause(since)

    def finish(self, value: Callable[[Any], float]) -> None:
        """Replace a mean over an epoch by the exact value, and return to the start if nothing better was found."""
        if self._latest is not None:
            self._settle(self._latest())
        if self._online or self.best is None or self._best_is_exact:
            return
        self.best_value = value(self.best)
        assert self._first is not None
        first_value, first = self._first
        if self._score is None and not self.best_value <= first_value:
            self.best_value, self.best = first_value, first

    def _settle(self, x: Any) -> None:
        """Keep the latest parameters of an online run, unless they have diverged."""
        if self.parameters.is_finite(x):
            self.best = self.parameters.copy(x)
        else:
            self.end("diverged")

    def result(self) -> Result:
        """Return the course of the run so far."""
        memory, records = self.memory, self._history()
        history = dict(records) or {name: np.empty(0) for name in _COLUMNS}
        for name in ("epoch", "evaluations"):
            history[name] = history[name].astype(np.int64)
        return Result(
            objective=float(self.best_value),
            stop_reason=self.stop_reason,
            n_epochs=max(self.epoch, 0),
            n_evaluations=self.evaluations,
            seconds=self._seconds,
            history=history,
            details=dict(self.details),
            state=State(memory.arrays, memory.numbers, records) if memory.arrays or memory.numbers else None,
        )

    def state(self) -> State:
        """Return counts, history and the solver's memory, from which a later run can continue."""
        memory = self.memory if self._stored is None else self._stored()
        return State(memory.arrays, memory.numbers, self._history())

    # -- inside --------------------------------------------------------------------------------------------------

    def _history(self) -> dict[str, np.ndarray]:
        """Return the records of earlier runs and of this one."""
        return self.memory.joined(self._rows, _MOST_ROWS if self._online else None)

    def _tick(self) -> None:
        now = time.perf_counter()
        self._seconds += now - self._clock
        self._clock = now

    def _keep(self, x: Any, value: float, exact: bool, score: float | None = None) -> None:
        """Keep the parameters if they are the best, or if what was kept before cannot be compared with them."""
        x = x if isinstance(x, Lazy) else Lazy(x)
        if self._online:
            self.best_value, self._latest = value, x  # worked out at the end
            return
        if self.best is None:
            self._first = value, self.parameters.copy(x())
        elif self._blown_up(value):
            return
        elif score is not None:
            if not score > self._best_score:
                return
        elif exact and self._best_is_exact and value > self.best_value:
            return
        self._best_score = -math.inf if score is None else score
        self.best_value, self.best, self._best_is_exact = value, self.parameters.copy(x()), exact

    def _blown_up(self, value: float) -> bool:
        first = value if self._first_value is None else self._first_value
        return not math.isfinite(value) or value > _BLOWN_UP * max(abs(first), 1.0)

    def _ask(self, x: Lazy, value: float, step: float, columns: dict[str, float]) -> str | None:
        if self._callback is None:
            return None
        progress = Progress(
            epoch=max(self.epoch, 0),
            objective=value,
            seconds=self._seconds,
            evaluations=self.evaluations,
            step=step,
            fraction=self._fraction(),
            stage=self.stage,
            part=max(self.part_number, 1),
            parts=self.n_parts,
            columns=columns,
            look=lambda: self.parameters.view(x()),
            state=self.state,
        )
        with self._lock:  # one call at a time
            asked = time.perf_counter()
            stops = self._callback(progress)
            self._pause(asked)
        return "callback" if stops else None

    def _ended(self, previous: float, value: float, settled: bool, gap: float | None) -> str | None:
        if self._online:
            return self._spent()
        if self._blown_up(value):
            return "diverged"
        tol = self.budget.tol
        idle = settled and math.isfinite(previous) and abs(previous - value) <= tol * abs(previous)
        self._idle_epochs = self._idle_epochs + 1 if idle else 0
        closed = self._idle_epochs >= _IDLE_EPOCHS if gap is None else settled and gap <= tol * abs(value)
        first = value if self._first_value is None else self._first_value
        if (closed and tol > 0) or 0 <= value <= _VANISHED * abs(first):
            return "tolerance"
        return self._spent()

    def _spent(self) -> str | None:
        budget = self.budget
        if budget.max_epochs is budget.max_evaluations is budget.max_seconds is None:
            return None  # as for most online runs, which ask often
        return next((name for name, used, limit in self._limits() if used >= limit), None)

    def _limits(self) -> list[tuple[str, float, float]]:
        """Return what each limit of the budget is held against: the work of this run, not of earlier ones."""
        budget, (epoch, evaluations, seconds) = self.budget, self._before
        limits = (
            ("epochs", self.epoch - max(epoch, 0), budget.max_epochs),
            ("evaluations", self.evaluations - evaluations, budget.max_evaluations),
            ("seconds", self._seconds - seconds, budget.max_seconds),
        )
        return [(name, used, limit) for name, used, limit in limits if limit is not None]

    def _fraction(self) -> float:
        shares = [used / limit for _, used, limit in self._limits()]
        if self.expected is not None:
            shares.append((self.evaluations - self._before[1]) / max(self.expected, 1))
        return min(1.0, max(shares, default=0.0))

    def _leave(self, reason: str | None) -> None:
        if reason is None:
            reason = "interrupted" if interrupted() else next(iter(self._wishes or ()), None)
        if self._wishes is not None and reason in _USER:
            self._wishes.append(reason)
        if self._agree is not None:
            reason = self._agree(reason)
        if reason is not None:
            assert reason in STOP_REASONS
            self.end(reason)
            raise Stop(reason)
