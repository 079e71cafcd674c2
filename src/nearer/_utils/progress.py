"""Progress bars on stderr: what a fit is doing, its objective, its held-out score and, if known, the time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from nearer._utils.group import own_rank
from nearer._utils.text import counted, readable_seconds

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


class FitRecord(Protocol):
    """What a bar shows of `nearer.solvers.Progress`."""

    @property
    def stage(self) -> str: ...
    @property
    def part(self) -> int: ...
    @property
    def parts(self) -> int: ...
    @property
    def fraction(self) -> float: ...
    @property
    def objective(self) -> float: ...
    @property
    def columns(self) -> Mapping[str, float]: ...


class FitEnd(Protocol):
    """What a bar shows of `nearer.solvers.Result`."""

    @property
    def stop_reason(self) -> str: ...
    @property
    def n_epochs(self) -> int: ...


#: the reasons for which a fit ends, as the bar says them
_ENDINGS = {
    "tolerance": "converged",
    "epochs": "ended",
    "evaluations": "reached max_evaluations",
    "seconds": "reached max_seconds",
    "callback": "stopped by the callback",
    "interrupted": "interrupted",
    "diverged": "diverged",
    "precision": "reached the limit of rounding errors",
}


@contextmanager
def progress_bar(
    about: str = "",
    *,
    max_seconds: float | None = None,
    console: Console | None = None,
    keep: bool = True,
) -> Iterator[Drawing]:
    """Show a bar while a fit runs; yield the callback that the fit needs.

    At the end the bar is full and says why the fit ended, in the words given to `finish`.

    Parameters
    ----------
    about : str
        What is being fitted, written before the bar.
    max_seconds : float, optional
        The budget of the fit; the time left does not exceed it.
    console : rich Console, optional
        Where to draw; stderr by default, for the first of several processes. If that is not a terminal, only the last
        state is written.
    keep : bool
        Leave the finished bar on the screen; otherwise it disappears.

    Examples
    --------
    >>> import io
    >>> from rich.console import Console
    >>> screen = io.StringIO()
    >>> from nearer.solvers import Progress
    >>> now = Progress(stage="choosing l2", part=2, parts=4, fraction=0.5, objective=0.25)
    >>> with progress_bar("answers.csv", console=Console(file=screen, width=120)) as callback:
    ...     callback(now)
    >>> "answers.csv: choosing l2 (2 of at most 4)" in screen.getvalue() and "objective 0.25" in screen.getvalue()
    True
    """
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    from nearer._utils.runtime import compiling

    console = Console(stderr=True, quiet=own_rank() > 0) if console is None else console
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.fields[status]}"),
    )
    with Bar(*columns, console=console, transient=not keep) as bar:
        task = bar.add_task(about, total=1.0, status="starting")
        with compiling(lambda: bar.update(task, status="compiling, once on this machine")) as compile_seconds:
            drawing = Drawing(bar, task, about, _Clock(max_seconds, compile_seconds))
            try:
                yield drawing
            except BaseException:
                drawing.finish("stopped", whole=False)
                raise
            drawing.finish("done")


class Drawing:
    """A bar of a running fit: call it with each record, and `finish` it with the reason for the end."""

    def __init__(self, bar: Bar, task: TaskID, about: str, clock: _Clock):
        self.bar, self._task, self._about, self._clock = bar, task, about, clock
        self._objective = ""
        self._finished = False

    def __call__(self, progress: FitRecord) -> None:
        """Show a record."""
        stage, part, parts = progress.stage, progress.part, progress.parts
        share = (part - 1 + progress.fraction) / parts
        left = self._clock.left(stage, share)
        self._objective = f"objective {progress.objective:.4g}"
        if "score" in progress.columns:  # on held-out data
            self._objective += f"  held-out score {progress.columns['score']:.4g}"
        status = (
            self._objective if left is None else f"{self._objective}  up to {readable_seconds(left)} left"
        )
        which = f" ({part} of at most {parts})" if parts > 1 else ""
        doing = ": ".join(filter(None, (self._about, stage + which)))
        self.bar.update(self._task, description=doing, completed=share, status=status)

    def finish(self, why: str, *, whole: bool = True) -> None:
        """Say why the fit ended, with a full bar unless it was cut short; only the first call counts."""
        if self._finished:
            return
        self._finished = True
        status = "  ".join(filter(None, (self._objective, why)))
        self.bar.update(self._task, status=status, completed=1.0 if whole else None)

    def finish_with(self, result: FitEnd) -> None:
        """Say how a fit ended, from its result."""
        why = f"{_ENDINGS[result.stop_reason]} after {counted(result.n_epochs, 'epoch')}"
        self.finish(why, whole=result.stop_reason not in ("callback", "interrupted"))


class _Clock:
    """How long a fit may still take."""

    def __init__(self, max_seconds: float | None, compile_seconds: Callable[[], float]):
        self.max_seconds, self.compile_seconds = max_seconds, compile_seconds
        self.began = time.perf_counter()
        self.stage: str | None = None
        self.stage_began = 0.0

    def left(self, stage: str, share: float) -> float | None:
        """Return the smallest of the known limits; a fit that reaches its tolerance ends earlier.

        While settings are being chosen, only a budget of seconds says when the fit will end.
        """
        now = time.perf_counter()
        worked = now - self.began - self.compile_seconds()  # nothing is compiled twice
        if stage != self.stage:
            self.stage, self.stage_began = stage, worked
        limits = []
        if self.max_seconds is not None:
            limits.append(self.began + self.max_seconds - now)
        spent = worked - self.stage_began
        if share > 0 and spent > 0 and not stage.startswith("choosing"):
            limits.append(spent * (1 - share) / share)
        return max(min(limits), 0.0) if limits else None


@contextmanager
def counting_bar(
    about: str, total: int, *, shown: bool = True, console: Console | None = None
) -> Iterator[Callable[[int], None]]:
    """Show a bar for work of `total` equal parts; yield a function that takes the number of those done.

    >>> with counting_bar("answers", 10, shown=False) as show:
    ...     show(3)
    """
    if not shown:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Task, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class TimeLeft(TimeRemainingColumn):
        """The time left, unless the work was cut short."""

        def render(self, task: Task) -> Text:
            stopped = task.stop_time is not None and not task.finished
            return Text("stopped early") if stopped else super().render(task)

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeLeft())
    with Bar(*columns, console=Console(stderr=True) if console is None else console) as bar:
        task = bar.add_task(about, total=total)
        try:
            yield lambda done: bar.update(task, completed=done)
        finally:
            bar.stop_task(task)
