"""The run of an online kernel: blocks of answers, and what the run records, shows and stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nearer._utils.arrays import read_only
from nearer.kernels._answers import Stream
from nearer.kernels._forms import Factored, FullKernel, Whole
from nearer.kernels._rules import Plan
from nearer.solvers import Budget, Result, Run, State, Stop
from nearer.solvers.run import Callback

if TYPE_CHECKING:
    from nearer.kernels.online import OnlineKernel

#: answers up to the first record, and most between two; in between their number doubles
_FIRST_RECORD, _RECORD_EVERY = 256, 65_536


class HeldParameters:
    """How a run shows an online kernel: it changes in place, so nothing is copied until somebody asks."""

    def copy(self, x: Whole | Factored) -> Whole | Factored:
        """Return the kernel itself: an online run keeps the latest."""
        return x

    def view(self, x: Whole | Factored) -> np.ndarray:
        """Return the kernel (n, n), or the points (n, rank)."""
        return read_only(x.parameters())

    def is_finite(self, x: Whole | Factored) -> bool:
        """Return True: steps beyond the ceiling are never taken."""
        return True

    def arrays(self, x: Whole | Factored) -> dict[str, np.ndarray]:
        """Return the kernel or the points as an array."""
        return {"points" if isinstance(x, Factored) else "kernel": x.parameters()}

    def restored(self, arrays: dict[str, np.ndarray]) -> Whole | Factored:
        """Return the kernel with default settings."""
        if "points" in arrays:
            return Factored(arrays["points"].copy())
        return Whole(FullKernel.start(arrays["kernel"].copy(), "local"), "paper")


class OnlineRun:
    """One run over all answers that a model has learned in this process, call after call.

    Each record covers the answers since the last one. Its objective is the mean loss that they had when they came,
    estimated from some of them. Records are made at fixed numbers of answers and at the end of calls with many answers,
    so calls with one answer each stay cheap.
    """

    def __init__(self, result: Result | None):
        state = None if result is None else State(history=result.history)
        self.run = Run(parameters=HeldParameters(), state=state, online=True)
        self.run.enter("learning answers")
        if result is not None:
            self.run.evaluations = result.n_evaluations
        self._result, self._budget = result, Budget()
        self._losses, self._measured = 0.0, 0

    def learn(
        self, model: OnlineKernel, answers: Stream, n_new: int, plan: Plan, callback: Callback | None
    ) -> int:
        """Learn the next answers until the run ends; return how many were learned."""
        run, first = self.run, model.n_seen_
        if self._budget.max_seconds != model.max_seconds:
            self._budget = Budget(max_seconds=model.max_seconds)
        run.resume(self._budget, callback)
        run.expected = n_new * plan.passes
        end = first + n_new
        try:
            while model.n_seen_ < end:
                due = _next_record(model.n_seen_)
                wanted = min(model.held_.at_once(plan.passes), end - model.n_seen_, due - model.n_seen_)
                if self._block(model, answers, wanted, plan) < wanted:
                    run.end("diverged")
                    break
                if model.n_seen_ == due:
                    self._record(model)
                elif callback is not None or model.n_seen_ < end:  # else nothing is left to stop
                    run.look(model.held_, self._mean, n_seen=model.n_seen_)
        except Stop:
            if run.stop_reason == "seconds" and model.n_seen_ == end:
                run.end("epochs")  # nothing was left out
        if self._measured and (model.n_seen_ - first >= _FIRST_RECORD or self._result is None):
            run.over = True  # the last record of a call asks nobody
            self._record(model)
        return model.n_seen_ - first

    def result(self) -> Result:
        """Return the course of the run; the history is put together only if there are new records."""
        run, old = self.run, self._result
        if old is None or len(old.history["epoch"]) == 0 or old.history["epoch"][-1] != run.epoch:
            self._result = run.result()
        else:
            self._result = Result(
                old.objective, run.stop_reason, run.epoch, run.evaluations, run.seconds, old.history
            )
        return self._result

    def _block(self, model: OnlineKernel, answers: Stream, wanted: int, plan: Plan) -> int:
        learned = model.held_.learn(answers, model.n_seen_, wanted, plan)
        model.n_seen_ += learned.n_answers
        self._losses += learned.losses
        self._measured += learned.measured
        self.run.count(learned.n_answers * plan.passes)
        return learned.n_answers

    @property
    def _mean(self) -> float:
        return self._losses / self._measured if self._measured else self.run.best_value

    def _record(self, model: OnlineKernel) -> None:
        """Record the answers since the last record; raise `Stop` if the run is over."""
        mean, self._losses, self._measured = self._mean, 0.0, 0
        self.run.record(model.held_, mean, np.nan, epoch=max(self.run.epoch, 0) + 1, n_seen=model.n_seen_)


def _next_record(seen: int) -> int:
    """Return the number of answers at which the next record is due.

    >>> [_next_record(seen) for seen in (0, 255, 256, 1000, 65_535, 65_536, 200_000)]
    [256, 256, 512, 1024, 65536, 131072, 262144]
    """
    if seen < _RECORD_EVERY:
        return max(2 ** seen.bit_length(), _FIRST_RECORD)
    return (seen // _RECORD_EVERY + 1) * _RECORD_EVERY
