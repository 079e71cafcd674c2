"""Image retrieval through comparisons: Table 2 and Figure 5 of the SVRG-SBB paper.

Labels of the training images give triplets (i, j, k): i and j of one class, k of another; 5, 10 or 15 % are
flipped. The embedding has as many dimensions as there are classes. A map from features to it (RBF
regularised least squares) places the test images, which were never compared; each then searches the
training images. All solvers get the same number of gradient evaluations and the same start; SVRG and SGD
the step chosen from the data with decay, the others their own rule. `features` searches by the standardised
features themselves; `default` is `OrdinalEmbedding` left to itself, with its own budget and regularisation.
Stand-ins for SUN397: scene15 (three hand-made descriptors), cub10 (GoogLeNet features of birds), and the
digits of usps and mnist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks import _data
from benchmarks._figures import band, grid, legend_below, looks, tidy_chart
from benchmarks._runner import Job, rotated
from benchmarks._store import Cell
from benchmarks._tables import Table, best_in_bold
from nearer import FeatureMap, OrdinalEmbedding
from nearer.datasets import planted, triplets_from_labels
from nearer.metrics import mean_average_precision, precision_at_k, recall_at_k
from nearer.solvers import SGD, SVRG, GradientDescent

SETTINGS: dict[str, Any] = {
    "data": ["scene15", "cub10", "usps", "mnist"],
    "per_class": 100,  # or what the smallest class has
    "train_share": 0.6,
    "n_triplets": 70_000,
    "flips": [0.05, 0.10, 0.15],
    "losses": ["gnmds", "ckl", "ste", "tste"],
    "batch_sizes": [1, 5, 10, 20],
    "passes": 30,  # gradient evaluations / number of triplets
    "start_scale": 0.05**0.5,
    "ks": [10, 20, 40, 60, 80, 100],
    "seeds": 5,
}
QUICK = {
    "data": ["cub10", "usps"],
    "per_class": 30,
    "n_triplets": 5000,
    "flips": [0.10],
    "losses": ["ste"],
    "batch_sizes": [10],
    "ks": [10, 20],
    "seeds": 1,
}

LOSS_NAMES = {"gnmds": "GNMDS", "ckl": "CKL", "ste": "STE", "tste": "t-STE"}


def _scene15() -> tuple[np.ndarray, np.ndarray]:
    arrays = _data.load("scene15")
    views = np.hstack([arrays["view1_20d"], arrays["view2_59d"], arrays["view3_40d"]])
    return views, arrays["y"]


def _cub10() -> tuple[np.ndarray, np.ndarray]:
    arrays = _data.load("cub10_googlenet")
    return arrays["googlenet"], arrays["y"]


def _digits(name: str) -> tuple[np.ndarray, np.ndarray]:
    arrays = _data.load(name)
    return arrays["X_train"], arrays["y_train"]


DATA: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "scene15": _scene15,
    "cub10": _cub10,
    "usps": lambda: _digits("usps"),
    "mnist": lambda: _digits("mnist"),
}


def images(name: str, settings: dict[str, Any], seed: int) -> tuple[np.ndarray, ...]:
    """Standardised features and labels of the training and of the test images, a fixed number a class."""
    features, labels = DATA[name]()
    rng = np.random.default_rng([seed, 2])
    classes, counts = np.unique(labels, return_counts=True)
    n = min(settings["per_class"], counts.min())
    n_train = round(settings["train_share"] * n)
    chosen = [rng.permutation(np.flatnonzero(labels == c))[:n] for c in classes]
    train, test = (
        np.concatenate([rows[at] for rows in chosen]) for at in (slice(n_train), slice(n_train, None))
    )
    mean, deviation = features[train].mean(axis=0), features[train].std(axis=0)
    scaled = (features - mean) / np.where(deviation > 0, deviation, 1)
    return scaled[train], labels[train], scaled[test], labels[test]


def fits(settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What `OrdinalEmbedding` is told: the paper's solvers by name, and nothing for its default."""
    solvers = {
        "batch": GradientDescent(),
        "SGD": SGD(step="decay", batch_size=1),
        "SVRG": SVRG(step="decay", batch_size=1),
        "SBB0": SVRG(step="bb", batch_size=1),
        **{f"SBB-{b}": SVRG(step="sbb", batch_size=b) for b in settings["batch_sizes"]},
    }
    return {**{name: {"solver": solver} for name, solver in solvers.items()}, "default": {}}


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a data set, a share of flips and a seed; all losses and solvers run in it."""
    return [
        {"data": name, "flip": flip, "seed": seed}
        for seed in range(settings["seeds"])
        for name in settings["data"]
        for flip in settings["flips"]
    ]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile every loop."""
    triplets, _ = planted(20, 2, 500, random_state=0)
    for loss in settings["losses"]:
        for options in fits(settings).values():
            OrdinalEmbedding(2, loss=loss, max_epochs=2, random_state=0, **options).fit(triplets)


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """Search by features, then by the embedding of every loss and solver."""
    settings, seed = job.settings, cell["seed"]
    features, labels, test_features, test_labels = images(cell["data"], settings, seed)
    if "features" not in job.done:
        found = _judged(test_features, features, test_labels, labels, settings)
        yield "features", {**found, "relevant": int(np.unique(labels, return_counts=True)[1].min())}
    triplets = triplets_from_labels(labels, settings["n_triplets"], cell["flip"], random_state=seed)
    p = len(np.unique(labels))
    start = np.random.default_rng([seed, 1]).normal(scale=settings["start_scale"], size=(len(labels), p))
    pairs = [(loss, name) for loss in settings["losses"] for name in fits(settings)]
    for loss, name in rotated(pairs, seed):
        if f"{loss} {name}" in job.done:
            continue
        options = fits(settings)[name]
        if options:  # the paper's solvers: same start, same number of evaluations, no regularisation
            budget = int(settings["passes"] * len(triplets))
            options |= {
                "init": start,
                "l2": 0.0,
                "tol": 0.0,
                "max_epochs": 100_000,
                "max_evaluations": budget,
            }
        estimator = OrdinalEmbedding(p, loss=loss, random_state=seed, **options).fit(triplets)
        placed = FeatureMap().fit(features, estimator.embedding_).transform(test_features)
        found = _judged(placed, estimator.embedding_, test_labels, labels, settings)
        yield f"{loss} {name}", {**found, "seconds": round(estimator.result_.seconds, 4)}


def _judged(
    queries: np.ndarray, database: np.ndarray, query_labels: Any, labels: Any, settings: dict[str, Any]
) -> dict[str, Any]:
    """Mean average precision, and precision and recall at every k."""
    given = queries, database, query_labels, labels
    return {
        "map": round(mean_average_precision(*given), 4),
        "precision": [round(precision_at_k(*given, k=k), 4) for k in settings["ks"]],
        "recall": [round(recall_at_k(*given, k=k), 4) for k in settings["ks"]],
    }


def results_of(rows: list[dict[str, Any]], data: str, flip: float) -> list[dict[str, Any]]:
    """Return the results of one data set with one share of flips, by seed."""
    return [row["results"] for row in rows if row["cell"]["data"] == data and row["cell"]["flip"] == flip]


def _k_shown(found: list[dict[str, Any]], settings: dict[str, Any]) -> int:
    """Position of the k of the tables: the largest that does not exceed the number of relevant images."""
    return max(0, sum(k <= found[0]["features"]["relevant"] for k in settings["ks"]) - 1)


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """MAP and Precision@K of every solver: a table a data set and loss, a column a share of flips."""
    shown = [name for name in settings["data"] if any(row["cell"]["data"] == name for row in rows)]
    return [_table(rows, name, loss, settings) for name in shown for loss in settings["losses"]]


def _table(rows: list[dict[str, Any]], data: str, loss: str, settings: dict[str, Any]) -> Table:
    flips = [flip for flip in settings["flips"] if results_of(rows, data, flip)]
    k = _k_shown(results_of(rows, data, flips[0]), settings)
    heads = [f"{what}, {flip:.0%} flipped" for flip in flips for what in ("MAP", f"P@{settings['ks'][k]}")]
    title = f"{data}, {LOSS_NAMES[loss]}: medians of {len(results_of(rows, data, flips[0]))} seeds"
    table = Table(title, ["solver", *heads])
    names = ["features", *(f"{loss} {name}" for name in fits(settings))]
    columns = []
    for flip in flips:
        found = results_of(rows, data, flip)
        for read in (lambda result: result["map"], lambda result: result["precision"][k]):
            values = [float(np.median([read(results[name]) for results in found])) for name in names]
            columns.append(best_in_bold([f"{value:.3f}" for value in values], [-value for value in values]))
    for name, *texts in zip(names, *columns, strict=True):
        table.add(name.removeprefix(f"{loss} "), *texts)
    return table


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """Recall@K with 10 % of the triplets flipped (Fig. 5): a figure a data set, a panel a loss."""
    flip = 0.10 if 0.10 in settings["flips"] else settings["flips"][0]
    return {
        f"recall-{name}": _draw_recall(results_of(rows, name, flip), settings, f"{name}, {flip:.0%} flipped")
        for name in settings["data"]
        if results_of(rows, name, flip)
    }


def _draw_recall(found: list[dict[str, Any]], settings: dict[str, Any], title: str) -> Figure:
    figure, axes = grid(len(settings["losses"]))
    looked = looks([*fits(settings), "features"])
    for ax, loss in zip(axes, settings["losses"], strict=True):
        for name, look in looked.items():
            key = name if name == "features" else f"{loss} {name}"
            band(ax, settings["ks"], [results[key]["recall"] for results in found], name, look)
        tidy_chart(ax, "K", "Recall@K", f"{LOSS_NAMES[loss]}: {title}")
    legend_below(figure, axes[0], columns=5)
    return figure
