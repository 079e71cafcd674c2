"""Every solver of two towers over all pairs on real data: Figure 2 of the extreme similarity paper.

The paper's model: one-hot ids, towers of 256-256-128 with ELU, logistic loss on observed pairs, -1 imputed to all
others, L2 term. Omega and lambda are its Table 3's for ml-1m and, for the links, those of its wiki-simple. A tenth of
the pairs is held out. All methods begin at the same parameters; the biases of the last layers start at p = -1/sqrt(k)
and q = 1/sqrt(k).

- Seven methods are the paper's: GD, SOGram (alpha = 0.1), Sampling, Newton (plain conjugate gradients, xi = 0.1, at
  most 30 products) and the three with AdaGrad's diagonal. Samples are a hundredth of the pairs or entities. The paper
  took steps of 2^-25 for SOGram and Sampling; ours are what a line search accepts at the start.
- Four are ours: Newton preconditioned by the sizes of past gradients, Adam on the full gradient, the same along the
  eigenvectors of past gradients (`eigen-adam`), and the unbiased stochastic method of the paper's eq. 46. The steps of
  both Adams are constant, because time ends the runs.
- Newton, both kinds, and both Adams run ten times the plotted time. L* is the lowest value that any method reached.
- A pass is a value, gradient or product over all observed pairs; a sample counts its share. One thread, on a machine
  that other programs shared: passes repeat exactly, seconds do not. The load differed between methods (passes per
  second in the tables), so compare passes. One seed.
- L* is no minimum: gaps to the true minimum are larger than those shown.
- [newton_steps](newton_steps.md) measures why Newton's method does not keep up: what one step gains for its passes.
- MAP@5 is the mean of precision@1 to 5 (eq. 52), training pairs excluded; it is measured while the clock stands still.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks import _extreme_report
from benchmarks._runner import Job, Skip
from benchmarks._store import Cell
from benchmarks._tables import Table
from nearer.solvers import Budget, EigenAdam, GaussNewton, Progress, Solver, find, minimise

SETTINGS: dict[str, Any] = {
    "data": {
        "ml-1m": {"omega": 2**-4, "l2": 4.0, "seconds": 30},
        "wikispeedia": {"omega": 2**-10, "l2": 4.0, "seconds": 15},
    },
    "hidden": 256,
    "n_components": 128,
    "seeds": [0],
    "long": ["newton", "newton, plain", "full-adam", "eigen-adam"],
    "times_longer": 10,
    "looks": 12,
    "points": 200,
    "gaps": [0.05, 0.01, 0.001],
}
QUICK = {
    "data": {"wikispeedia": {"omega": 2**-10, "l2": 4.0, "seconds": 3}},
    "hidden": 32,
    "n_components": 16,
    "looks": 3,
}

SOLVERS: dict[str, Solver] = {
    "gd": find("gd"),
    "sogram": find("sogram"),
    "sampling": find("sampling"),
    "newton, plain": GaussNewton(preconditioner="none", max_products=30),
    "gd-diag": find("gd-diag"),
    "sogram-diag": find("sogram-diag"),
    "sampling-diag": find("sampling-diag"),
    "newton": find("newton"),
    "full-adam": find("full-adam"),
    "eigen-adam": EigenAdam(final_step=None, epochs=10**9),
    "sg": find("sg"),
}


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a data set and a seed."""
    return [{"data": name, "seed": seed} for name in settings["data"] for seed in settings["seeds"]]


def warm_up(settings: dict[str, Any]) -> None:
    """Let torch load what it loads at first use."""
    towers = _towers()
    drawn = towers.split(*np.random.default_rng(0).integers(50, size=(2, 500)), seed=0)
    small = {"omega": 0.1, "l2": 1.0, "hidden": 8, "n_components": 4}
    for solver in SOLVERS.values():
        f, x = towers.objective(drawn.train, small, seed=0)
        minimise(solver, f, x, budget=Budget(max_epochs=2), rng=np.random.default_rng(0))
        towers.best_five(f, x, drawn.train)


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run all solvers from the same start."""
    import torch

    towers, settings = _towers(), job.settings
    data = towers.SETS[cell["data"]](cell["seed"])
    torch.set_num_threads(1)
    for name, solver in SOLVERS.items():
        if name not in job.done:
            own = {**settings, **settings["data"][cell["data"]]}
            f, x = towers.objective(data.train, own, cell["seed"])
            longer = settings["times_longer"] if name in settings["long"] else 1
            yield name, _course(solver, f, x, data, own, longer, cell["seed"])


def _course(
    solver: Solver, f: Any, x: Any, data: Any, settings: dict[str, Any], longer: int, seed: int
) -> dict[str, Any]:
    """The objective and MAP@5 of one run against seconds and passes."""
    seconds = longer * settings["seconds"]
    looked = _looks(f, data, seconds, settings["looks"])
    budget = Budget(max_seconds=seconds, max_epochs=10**9, tol=0)
    _, result = minimise(solver, f, x, budget=budget, callback=looked, rng=np.random.default_rng(seed))
    history = result.history
    last = len(history["seconds"]) - 1
    kept = np.unique(np.geomspace(1, last + 1, settings["points"]).astype(int) - 1)
    seen = looked.found  # type: ignore[attr-defined]
    columns = (history[name][kept] for name in ("seconds", "evaluations", "objective"))
    # samples record the objective after an epoch only, which may take longer than the plotted time
    points = sorted([*zip(*columns, strict=True), *(look[:3] for look in seen)])
    times, evaluations, objective = np.array(points, dtype=float).T
    objective[~np.isfinite(objective)] = np.nan  # diverged
    return {
        "seconds": times.round(3).tolist(),
        "passes": (evaluations / f.n_terms).round(2).tolist(),
        "objective": [float(f"{value:.8g}") for value in np.fmin.accumulate(objective)],
        "map5": [[round(look[0], 3), look[3]] for look in seen],
        "epochs": last,
        "stop_reason": result.stop_reason,
        "parameters": f.n_parameters,
        "pairs": f.n_terms,
    }


def _looks(f: Any, data: Any, seconds: float, count: int) -> Callable[[Progress], None]:
    """Return a callback that measures the objective and MAP@5 at times that grow geometrically."""
    from nearer.metrics import mean_precision

    due = [0.0, *np.geomspace(seconds / 50, seconds, count)]

    def look(progress: Progress) -> None:
        if not due or progress.seconds < due[0] or not bool(progress.parameters.isfinite().all()):
            return
        while due and progress.seconds >= due[0]:
            due.pop(0)
        x = progress.parameters
        score = round(mean_precision(_towers().best_five(f, x, data.train), data.test), 5)
        look.found.append((progress.seconds, progress.evaluations, f.value(x), score))  # type: ignore[attr-defined]

    look.found = []  # type: ignore[attr-defined]
    return look


def _towers() -> Any:
    try:
        from benchmarks import _paper_towers
    except ImportError as missing:
        raise Skip(f"torch is not installed: {missing}") from None
    return _paper_towers


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """The checks, then a table per data set."""
    return _extreme_report.tables(rows, settings)


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """Gap and MAP@5 against seconds."""
    return _extreme_report.figures(rows, settings)
