"""Solvers on music artists: Figure 4 of the SVRG-SBB paper.

9,090 triplets of a web survey about 412 artists (17 degenerate rows dropped), 9 dimensions, 80 % to learn
from and 20 % to be judged by, another split and another start for every seed, the same for all solvers. An
epoch is 3 gradient evaluations for each comparison, whatever the solver. SVRG and SGD take batches of 1 and
the constant step with the smallest mean error along the way on other seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks import _data, _race, table1
from benchmarks._runner import Job
from benchmarks._store import Cell
from benchmarks._tables import Table, best_in_bold, checks, digits

SETTINGS: dict[str, Any] = {
    "n_components": 9,
    "test_share": 0.2,
    "start_scale": 0.05**0.5,
    "targets": [],
    "losses": ["gnmds", "ckl", "ste", "tste"],
    "batch_sizes": [1, 5, 10, 20, 50],
    "seeds": 50,
    "tuning_seeds": 5,
    "tuning_from": 1000,
    "powers": [-14, 5],
    "curve_passes": 90,
    "max_passes": 100,  # never in the way of the curves
}
QUICK = {"seeds": 2, "tuning_seeds": 1, "powers": [-8, 0], "losses": ["ste", "tste"], "curve_passes": 30}

SHOWN_EPOCHS = (1, 3, 10, 30)


def problem(settings: dict[str, Any], seed: int) -> _race.Problem:
    """A split of the triplets and a random start."""
    triplets = _data.music()
    train, test = triplets.split(test_size=settings["test_share"], random_state=seed)
    shape = triplets.n_objects, settings["n_components"]
    start = np.random.default_rng([seed, 1]).normal(scale=settings["start_scale"], size=shape)
    return _race.Problem(train, test, start)


def cells(settings: dict[str, Any]) -> list[Cell]:
    """Tuning seeds first, then the reported ones; a cell is a loss and a seed."""
    return _race.race_cells(settings)


def warm_up(settings: dict[str, Any]) -> None:
    """Compile every loop, on planted points."""
    table1.warm_up({**table1.SETTINGS, "losses": settings["losses"]})


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """All solvers, or all steps of the grid, on one split."""
    yield from _race.race(cell, job, problem(job.settings, cell["seed"]))


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """The checks, and the test error after some epochs for each loss."""
    losses = [loss for loss in settings["losses"] if _race.of_loss(rows, loss)]
    return [
        checks(_check(rows, loss, settings) for loss in losses),
        *(_table(rows, loss, settings) for loss in losses),
    ]


def error_after(rows: list[dict[str, Any]], loss: str, rival: str, epochs: float) -> np.ndarray:
    """Quartiles of the test error after a number of epochs of 3 evaluations a comparison."""
    at = np.array([3.0 * epochs])
    errors = [_race.on_grid(results[rival], "error", at)[0] for results in _race.of_loss(rows, loss)]
    # a fit that blew up has no error any more: the worst there is
    return np.quantile(np.nan_to_num(errors, nan=0.5), [0.25, 0.5, 0.75])


def _table(rows: list[dict[str, Any]], loss: str, settings: dict[str, Any]) -> Table:
    shown = [epochs for epochs in SHOWN_EPOCHS if 3 * epochs <= settings["curve_passes"]]
    title = f"{table1.LOSS_NAMES[loss]}: test error, median (quartiles)"
    table = Table(title, ["solver", *(f"after {e} epoch{'s' * (e > 1)}" for e in shown)])
    names = _race.rivals(settings)
    columns = []
    for epochs in shown:
        found = [error_after(rows, loss, name, epochs) for name in names]
        texts = [f"{middle:.3f} ({low:.3f}-{high:.3f})" for low, middle, high in found]
        columns.append(best_in_bold(texts, [middle for _, middle, _ in found]))
    for name, *texts in zip(names, *columns, strict=True):
        table.add(name, *texts)
    return table


def _check(
    rows: list[dict[str, Any]], loss: str, settings: dict[str, Any]
) -> tuple[str, str, str, bool | None]:
    """The paper's claim: SVRG-SBB-eps falls faster than SVRG with a constant step in the first epochs."""
    sbb = min(error_after(rows, loss, f"SBB-{b}", 3)[1] for b in settings["batch_sizes"])
    svrg = error_after(rows, loss, "SVRG", 3)[1]
    what = f"{table1.LOSS_NAMES[loss]}: error after 3 epochs, best SBB-b against SVRG"
    return what, "lower", f"{digits(sbb)} against {digits(svrg)}", bool(sbb < svrg)


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """Error curves (Fig. 4) and step sizes."""
    settings = {**settings, "losses": [loss for loss in settings["losses"] if _race.of_loss(rows, loss)]}
    if not settings["losses"]:
        return {}
    return {
        "error": _race.draw_errors(rows, settings, table1.LOSS_NAMES),
        "step": _race.draw_steps(rows, settings, table1.LOSS_NAMES),
    }
