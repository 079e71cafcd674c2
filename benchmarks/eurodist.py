"""A map of Europe from comparisons of road distances: Figure 3 of the SVRG-SBB paper.

2,000 of the triplets that the road distances between 21 cities give, in 2 dimensions, against classical
metric scaling (Torgerson), which sees every distance. Judged by the triplets left over and by the
Procrustes distance to the metric map (0: the same shape; 1: nothing in common). `SBB` is Algorithm 1 of the
paper from one random start; `default` is what `OrdinalEmbedding` does unasked. No map in the plane
satisfies all triplets: roads bend.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks import _data
from benchmarks._figures import MUTED, PALETTE, grid, tidy_chart
from benchmarks._runner import Job, rotated
from benchmarks._store import Cell
from benchmarks._tables import Table, spread
from nearer import Comparisons, OrdinalEmbedding
from nearer.datasets import planted, triplets_from_distances
from nearer.metrics import procrustes_align, procrustes_distance, triplet_error

SETTINGS: dict[str, Any] = {
    "n_train": 2000,
    "losses": ["gnmds", "ckl", "ste", "tste", "soe"],
    "fits": {"SBB": {"solver": "svrg-sbb", "init": "random", "l2": 0.0}, "default": {}},
    "seeds": 20,
}
QUICK = {"seeds": 2, "losses": ["ste", "soe"]}

_COMPASS = ((0, "Athens", "Lisbon"), (1, "Stockholm", "Rome"))
NAMES = {"gnmds": "GNMDS", "ckl": "CKL", "ste": "STE", "tste": "t-STE", "soe": "SOE"}


def metric_map(distances: np.ndarray, cities: list[str]) -> np.ndarray:
    """Classical metric scaling: the two largest eigenvectors of the doubly centred squared distances."""
    n = len(distances)
    centring = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    points = vectors[:, :-3:-1] * np.sqrt(values[:-3:-1])
    # the signs of eigenvectors are chance: Athens lies east of Lisbon, Stockholm north of Rome
    signs = [
        points[cities.index(more), axis] - points[cities.index(less), axis] for axis, more, less in _COMPASS
    ]
    return points * np.sign(signs)


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a seed: another choice of 2,000 triplets and another start."""
    return [{"seed": seed} for seed in range(settings["seeds"])]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile every loop."""
    triplets, _ = planted(20, 2, 500, random_state=0)
    for loss, solver in _pairs(settings):
        OrdinalEmbedding(2, loss=loss, max_epochs=2, random_state=0, **settings["fits"][solver]).fit(triplets)


def _pairs(settings: dict[str, Any]) -> list[tuple[str, str]]:
    return [(loss, solver) for loss in settings["losses"] for solver in settings["fits"]]


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """The metric map, and every loss with every solver."""
    arrays = _data.load("eurodist")
    distances, cities = arrays["distance_km"], [str(city) for city in arrays["cities"]]
    triplets = triplets_from_distances(distances).shuffled(cell["seed"])
    train, test = triplets[: job.settings["n_train"]], triplets[job.settings["n_train"] :]
    reference = metric_map(distances, cities)
    if "metric" not in job.done:
        yield "metric", {**_judged(reference, reference, test, cell), "cities": cities}
    for loss, solver in rotated(_pairs(job.settings), cell["seed"]):
        if f"{loss} {solver}" not in job.done:
            options = job.settings["fits"][solver]
            estimator = OrdinalEmbedding(2, loss=loss, random_state=cell["seed"], **options)
            start = time.perf_counter()
            estimator.fit(train)
            seconds = round(time.perf_counter() - start, 5)
            yield (
                f"{loss} {solver}",
                {**_judged(estimator.embedding_, reference, test, cell), "seconds": seconds},
            )


def _judged(points: np.ndarray, reference: np.ndarray, test: Comparisons, cell: Cell) -> dict[str, Any]:
    found: dict[str, Any] = {
        "error": round(triplet_error(points, test), 5),
        "procrustes": round(procrustes_distance(points, reference), 5),
    }
    if cell["seed"] == 0:  # for the figure
        found["map"] = np.round(procrustes_align(points, reference), 1).tolist()
    return found


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """Held-out error, Procrustes distance and time of every loss and solver."""
    columns = ["map", "held-out error", "Procrustes distance to metric", "seconds"]
    table = Table("Maps of Europe, median (quartiles)", columns)
    found = [row["results"] for row in rows]
    table.add("metric, all distances", spread(r["metric"]["error"] for r in found), "0", "-")
    for loss, solver in _pairs(settings):
        results = [r[f"{loss} {solver}"] for r in found]
        shown = [spread(one[what] for one in results) for what in ("error", "procrustes", "seconds")]
        table.add(f"{NAMES[loss]}, {solver}", *shown)
    return [table]


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """The maps of the first seed, each laid over the metric one."""
    first = next((row["results"] for row in rows if row["cell"]["seed"] == 0), None)
    if first is None:
        return {}
    cities = first["metric"]["cities"]
    figure, axes = grid(len(settings["losses"]) + 1, columns=3, size=(4.4, 4.0))
    reference = np.array(first["metric"]["map"])
    _draw_map(axes[0], reference, reference, cities, "metric scaling, all distances")
    for ax, loss in zip(axes[1:], settings["losses"], strict=True):
        result = first[f"{loss} default"]
        title = f"{NAMES[loss]}: Procrustes {result['procrustes']:.3f}, error {result['error']:.3f}"
        _draw_map(ax, np.array(result["map"]), reference, cities, title)
    return {"maps": figure}


def _draw_map(ax: Axes, points: np.ndarray, reference: np.ndarray, cities: list[str], title: str) -> None:
    """Cities with their names, joined to where the metric map has them."""
    for here, there in zip(points, reference, strict=True):
        ax.plot(*zip(here, there, strict=True), color=MUTED, linewidth=0.7)
    ax.plot(*points.T, "o", color=PALETTE[0], markersize=4)
    for (x, y), city in zip(points, cities, strict=True):
        ax.annotate(city, (x, y), xytext=(3, 2), textcoords="offset points", fontsize=6.5)
    ax.set_aspect("equal", adjustable="datalim")
    tidy_chart(ax, "km", "km", title)
