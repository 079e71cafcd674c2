"""Links held out of two graphs: articles of Wikipedia (wikispeedia) and friends on last.fm.

Links are divided into ten parts. Everything is tuned once: on one part for validation, without the parts that are
tested. Each tested part is then held out in turn, and all other links are learned from. Friendships are stored in both
directions; parts are parts of undirected pairs. Articles link in one direction: links lead between two copies of the
set.

AUC is the area under the ROC curve of held-out links against 200,000 of the pairs that are links in no part. Average
precision (AP) is that among all pairs, of which few are links, estimated from the same sample.

- *LinkPredictor* and *factorisation* have 16 trials each on either graph, on the same links for validation: a grid, of
  which the trial with the highest AUC wins. The ranges of both, and the loss (the squared hinge) and the offset (-4) of
  ours, were set after some 50 trials of ours and 40 of the factorisation on these same links. Both learn from the same
  sample of other pairs: 20 per link on last.fm, 2 on wikispeedia.
- *LinkPredictor* has a grid of the strength `beta`, the `balance` of links and other pairs, and the `rule`. One fit
  serves both rules, so 16 trials are 8 fits. They end at a relative gap of 0.1 on last.fm; on wikispeedia they have at
  most 32 dimensions, and end at a relative gap of 0.5 or where these are used up. *certified* is the same fit to a gap
  of 1e-4, with as many dimensions as that takes, of one split; on wikispeedia it ended before that, when rounds no
  longer lowered the objective.
- *factorisation* is a logistic matrix factorisation with 64 dimensions and offsets, which are learned. Its grid is of
  the L2 term and the balance.
- *common neighbours* and *Adamic-Adar* count neighbours; in the directed graph these are linked in either
  direction, or on paths of two links, whichever has the higher AUC in validation.

Seconds are CPU time of one thread; other programs ran on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks import _link_data as data
from benchmarks._link_report import figure, tables
from benchmarks._link_rivals import LogisticFactors, neighbour_scores
from benchmarks._runner import Job
from benchmarks._store import Cell
from benchmarks._tables import Table
from nearer import LinkPredictor
from nearer.coembedding.link_rows import read_links

SETTINGS: dict[str, Any] = {
    "data": {
        "lastfm": {"negatives": 20, "betas": [8.0, 5.5, 3.8, 2.6], "tol": 0.1, "max_rank": None},
        "wikispeedia": {"negatives": 2, "betas": [16.0, 11.0, 7.5, 5.2], "tol": 0.5, "max_rank": 32},
    },
    "balances": [1.0, 0.4],
    "loss": "squared-hinge",
    "offset": -4.0,
    "rules": ["mean", "either"],
    "l2": [2.0, 1.4, 1.0, 0.7, 0.5, 0.35, 0.25, 0.18],
    "rank": 64,
    "splits": 3,
    "others": 200_000,
    "certified": 1,
    "certified_tol": 1e-4,
}
QUICK = {
    "data": {"lastfm": {"negatives": 1, "betas": [24.0, 12.0], "tol": 0.1, "max_rank": None}},
    "balances": [1.0],
    "l2": [8.0, 2.0],
    "rank": 8,
    "splits": 1,
    "others": 20_000,
}
OURS, CERTIFIED, FACTORS = "LinkPredictor", "certified", "factorisation"
COUNTS = {"common neighbours": False, "Adamic-Adar": True}
TUNING = "tuning"


def cells(settings: dict[str, Any]) -> list[Cell]:
    """Tuning of either graph, then the splits; those with a certified fit, which takes longest, come last."""
    splits = [TUNING, *reversed(range(settings["splits"]))]
    return [{"data": name, "split": split} for split in splits for name in settings["data"]]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile the loops."""
    pairs = np.array([[0, 1], [1, 2], [2, 3], [3, 4]])
    LinkPredictor(0.1, graph="undirected", cv=0).fit(data.Graph(pairs, 5, directed=False).matrix(pairs))


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every setting of every rival in tuning, and the best in each split."""
    graph, settings, split = data.graph_of(cell["data"]), job.settings, cell["split"]
    tested = list(range(settings["splits"])) if split == TUNING else []
    asked = data.question(graph, data.VALIDATION if split == TUNING else split, tested, settings["others"])
    for name, trials in _trials(cell, settings, job.rows).items():
        if name in job.done:
            continue
        with threadpool_limits(1):
            found = [one for setting in trials for one in _measured(name, setting, asked, cell, settings)]
        yield name, {"trials": found}


def _trials(cell: Cell, settings: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The settings to try per rival: all in tuning, then the best alone."""
    if cell["split"] == TUNING:
        return grids(cell["data"], settings)
    (tuned,) = (row["results"] for row in rows if row["cell"] == {**cell, "split": TUNING})
    best = {name: [best_setting(found["trials"])] for name, found in tuned.items()}
    return best | ({CERTIFIED: best[OURS]} if cell["split"] < settings["certified"] else {})


def grids(name: str, settings: dict[str, Any]) -> dict[str, list[Any]]:
    """All settings of every rival; one fit of ours serves all rules."""
    found: dict[str, list[Any]] = {one: [True, False] if name == "wikispeedia" else [True] for one in COUNTS}
    own = settings["data"][name]
    for method, strength, values in ((FACTORS, "l2", settings["l2"]), (OURS, "beta", own["betas"])):
        found[method] = [
            {strength: value, "balance": balance} for balance in settings["balances"] for value in values
        ]
    return found


def best_setting(trials: list[dict[str, Any]]) -> Any:
    """The setting with the highest AUC.

    >>> best_setting([{"setting": 1, "auc": 0.5}, {"setting": 2, "auc": 0.7}])
    2
    """
    return max(trials, key=lambda trial: trial["auc"])["setting"]


def _measured(
    name: str, setting: Any, asked: data.Question, cell: Cell, settings: dict[str, Any]
) -> list[dict[str, Any]]:
    """What a rival reaches with a setting; ours without a rule, with each."""
    if name in (OURS, CERTIFIED):
        return _ours(name, setting, asked, cell, settings)
    began = time.process_time()
    if name in COUNTS:
        scores = neighbour_scores(asked, setting, COUNTS[name])
    else:
        rng = np.random.default_rng(0)
        links = read_links(asked.graph.matrix(asked.known), asked.graph.kind)
        others = links.others(settings["data"][cell["data"]]["negatives"], rng)
        model = LogisticFactors(asked, others, settings["rank"], setting["l2"], rng, setting["balance"])
        scores = model.scores(asked.pairs)
    return [{"setting": setting, "seconds": time.process_time() - began, **asked.judged(scores)}]


def _ours(
    name: str, setting: dict[str, Any], asked: data.Question, cell: Cell, settings: dict[str, Any]
) -> list[dict[str, Any]]:
    began = time.process_time()
    own, certified = settings["data"][cell["data"]], name == CERTIFIED
    model = LinkPredictor(
        **setting,
        graph=asked.graph.kind,
        loss=settings["loss"],
        offset=settings["offset"],
        negatives=own["negatives"],
        cv=0,
        max_rank=None if certified else own["max_rank"],
        tol=settings["certified_tol"] if certified else own["tol"],
        random_state=0,
    )
    result = model.fit(asked.graph.matrix(asked.known)).result_
    seconds = time.process_time() - began
    found = []
    for rule in [setting["rule"]] if "rule" in setting else settings["rules"]:
        model.rule_ = rule  # all rules share the fit
        began = time.process_time()
        scores = model.decision_function(asked.pairs)
        found.append(
            {
                "setting": {**setting, "rule": rule},
                "seconds": seconds + time.process_time() - began,
                **asked.judged(scores),
                "gap": result.details["gap"] / result.objective,
                "rank": result.details["rank"],
                "objective": result.objective,
                "stopped": result.stop_reason,
            }
        )
    return found


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """Checks, both measures, tuning, time and certificate."""
    return tables(rows, settings)


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """Both measures of every rival on every split."""
    return {"measures": figure(rows)}
