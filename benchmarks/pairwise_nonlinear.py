"""Where a line is not enough: random features, several kernels and a small network on covtype and ijcnn1.

Three quarters of the rows to learn from, scaled to mean 0 and deviation 1; five splits. Ours all minimise the hinge
loss over pairs by AdaDSG with its defaults: linear; random Fourier features of a Gaussian kernel (`gamma="scale"`);
*several kernels*, four widths from a quarter to 16 times that gamma with a quarter of the features each, and the rows
as they are, with weights learned; *network*, two layers of 64 ReLU units in torch. Beside them scikit-learn: logistic
regression (C = 1) on the rows, on its own random features (`RBFSampler`) and on Nyström features, of equal number; and
`HistGradientBoostingClassifier` as it comes. Nothing is tuned to a data set. Time is that of one core for the fit,
features included, scaling and scoring left out.

What comes out: several kernels are not worth their time. With 1,000 features they take 9 to 12 times as long as one
kernel, end behind it on all splits of ijcnn1, and ahead on three of five of covtype. A small network is level with
gradient boosting and takes 6 to 14 times as long. Random features gain 0.04 to 0.05 of AUC over a line, and with the
hinge over pairs 0.003 to 0.006 over logistic regression on as many of them, in two thirds of its time.

Checks compare within a split and take the median of the differences or ratios. The tables below have the median of each
rival by itself. With five splits that differ more than the rivals do, the two need not agree: the difference of two
medians is not the median of the differences. Which rival is ahead is for the checks to say.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from benchmarks._auc_data import split
from benchmarks._figures import grid, legend_below, log_scale, looks, tidy_chart
from benchmarks._runner import Job, rotated
from benchmarks._store import Cell
from benchmarks._tables import Number, Table, checks, digits, median, spread
from nearer import PairwiseLearner
from nearer.pairwise import Network, RandomFourier

Rows = list[dict[str, Any]]

SETTINGS: dict[str, Any] = {
    "data": ["covtype", "ijcnn1"],
    "trials": [100, 101, 102, 103, 104],
    "features": [250, 1000],
    "widths": [0.25, 1.0, 4.0, 16.0],
    "hidden": 64,
    "most_rows": None,
}
QUICK = {"trials": [100], "features": [60], "most_rows": 2000}

LINEAR, BOOSTED, NETWORK, PLAIN = "linear", "gradient boosting", "network", "logistic regression"


def _names(count: int) -> dict[str, str]:
    """What rivals on so many features are called, by what makes the features."""
    return {
        "ours": f"random features, {count}",
        "several": f"several kernels, {count}",
        "sampler": f"RBFSampler + LR, {count}",
        "nystroem": f"Nyström + LR, {count}",
    }


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a data set and a split."""
    return [{"data": data, "trial": trial} for trial in settings["trials"] for data in settings["data"]]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile every loop, on rows of chance."""
    rng = np.random.default_rng(0)
    for n in (200, 5000):  # few rows are walked where they lie, many as copies
        X, y = rng.normal(size=(n, 5)), rng.uniform(size=n) < 0.3
        for fit in _rivals(settings, 5, 0).values():
            if fit.__name__ == "ours":
                fit(X[:, :5], y)


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """All rivals on one split, on one thread."""
    settings = job.settings
    X, y, X_test, y_test = split(cell["data"], cell["trial"])
    X, y = X[: settings["most_rows"]], y[: settings["most_rows"]]
    rivals = _rivals(settings, X.shape[1], cell["trial"])
    for name in rotated(list(rivals), cell["trial"]):
        if name not in job.done:
            with threadpool_limits(1):
                yield name, _judged(rivals[name], X, y, X_test, y_test)


def _judged(
    fit: Callable[..., Any], X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray
) -> dict[str, Any]:
    began = time.process_time()
    model = fit(X, y)
    seconds = time.process_time() - began
    found = {"auc": round(float(roc_auc_score(y_test, model.decision_function(X_test))), 5)}
    if isinstance(getattr(model, "model", None), list):
        found["weights"] = model.kernel_weights_.round(3).tolist()
    return {**found, "seconds": round(seconds, 3)}


def _rivals(settings: dict[str, Any], d: int, seed: int) -> dict[str, Callable[..., Any]]:
    """How each is fitted."""
    found = {LINEAR: _ours("linear", seed), PLAIN: _theirs(LogisticRegression(max_iter=1000))}
    for count in settings["features"]:
        names = _names(count)
        found[names["ours"]] = _ours(RandomFourier(count), seed)
        part = count // len(settings["widths"])
        # features of deviation 1: "scale" is one divided by their number
        kernels: list[Any] = [RandomFourier(part, width / d) for width in settings["widths"]]
        found[names["several"]] = _ours([*kernels, "linear"], seed)
        for key, features in (
            ("sampler", RBFSampler(gamma="scale", n_components=count, random_state=seed)),
            ("nystroem", Nystroem(gamma=1 / d, n_components=count, random_state=seed)),
        ):
            found[names[key]] = _theirs(make_pipeline(features, LogisticRegression(max_iter=1000)))
    if find_spec("torch"):
        found[NETWORK] = _ours(_network(d, settings["hidden"], seed), seed)
    found[BOOSTED] = _theirs(HistGradientBoostingClassifier(random_state=seed))
    return found


def _ours(model: Any, seed: int) -> Callable[..., Any]:
    def ours(X: Any, y: np.ndarray) -> Any:
        return PairwiseLearner("hinge", model=model, random_state=seed).fit(X, y)

    return ours


def _theirs(model: Any) -> Callable[..., Any]:
    def theirs(X: Any, y: np.ndarray) -> Any:
        return model.fit(X, y)

    return theirs


def _network(d: int, hidden: int, seed: int) -> Network:
    import torch
    from torch import nn

    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = [nn.Linear(d, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1)]
    return Network(nn.Sequential(*layers))


def _values(rows: Rows, data: str, rival: str, what: str) -> list[Number]:
    there = [row["results"] for row in rows if row["cell"]["data"] == data]
    return [results[rival][what] for results in there if rival in results]


def _order(settings: dict[str, Any]) -> list[str]:
    """Rivals as tables list them: ours first."""
    ours = [_names(count)[key] for key in ("ours", "several") for count in settings["features"]]
    theirs = [_names(count)[key] for key in ("sampler", "nystroem") for count in settings["features"]]
    return [LINEAR, *ours, NETWORK, PLAIN, *theirs, BOOSTED]


def summarise(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """The checks, and AUC and time on each data set."""
    shown = [data for data in settings["data"] if any(row["cell"]["data"] == data for row in rows)]
    tables = [checks(check for data in shown for check in _checks(rows, settings, data))]
    tables[
        0
    ].note = (
        "Medians over splits of the difference or ratio within a split, and on how many splits it is enough."
    )
    for data in shown:
        table = Table(f"{data}: each by itself", ["", "test AUC", "seconds of one core"])
        table.note = "Medians over splits with quartiles. To compare two rivals, see the checks."
        for name in _order(settings):
            aucs = _values(rows, data, name, "auc")
            if aucs:
                low, middle, high = np.quantile(np.array(aucs, dtype=float), [0.25, 0.5, 0.75])
                seconds = spread(_values(rows, data, name, "seconds"))
                table.add(name, f"{middle:.4f} ({low:.4f}-{high:.4f})", seconds)
        tables.append(table)
    return [*tables, _weights_table(rows, settings, shown)]


def _checks(rows: Rows, settings: dict[str, Any], data: str) -> Iterator[tuple[str, str, str, bool | None]]:
    names = _names(settings["features"][-1])
    wanted = (
        (names["ours"], LINEAR, 0.01),
        (NETWORK, LINEAR, 0.01),
        (names["ours"], names["sampler"], -0.003),
        (names["several"], names["ours"], 0.0),
        (names["several"], names["nystroem"], -0.003),
        (NETWORK, BOOSTED, -0.005),
    )
    for one, other, least in wanted:
        gains = _within(rows, data, one, other, "auc", np.subtract)
        gain = median(gains)
        holds = None if gain is None else gain >= least
        enough = f" ({sum(value >= least for value in gains)} of {len(gains)})"
        yield (
            f"{data}: AUC, {one} - {other}",
            f"at least {least:g}",
            "-" if gain is None else f"{gain:+.4f}{enough}",
            holds,
        )
    for one, other in ((names["ours"], names["sampler"]), (NETWORK, BOOSTED)):
        ratios = _within(rows, data, one, other, "seconds", np.divide)
        ratio = median(ratios)
        yield (
            f"{data}: time, {one} / {other}",
            "at most 1",
            digits(ratio)
            + ("" if ratio is None else f" ({sum(value <= 1 for value in ratios)} of {len(ratios)})"),
            None if ratio is None else ratio <= 1,
        )


def _within(rows: Rows, data: str, one: str, other: str, what: str, how: Any) -> list[float]:
    """The difference or ratio of two rivals within every split."""
    there = [row["results"] for row in rows if row["cell"]["data"] == data]
    both = [results for results in there if one in results and other in results]
    return [float(how(results[one][what], results[other][what])) for results in both]


def _weights_table(rows: Rows, settings: dict[str, Any], shown: list[str]) -> Table:
    count = settings["features"][-1]
    columns = ["", *(f"gamma = {width:g} / features" for width in settings["widths"]), "rows as they are"]
    table = Table(f"Weights of the kernels, {count} features: medians", columns)
    for data in shown:
        found = _values(rows, data, _names(count)["several"], "weights")
        if found:
            table.add(data, *(f"{weight:.2f}" for weight in np.median(np.array(found, dtype=float), axis=0)))
    return table


def draw(rows: Rows, settings: dict[str, Any]) -> dict[str, Figure]:
    """Test AUC against seconds; rivals on several numbers of features are joined."""
    shown = [data for data in settings["data"] if any(row["cell"]["data"] == data for row in rows)]
    figure, axes = grid(len(shown), columns=2, size=(5.2, 3.9))
    families = _families(settings)
    looked: dict[str, Any] = {
        **looks(list(families)),
        BOOSTED: {"color": "black", "marker": "*", "linestyle": "-"},
    }
    for ax, data in zip(axes, shown, strict=True):
        for label, names in families.items():
            there = [name for name in names if _values(rows, data, name, "auc")]
            seconds, aucs = (
                [median(_values(rows, data, name, what)) for name in there] for what in ("seconds", "auc")
            )
            ax.plot(seconds, aucs, label=label, markersize=8, linewidth=0.8, **looked[label])
        log_scale(ax, "x")
        tidy_chart(ax, "seconds of one core", "test AUC", data)
    legend_below(figure, axes[0], columns=4)
    return {"auc": figure}


def _families(settings: dict[str, Any]) -> dict[str, list[str]]:
    """Rivals that differ by their number of features alone, under what they have in common."""
    numbers = ", ".join(str(count) for count in settings["features"])
    found = {name: [name] for name in (LINEAR, NETWORK, PLAIN)}
    for key, label in zip(
        _names(0), ("random features", "several kernels", "RBFSampler + LR", "Nyström + LR"), strict=True
    ):
        found[f"{label} ({numbers})"] = [_names(count)[key] for count in settings["features"]]
    return {**found, BOOSTED: [BOOSTED]}
