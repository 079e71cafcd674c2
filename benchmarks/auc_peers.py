"""Solvers of pairs and other libraries: Figure 2 of the AdaDSG paper.

Data, splits, scaling, logistic regression (LR) and clocks are those of `adadsg_vs_dsgd`; one setting for all data.

- Ours: AdaDSG and DSGD with the hinge; OLP with a buffer of 500 rows, of which a step takes 4 (five passes) or, as in
  the paper, the whole of the other class (one pass), the latter with buffers of other sizes too; OPAUC with whole
  covariances or with 50 directions of them, one pass, over 5,000 rows where there are more than 10,000 features; SOLAM
  with classes in balance or rows as they come; the exact minimum of the hinge (to 0.1 %). `AUCClassifier` is the whole
  estimator with its defaults. All are our own programs: what they say about the authors' programs is limited to the
  methods.
- scikit-learn's `LogisticRegression` and `SGDClassifier` (hinge, its defaults).
- LibAUC 2.0.1: a linear model by `AUCMLoss` with `PESG` (rate 0.1, a tenth of it after 5 and 8 epochs) and by
  `PairwiseAUCLoss` (squared hinge) with `Adam` (rate 0.001); batches of 128, half of them positive, 10 epochs. Of two
  rates of `Adam` tried on another split, the better on two of three sets. Nothing else of the peers was tuned.
- xgboost 3.2.0: 100 trees of `rank:pairwise` over all rows as one group. Trees are not linear.

There are 25 trials a set (5 on mnist, 10 on the drawn documents). The tables say how many were measured, and "-" what
was not; every difference is taken on the same split.

What comes out: logistic regression ties with AdaDSG on most sets. What AdaDSG wins is time to a good answer; to the end
of its 20 stages it takes about as long as logistic regression on the smaller sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

from benchmarks import _auc_peers
from benchmarks import _auc_race as race
from benchmarks._auc_data import SETS
from benchmarks._runner import Job, rotated
from benchmarks._store import Cell
from benchmarks._tables import Table
from nearer import AUCClassifier
from nearer.objectives.all_pairs import AllPairs
from nearer.pairwise import DSGD, OLP, OPAUC, SOLAM, AdaDSG, solve_exact

SETTINGS: dict[str, Any] = {
    "data": list(SETS),
    "large": ["mnist", "sector", "like rcv1", "like real-sim"],  # whose slow rivals come last
    "trials": 25,
    "first_trial": 100,  # 0 to 2 served to choose the rules
    "fewer_trials": {"mnist": 5, "like rcv1": 10, "like real-sim": 10},
    "regularization": 0.01,
    "first_mark": 256,
    "marks_per_doubling": 2,
    "rank": 50,
    "most_rows_of_sketches": 5000,  # that OPAUC walks over where there are more than 10,000 features
    "exact_tol": 1e-3,
    "exact_seconds": 300,
    "peer_seconds": 900,  # of wall clock, after which a peer is given up
    "libauc": {
        "AUCM": {"lr": 0.1, "batch": 128, "epochs": 10, "decays": [5, 8]},
        "pairwise": {"lr": 0.001, "batch": 128, "epochs": 10},
    },
    "xgboost": {"rounds": 100, "lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 1},
}
QUICK = {
    "data": ["phishing", "usps"],
    "trials": 2,
    "libauc": {
        "AUCM": {"lr": 0.1, "batch": 128, "epochs": 1, "decays": [5, 8]},
        "pairwise": {"lr": 0.001, "batch": 128, "epochs": 1},
    },
    "xgboost": {"rounds": 10, "lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 1},
}

LR = "LogisticRegression"
FAST = (LR, "SGDClassifier", "AUCClassifier", "AdaDSG", "DSGD", "OLP", "SOLAM", "SOLAM as it comes")
SLOW = ("OPAUC", "OPAUC low rank", "OLP whole buffer", "exact", "LibAUC AUCM", "LibAUC pairwise")
#: rows of OLP's whole buffer, beside the 500 of the paper
BUFFERS = {f"OLP buffer {size}": size for size in (20, 100, 2500)}
PARTS = {"fast": FAST, "slow": SLOW, "trees": ("xgboost",), "buffers": tuple(BUFFERS)}
_MANY_FEATURES = 10_000
#: trials of the quick rivals that come before the slow ones: an early look at all of them
_FIRST_TRIALS = 5


def cells(settings: dict[str, Any]) -> list[Cell]:
    """Some trials of the quick rivals, all of the slow ones, large data last, then the other trials."""
    large = [name for name in settings["data"] if name in settings["large"]]
    small = [name for name in settings["data"] if name not in large]
    slow = [
        cell
        for data in (small, large)
        for part in ("slow", "trees", "buffers")
        for cell in _trials(part, data, settings)
    ]
    quick = _trials("fast", settings["data"], settings)
    cut = min(settings["trials"], _FIRST_TRIALS) * len(settings["data"])
    return [*quick[:cut], *slow, *quick[cut:]]


def _trials(part: str, data: list[str], settings: dict[str, Any]) -> list[Cell]:
    count, fewer = settings["trials"], settings["fewer_trials"]
    return [
        {"part": part, "data": name, "trial": settings["first_trial"] + number}
        for number in range(count)
        for name in data
        if number < fewer.get(name, count)
    ]


def entries(settings: dict[str, Any], n_features: int) -> dict[str, race.Entry]:
    """Our solvers, with their own settings."""
    many = n_features > _MANY_FEATURES
    sketched = settings["most_rows_of_sketches"] if many else None
    moments: dict[str, Any] = {"loss": "square", "short_runs": False, "steps": sketched}
    found = {
        "AdaDSG": race.Entry(AdaDSG()),
        "DSGD": race.Entry(DSGD()),
        "OLP": race.Entry(OLP()),
        "OLP whole buffer": race.Entry(OLP(pairs=None, passes=1), short_runs=False),
        **{
            name: race.Entry(OLP(buffer=size, pairs=None, passes=1), short_runs=False)
            for name, size in BUFFERS.items()
        },
        "OPAUC": race.Entry(OPAUC(rank=None), **moments),
        "OPAUC low rank": race.Entry(OPAUC(rank=settings["rank"]), **moments),
        "SOLAM": race.Entry(SOLAM(), loss="square"),
        "SOLAM as it comes": race.Entry(SOLAM(draws="natural"), loss="square"),
    }
    left_out = "OPAUC" if many else "OPAUC low rank" if n_features <= settings["rank"] else None
    return {name: entry for name, entry in found.items() if name != left_out}


def warm_up(settings: dict[str, Any]) -> None:
    """Compile every loop, on drawn rows, dense and sparse; make the peers' environment."""
    from scipy import sparse

    rng = np.random.default_rng(0)
    for rows in (rng.normal(size=(3000, 60)), sparse.random(3000, 60, 0.3, "csr", random_state=0)):
        y = np.where(np.arange(3000) % 3 == 0, 1, -1)
        of = race.Problem(rows, y, rows, y)
        for entry in entries(settings, 60).values():
            race.race(entry, of, 0, [256, 3000])
        race.logistic(of, "lbfgs")
        _sgd_classifier(of, 0)
        _auc_classifier(of, 0)
        solve_exact(AllPairs(rows, y, "hinge", l2=0.01), tol=1e-2)
    _auc_peers.environment()


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rivals of one part on one split."""
    of = race.problem(cell["data"], cell["trial"])
    ours = entries(job.settings, of.X.shape[1])
    worker = _auc_peers.Worker(threads=1)
    try:
        with threadpool_limits(1):
            for name in rotated(PARTS[cell["part"]], cell["trial"]):
                skipped = name in ("OPAUC", "OPAUC low rank") and name not in ours
                if name not in job.done and not skipped:
                    yield name, _measured(name, of, ours, cell, job, worker)
    finally:
        worker.close()


def _measured(
    name: str,
    of: race.Problem,
    ours: dict[str, race.Entry],
    cell: Cell,
    job: Job,
    worker: _auc_peers.Worker,
) -> dict[str, Any]:
    trial, settings = cell["trial"], job.settings
    if name in ours:
        return _curve(ours[name], of, trial, settings)
    if name == LR:
        return race.quickest_logistic(of, race.known_solver(job.rows, cell["data"]))
    if name == "SGDClassifier":
        return _sgd_classifier(of, trial)
    if name == "AUCClassifier":
        return _auc_classifier(of, trial)
    if name == "exact":
        return _exact(of, settings)
    rival = name.removeprefix("LibAUC ")
    parameters = settings["xgboost"] if rival == "xgboost" else settings["libauc"][rival]
    answer = worker.scores(rival, parameters, of, trial, settings["peer_seconds"])
    if "failure" in answer:
        return {"failure": answer["failure"]}
    return _result(answer["seconds"], of.auc(answer["scores"]))


def _result(seconds: float, auc: float) -> dict[str, Any]:
    return {"seconds": float(f"{seconds:.4g}"), "auc": round(auc, 5)}


def _curve(entry: race.Entry, of: race.Problem, trial: int, settings: dict[str, Any]) -> dict[str, Any]:
    at = race.marks(settings["first_mark"], 32 * len(of.y), settings["marks_per_doubling"])
    curve = race.race(entry, of, trial, at, again=2 * len(of.y) if entry.short_runs else 0)
    stored = curve.stored()
    return {**_result(stored["seconds"][-1], stored["auc"][-1]), "curve": stored}


def _sgd_classifier(of: race.Problem, trial: int) -> dict[str, Any]:
    model = SGDClassifier(random_state=trial)
    seconds, _ = race.cpu(lambda: model.fit(of.X, of.y), 2)
    return _result(seconds, of.auc(model.decision_function(of.X_test)))


def _auc_classifier(of: race.Problem, trial: int) -> dict[str, Any]:
    model = AUCClassifier(random_state=trial)
    seconds, _ = race.cpu(lambda: model.fit(of.X, of.y))
    return _result(seconds, of.auc(model.decision_function(of.X_test)))


def _exact(of: race.Problem, settings: dict[str, Any]) -> dict[str, Any]:
    objective = AllPairs(of.X, of.y, "hinge", l2=settings["regularization"] / np.sqrt(len(of.y)))
    limits = {"tol": settings["exact_tol"], "max_seconds": settings["exact_seconds"]}
    seconds, found = race.cpu(lambda: solve_exact(objective, **limits))
    return {**_result(seconds, of.auc(of.X_test @ found.w)), "stop_reason": found.stop_reason}


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    from benchmarks import _auc_peers_report

    return _auc_peers_report.peers_tables(rows, settings)


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    from benchmarks import _auc_figures

    return _auc_figures.peers_figures(rows, settings)
