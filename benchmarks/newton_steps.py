"""Why Newton's method does not keep up with Adam on two towers: what one step gains for its passes.

The page `extreme` shows that Gauss-Newton steps by conjugate gradients, preconditioned or not, need more passes than
Adam on the full gradient. Here both are compared from the same points: parameters that Adam reaches after some passes,
with the model, data, omega and lambda of `extreme`.

- At each point one step of Newton's method is taken: a number of products with the Gauss-Newton matrix, the line
  search and the gradient at the end. Adam goes on for as many passes.
- The preconditioner is that of `newton`: the root mean square of the gradients at the last ten of Adam's parameters.
  *plain* has none.
- *predicted* is the decrease that the quadratic model promises for the whole step, *got* what the accepted step
  brings, both in per cent of the objective. More products lower the model further; where *got* stays behind, the
  model does not describe the objective that far out.
- Fewer products per step do not help: in a run of `extreme` on ml-1m with 5 products per step, outside this
  benchmark, the objective was 417,598 after 197 passes; with 20 it was 387,805 after 203.
- A pass is a value, gradient or product over all observed pairs. Passes do not depend on the machine. One seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks._figures import grid, legend_below, log_scale, looks, tidy_chart
from benchmarks._runner import Job, Skip
from benchmarks._store import Cell
from benchmarks._tables import Table, digits
from benchmarks.extreme import SETTINGS as RACE
from nearer.solvers import Budget, Progress, find, minimise
from nearer.solvers.backtracking import Backtracking
from nearer.solvers.gauss_newton import GradientSizes
from nearer.solvers.newton import conjugate_gradients

SETTINGS: dict[str, Any] = {
    "data": {name: {"omega": own["omega"], "l2": own["l2"]} for name, own in RACE["data"].items()},
    "hidden": RACE["hidden"],
    "n_components": RACE["n_components"],
    "points": [30, 150],  # passes of Adam
    "products": {"newton": [5, 20, 80], "newton, plain": [30]},
    "past": 10,  # gradients behind the preconditioner
}
QUICK = {
    "data": {"wikispeedia": {"omega": 2**-10, "l2": 4.0}},
    "hidden": 16,
    "n_components": 8,
    "points": [10],
    "products": {"newton": [2, 4], "newton, plain": [3]},
}
PLAIN = "newton, plain"
#: passes of Adam beyond those of the longest step: the gradient, the line search, and some to spare
_SPARE = 30

Rows = list[dict[str, Any]]


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a data set."""
    return [{"data": name} for name in settings["data"]]


def warm_up(settings: dict[str, Any]) -> None:
    """Skip without torch."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise Skip("torch is not installed") from None


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """Adam's path first; then steps from its points."""
    import torch

    from benchmarks import _paper_towers as towers

    torch.set_num_threads(1)
    settings = {**job.settings, **job.settings["data"][cell["data"]]}
    f, x = towers.objective(towers.SETS[cell["data"]](0).train, settings, 0)
    path, points = _path(f, x, settings)
    for passes in settings["points"]:
        name = str(passes)
        if name not in job.done:
            yield name, _steps(f, points[passes], path[passes - 1 :], settings)


def _path(f: Any, x: Any, settings: dict[str, Any]) -> tuple[list[float], dict[int, list[Any]]]:
    """Return the objective after each pass of Adam, and the last parameters up to each point."""
    last = max(settings["points"])
    until = last + max(max(counts) for counts in settings["products"].values()) + _SPARE
    recent: list[Any] = []
    points: dict[int, list[Any]] = {}

    def keep(progress: Progress) -> None:
        passes = progress.evaluations // f.n_terms
        if passes <= last:
            recent.append(progress.parameters.clone())
            del recent[: -settings["past"]]
        if passes in settings["points"]:
            points[passes] = list(recent)

    _, result = minimise(
        find("full-adam"),
        f,
        x.clone(),
        budget=Budget(max_epochs=until, tol=0),
        rng=np.random.default_rng(0),
        callback=keep,
    )
    return result.history["objective"].tolist(), points


def _steps(f: Any, recent: list[Any], later: list[float], settings: dict[str, Any]) -> dict[str, Any]:
    """Return what steps from the last of some parameters bring, beside Adam's objective from there on."""
    sizes = GradientSizes(f.parameters)
    for x in recent:
        value, gradient = f.value_and_gradient(x)
        inverse = sizes.inverse(gradient)
    found = []
    for name, counts in settings["products"].items():
        for count in counts:
            step = _step(f, x, value, gradient, None if name == PLAIN else inverse, count)
            adam = 1 - later[step["passes"]] / later[0]
            found.append({"method": name, **step, "adam": float(f"{adam:.4g}")})
    return {"objective": float(f"{value:.6g}"), "steps": found}


def _step(f: Any, x: Any, value: float, gradient: Any, inverse: Any, count: int) -> dict[str, Any]:
    """Return passes, length and decrease of one step; products made only to judge it are not counted."""
    space, product = f.parameters, f.curvature(x)
    direction, products = conjugate_gradients(product, gradient * -1.0, space, inverse=inverse, most=count)
    slope = space.inner(gradient, direction)
    predicted = -(slope + space.inner(direction, product(direction)) / 2)
    values: list[float] = []

    def value_at(at: Any) -> float:
        values.append(f.value(at))
        return values[-1]

    _, length = Backtracking(1.0, most=1.0).move(value_at, x, value, direction, slope, space)
    shares = {"predicted": predicted / value, "got": 1 - values[-1] / value if length else 0.0}
    return {
        "products": products,
        "passes": products + len(values) + 1,
        "step": length,
        **{name: float(f"{share:.4g}") for name, share in shares.items()},
    }


def steps(row: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the points of a data set and the steps from each."""
    for point, found in row["results"].items():
        for step in found["steps"]:
            yield point, step


def summarise(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """Return a table per data set."""
    return [_table(row) for row in rows]


def _table(row: dict[str, Any]) -> Table:
    columns = [
        "point",
        "method",
        "products",
        "passes",
        "step",
        "predicted %",
        "got %",
        "Adam in as many passes %",
    ]
    objectives = ", ".join(
        f"{found['objective']:,.0f} after {at} passes" for at, found in row["results"].items()
    )
    table = Table(row["cell"]["data"], columns, note=f"Objective at the points: {objectives}.")
    for point, step in steps(row):
        shares = [digits(100 * step[name]) for name in ("predicted", "got", "adam")]
        table.add(point, step["method"], step["products"], step["passes"], digits(step["step"]), *shares)
    return table


def draw(rows: Rows, settings: dict[str, Any]) -> dict[str, Figure]:
    """Draw the decrease against passes, one panel per data set and point."""
    panels = [(row, point) for row in rows for point in row["results"]]
    figure, axes = grid(len(panels), columns=2, size=(4.6, 3.2))
    style = looks([*settings["products"], "full-adam"])
    for ax, (row, point) in zip(axes, panels, strict=True):
        found = sorted(row["results"][point]["steps"], key=lambda step: step["passes"])
        for name in settings["products"]:
            own = [step for step in found if step["method"] == name]
            shown = [100 * step["got"] for step in own]
            ax.plot([step["passes"] for step in own], shown, label=name, **style[name])
        shown = [100 * step["adam"] for step in found]
        ax.plot([step["passes"] for step in found], shown, label="full-adam", **style["full-adam"])
        log_scale(ax, "x")
        tidy_chart(
            ax,
            "passes of one step",
            "decrease of the objective, %",
            f"{row['cell']['data']}, after {point} passes of Adam",
        )
    legend_below(figure, axes[0], columns=3)
    return {"gain": figure}
