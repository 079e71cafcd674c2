"""Cases of what surrounds the estimators: losses, questions, metrics, data, files, the command line."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import nearer
from benchmarks._same.case import Case, Numbers, case, environment, public, source_folder
from benchmarks._same.data import N_OBJECTS, answers, points, table
from benchmarks._same.embeddings import LOSSES
from benchmarks._same.pairs import MARGIN_LOSSES

STRATEGIES = ("adaptive", "arr", "information-gain", "uncertainty", "round-robin", "random")
_FILES = ("csv", "tsv", "jsonl", "parquet", "npz", "csv.gz")
_ODD = "a,b,c,odd,annotator\ncat,dog,car,car,1\ndog,bus,car,dog,2\ncat,bus,dog,bus,1\n"
_QUESTIONS = "anchor,a,b,response,weight\n0,1,2,1,0.5\n3,1,2,-1,2\n2,3,0,1,1\n"


def _loss(name: str) -> Numbers:
    loss = public("LOSSES")[name]().resolved(2)
    near, far = np.meshgrid(np.linspace(0.1, 4, 9), np.linspace(0.1, 4, 9))
    by_near, by_far = loss.derivatives(near, far)
    chance = {"probability": loss.probability(near, far)} if loss.has_probability else {}
    return {"value": loss.value(near, far), "by near": by_near, "by far": by_far} | chance


def _margin_loss(name: str) -> Numbers:
    loss = public("find_margin_loss")(name)
    margins = np.linspace(-3, 3, 25)
    return {"value": loss.value(margins), "slope": loss.slope(margins)}


def _objective(loss: str) -> Numbers:
    found, chosen = {}, public("LOSSES")[loss]()
    for kind, weights in (("plain", False), ("weighted", True)):
        f = public("PointObjective")(answers(weights=weights), chosen, 2, l2=0.1)
        found[f"{kind} value"], found[f"{kind} gradient"] = f.value_and_gradient(points())
        g = public("GramObjective")(answers(weights=weights), chosen, trace_penalty=0.1)
        found[f"{kind} value of kernel"] = g.value(points())
    return found


def _asked(strategy: str, **settings: Any) -> Numbers:
    selector = nearer.active.selector(strategy, n_objects=N_OBJECTS, random_state=0, **settings)
    asked = []
    for _ in range(12):
        questions = selector.next(8)
        squared = np.sum((points()[questions[:, :1]] - points()[questions[:, 1:]]) ** 2, axis=2)
        selector.tell(questions, y=squared[:, 0] < squared[:, 1])
        asked.append(questions)
    found = {} if selector.points is None else {"points": selector.points}
    return found | {"questions": np.concatenate(asked), "answers": selector.answers.indices}


def _played() -> Numbers:
    study = nearer.active.play(
        nearer.active.PlantedOracle(12, n_held_out=500), n_answers=60, batch=20, random_state=0
    )
    return {"n_answers": study.n_answers, "errors": study.errors}


def _metrics() -> Numbers:
    X, y = table(60)[0][:, :2], table(60)[1]
    turned = points() @ np.array([[0.6, -0.8], [0.8, 0.6]]) + np.sin(np.arange(50.0)).reshape(25, 2) / 9
    found = {
        "triplet_error": public("triplet_error")(turned, answers()),
        "weighted triplet_error": public("triplet_error")(turned, answers(weights=True)),
        "neighbour_agreement": public("neighbour_agreement")(X, y, k=5),
    }
    pairs = {name: public(name)(turned, points()) for name in ("procrustes_distance", "procrustes_align")}
    searches = ("precision_at_k", "recall_at_k", "mean_average_precision")
    return found | pairs | {name: public(name)(X[:20], X[20:], y[:20], y[20:], k=7) for name in searches}


def _planted(**settings: Any) -> Numbers:
    comparisons, embedding = nearer.datasets.planted(20, 2, 300, random_state=0, **settings)
    return {"comparisons": comparisons.indices, "embedding": embedding}


def _derived() -> Numbers:
    data, cities = nearer.datasets, nearer.datasets.cities()
    distances = np.linalg.norm(points()[:, None] - points(), axis=2)
    return {
        "all": data.triplets_from_distances(distances[:6, :6]).indices,
        "noisy": data.triplets_from_distances(distances, 200, noise="ste", random_state=0).indices,
        "labels": data.triplets_from_labels(np.arange(30) % 4, 200, flip=0.1, random_state=0).indices,
        "kilometres": cities.great_circle_km(),
        "map": cities.map_xy(),
    }


def _operations() -> Numbers:
    given = answers(weights=True)
    train, test = given.split(test_size=0.3, random_state=0)
    folds = given.folds(3, random_state=0)
    conflicts = nearer.Comparisons(given.indices[:, :3] % 5, invalid="drop").unique()
    return {
        "train": train.indices,
        "test weights": test.weights,
        "folds": np.concatenate([np.asarray(held) for _, held in folds]),
        "shuffled": given.shuffled(random_state=0).indices,
        "noise": given.with_noise(0.2, random_state=0).indices,
        "unique": conflicts.indices,
        "unique weights": conflicts.weights,
        "subset": given.subset(range(8)).indices,
        "quadruplets": given.quadruplets()[:20],
    }


def _fields(given: nearer.Comparisons) -> Numbers:
    names = ("indices", "n_objects", "weights", "annotators", "groups", "names", "n_dropped")
    found = {name: getattr(given, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _read(ending: str, text: str | None = None) -> Numbers:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"answers.{ending}"
        if text is None:
            names = [f"object {number:02d}" for number in range(N_OBJECTS)]
            given = answers(count=100, weights=True)
            nearer.Comparisons(given.indices, names=names, weights=given.weights).write(path)
        else:
            path.write_text(text, encoding="utf-8")
        return _fields(nearer.Comparisons.read(path))


def _saved() -> Numbers:
    comparisons = answers(count=300)
    model = nearer.OnlineKernel(N_OBJECTS, random_state=0, passes=2).partial_fit(comparisons[:200])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.nearer"
        nearer.save(model, path)
        return {"kernel_": nearer.load(path).partial_fit(comparisons[200:]).kernel_}


def _command(*options: str) -> Numbers:
    with tempfile.TemporaryDirectory() as folder:
        answers().write(Path(folder) / "answers.csv")
        command = [sys.executable, "-m", "nearer", "fit", "answers.csv", "--json", *options]
        done = subprocess.run(
            command, cwd=folder, env=environment(source_folder()), capture_output=True, text=True, check=True
        )
    return _flat(json.loads(done.stdout))


def _flat(value: Any, name: str = "") -> Numbers:
    """Return the numbers and texts of a JSON value by their path; times and solvers' reprs are left out."""
    if isinstance(value, dict):
        parts = (_flat(part, f"{name}.{key}" if name else key) for key, part in value.items())
        return {key: number for part in parts for key, number in part.items()}
    unsettled = value is None or name.endswith(("seconds", "solver"))
    return {} if unsettled else {name: value}


CASES: dict[str, Case] = {
    **{f"loss {name}": case(_loss, name) for name in LOSSES},
    **{f"margin loss {name}": case(_margin_loss, name) for name in MARGIN_LOSSES},
    **{f"objective {name}": case(_objective, name) for name in LOSSES},
    **{f"selector {name}": case(_asked, name) for name in STRATEGIES},
    "selector random_share": case(_asked, "adaptive", random_share=0.3),
    "play": case(_played),
    "metrics": case(_metrics),
    "planted": case(_planted),
    **{f"planted noise={noise}": case(_planted, noise=noise, scale=1.0) for noise in (0.1, "ste", "tste")},
    "planted quadruplets": case(_planted, kind="quadruplets", repeat=False),
    "derived data": case(_derived),
    "operations": case(_operations),
    **{f"read {ending}": case(_read, ending) for ending in _FILES},
    "read odd one out": case(_read, "csv", _ODD),
    "read questions": case(_read, "csv", _QUESTIONS),
    "save, load, learn": case(_saved),
    "command fit": case(_command),
    "command fit, kernel": case(_command, "--model", "kernel"),
    "command fit, online": case(_command, "--model", "online"),
}
