"""A progress bar on stderr with the objective and the time left."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from nearer.solvers import Progress


@contextmanager
def progress_bar(
    description: str, *, console: Console | None = None, keep: bool = True
) -> Iterator[Callable[[Progress], None]]:
    """Show a bar while a fit runs; what is yielded is the callback that the fit needs.

    Parameters
    ----------
    description : str
        Written before the bar.
    console : rich Console, optional
        Where to draw; stderr by default. Where that is no terminal, only the last state is written.
    keep : bool
        Leave the finished bar on the screen; otherwise it disappears.

    Examples
    --------
    >>> import io, types
    >>> from rich.console import Console
    >>> screen = io.StringIO()
    >>> with progress_bar("fit", console=Console(file=screen, width=120)) as callback:
    ...     callback(types.SimpleNamespace(epoch=1, fraction=0.5, objective=0.25, seconds=3.0))
    >>> "objective 0.25" in screen.getvalue() and "at most 3.0 s left" in screen.getvalue()
    True
    """
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True) if console is None else console
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.fields[status]}"),
    )
    with Bar(*columns, console=console, transient=not keep) as bar:
        task = bar.add_task(description, total=1.0, status="starting")
        part, epoch = 1, -1

        def callback(progress: Progress) -> None:
            nonlocal part, epoch
            # trials of automatic choices and restarts are fits of their own, each counting from its start
            part += progress.epoch < epoch
            epoch = progress.epoch
            bar.update(task, completed=progress.fraction, status=_status(progress, part))

        yield callback


def _status(progress: Progress, part: int) -> str:
    """The objective, and what the budget still allows; a fit that reaches its tolerance ends earlier."""
    status = f"objective {progress.objective:.4g}"
    if progress.fraction > 0:
        left = progress.seconds * max(0.0, 1 - progress.fraction) / progress.fraction
        status += f"  at most {readable_seconds(left)} left"
    return status if part == 1 else f"part {part}  {status}"


def readable_seconds(seconds: float) -> str:
    """Seconds as a person says them.

    >>> readable_seconds(0.0123), readable_seconds(3.21), readable_seconds(75), readable_seconds(7300)
    ('12 ms', '3.2 s', '1 min 15 s', '2 h 01 min')
    """
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = math.floor(seconds + 0.5)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
