"""A progress bar on stderr: what the fit is doing, the objective and, where it can be known, the time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nearer._words import readable_seconds

if TYPE_CHECKING:
    from rich.console import Console

    from nearer.solvers import Progress


@contextmanager
def progress_bar(
    about: str = "",
    *,
    max_seconds: float | None = None,
    console: Console | None = None,
    keep: bool = True,
) -> Iterator[Callable[[Progress], None]]:
    """Show a bar while a fit runs; what is yielded is the callback that the fit needs.

    Parameters
    ----------
    about : str
        What is being fitted, written before the bar.
    max_seconds : float, optional
        The budget of the fit, which the time left does not exceed.
    console : rich Console, optional
        Where to draw; stderr by default. Where that is no terminal, only the last state is written.
    keep : bool
        Leave the finished bar on the screen; otherwise it disappears.

    Examples
    --------
    >>> import io, types
    >>> from rich.console import Console
    >>> screen = io.StringIO()
    >>> now = types.SimpleNamespace(stage="choosing l2", part=2, parts=4, fraction=0.5, objective=0.25)
    >>> with progress_bar("answers.csv", console=Console(file=screen, width=120)) as callback:
    ...     callback(now)
    >>> "answers.csv: choosing l2 (2 of at most 4)" in screen.getvalue() and "objective 0.25" in screen.getvalue()
    True
    """
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    from nearer._compiling import compiling

    console = Console(stderr=True) if console is None else console
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.fields[status]}"),
    )
    with Bar(*columns, console=console, transient=not keep) as bar:
        task = bar.add_task(about, total=1.0, status="starting")
        compiling_now = compiling(lambda: bar.update(task, status="compiling, once on this machine"))

        def callback(progress: Progress) -> None:
            stage, part, parts = _place(progress)
            share = (part - 1 + progress.fraction) / parts
            left = clock.left(stage, share)
            status = f"objective {progress.objective:.4g}"
            if left is not None:
                status += f"  up to {readable_seconds(left)} left"
            which = f" ({part} of at most {parts})" if parts > 1 else ""
            doing = ": ".join(filter(None, (about, stage + which)))
            bar.update(task, description=doing, completed=share, status=status)

        with compiling_now as compile_seconds:
            clock = _Clock(max_seconds, compile_seconds)
            yield callback


def _place(progress: Progress) -> tuple[str, int, int]:
    """Stage, part and parts of a fit in several runs; a single run has none of them."""
    return getattr(progress, "stage", ""), getattr(progress, "part", 1), getattr(progress, "parts", 1)


class _Clock:
    """How long a fit may still take."""

    def __init__(self, max_seconds: float | None, compile_seconds: Callable[[], float]):
        self.max_seconds, self.compile_seconds = max_seconds, compile_seconds
        self.began = time.perf_counter()
        self.stage: str | None = None
        self.stage_began = 0.0

    def left(self, stage: str, share: float) -> float | None:
        """The least of the limits that are known; a fit that reaches its tolerance ends earlier.

        While settings are being chosen, only a budget of seconds says when the fit will end.
        """
        now = time.perf_counter()
        worked = now - self.began - self.compile_seconds()  # what has been compiled will not be once more
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
def counting_bar(about: str, total: int, *, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Show a bar for work of `total` equal parts; what is yielded is told how many are done.

    >>> with counting_bar("answers", 10, shown=False) as show:
    ...     show(3)
    """
    if not shown:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(about, total=total)
        yield lambda done: bar.update(task, completed=done)
