"""One call of `fit` or `partial_fit`: its clock, its progress bar, its callback and ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from nearer._utils.runtime import interrupt_between
from nearer._utils.validation import positive
from nearer.errors import InputError
from nearer.pairwise.doubly_stochastic import AdaDSG
from nearer.pairwise.state import Limits, PairProgress, State
from nearer.solvers.result import Progress

#: seconds that a run gets whose budget is used up: enough for the block of steps that leaves an answer
_A_MOMENT = 1e-6


class Watching:
    """What runs of solvers within one call share.

    Attributes
    ----------
    stage, part, parts : str, int, int
        What is being done now, for the progress bar.
    """

    def __init__(
        self,
        max_seconds: float | None,
        callback: Callable[[PairProgress], Any] | None,
        show: Callable[[Any], None] | None,
        interrupted: Callable[[], bool],
    ):
        self._max_seconds, self._callback, self._show = max_seconds, callback, show
        self.interrupted = interrupted
        self.began = time.perf_counter()
        self.stage, self.part, self.parts = "", 1, 1
        self.stopped = False

    @property
    def seconds_left(self) -> float | None:
        """What is left of the budget, where there is one."""
        if self._max_seconds is None:
            return None
        return max(self._max_seconds - (time.perf_counter() - self.began), 0.0)

    def limits(self, share: float = 1.0) -> Limits | None:
        """For the next run of a solver, which may take a share of what is left."""
        left = self.seconds_left
        return None if left is None else Limits(seconds=max(share * left, _A_MOMENT))

    def enter(self, stage: str, part: int, parts: int) -> None:
        """Say what comes now."""
        self.stage, self.part, self.parts = stage, part, parts

    def callback(self, planned: int, ask: bool = True) -> Callable[[PairProgress], bool]:
        """For a run of about `planned` steps; `ask` says whether the user's callback hears of it."""

        first_step: list[int] = []

        def look(progress: PairProgress) -> bool:
            if not first_step:
                first_step.append(progress.steps)
            self._draw(progress, (progress.steps - first_step[0]) / max(planned, 1))
            if ask and self._callback is not None and self._callback(progress):
                self.stopped = True
            return self.stopped or self.interrupted()

        return look

    def _draw(self, progress: PairProgress, share: float) -> None:
        if self._show is None:
            return
        if self._max_seconds is not None:
            share = max(share, (time.perf_counter() - self.began) / self._max_seconds)
        self._show(
            Progress(
                stage=self.stage,
                part=self.part,
                parts=self.parts,
                fraction=min(share, 1.0),
                objective=progress.loss,
            )
        )

    def close(self, state: State) -> State:
        """Let the state of a run say so if ctrl-C ended it."""
        if self.interrupted() and state.stop_reason == "callback":
            state.stop_reason = "interrupted"
        return state


@contextmanager
def watching(
    *,
    verbose: bool,
    callback: Callable[[PairProgress], Any] | None,
    max_seconds: float | None,
    raises: bool,
) -> Iterator[Watching]:
    """Watch over runs of solvers; after ctrl-C they end between two blocks of steps.

    Parameters
    ----------
    raises : bool
        Whether ctrl-C goes on to interrupt once what was learned is kept; otherwise a fit just ends early.
    """
    if max_seconds is not None:
        positive("max_seconds", max_seconds)
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be a function or None, not {callback!r}")
    pressed: Callable[[], bool] = bool
    try:
        with ExitStack() as stack:
            pressed = stack.enter_context(interrupt_between())
            show = None
            if verbose:
                from nearer._utils.progress import progress_bar

                show = stack.enter_context(progress_bar(max_seconds=max_seconds))
            watcher = Watching(max_seconds, callback, show, pressed)
            yield watcher
            if show is not None and (pressed() or watcher.stopped):
                show.finish("interrupted" if pressed() else "stopped by the callback", whole=False)
    except KeyboardInterrupt:
        if raises or not pressed():
            raise


def planned_steps(solver: Any, n_rows: int, stream: bool) -> int:
    """About how many steps a run will make, for the progress bar."""
    if stream:
        return 2 * n_rows
    if isinstance(solver, AdaDSG):
        return sum(min(solver.start << stage, n_rows) for stage in range(1, solver.stages + 1))
    return int(getattr(solver, "passes", 1)) * n_rows
