"""Recommendation compared with popularity, EASE, implicit and irspack on MovieLens 1M.

Interactions are ratings of at least 4: 575,281 pairs of 6,038 users and 3,533 movies. There are five protocols:

- *warm*: a tenth of the pairs, drawn at random, is to be found among all movies that are not in training.
- *history*: a tenth of the users is unknown in training. Of each, 80% of the pairs are given, the rest is to be found.
- *side*: the same new users; given are gender, age and occupation, to be found are all of their pairs.
- *items*: a tenth of the movies is unknown in training, known are their genres and year (standardised and in tenths).
  They are ranked among themselves for every user.
- *ncf*: the split of He et al. (2017). Every rating is an interaction; one movie per user is ranked among 99 others.

The first four have five random splits. There is one `ncf` split, so its standard errors are over five groups of users.
MAP@5 is the mean of precision@1 to 5 (eq. 52 of paper 002). recall@20 divides by the number of movies to be found.
Gains of NDCG@10 are 0 or 1. Users without anything to be found are not counted.

EASE, ridge regression, popularity and chance are a few lines of numpy in double precision. implicit 0.7.3 (ALS) and
irspack 0.5.2 (iALS with frequency-scaled regularisation) run in an environment of their own. With features, iALS also
learns linear maps from features to embeddings; new users and movies are placed by these maps alone. irspack's
documented placement counts all users as negatives of a new movie too. On a validation part it ranked worse (recall@20
0.29 instead of 0.36), so it is not used.

Settings are chosen on a validation part: the same protocol applied to the training part of the first split. The score
is MAP@5 for *warm*, NDCG@10 for *ncf* and recall@20 otherwise. Every rival has 20 trials: ten spread over its ranges,
ten around its best so far. The chosen setting serves all splits, so pairs that it was chosen on are test pairs of
other splits, for all rivals alike.

Not quite alike: in first runs, 20 trials of wider ranges missed better settings of irspack and then of implicit, so
their ranges were narrowed. That was done by validation scores, but with test results of these runs in view, of irspack
also for four settings on the first *warm* split. It favours the two libraries. implicit was then measured again, after
the other rivals instead of in turns with them. Nor is the choice sharp: for validation scores of 0.176 and 0.177, two
settings of irspack had *warm* MAP@5 of 0.240 and 0.257 on the test part of the first split.

Ours are `TwoTower()` with its defaults (and the features of *side* and *items*), linear towers and `search`. Linear
towers minimise the objective of irspack's iALS, with its settings: they are tuned in the same ranges with the same
numbers drawn, and fitted by 16 rounds, its default. What is left between them are random starts: on the validation
part, six starts of the chosen setting had MAP@5 with a standard deviation of 0.0002. `search` is what
`TwoTower().search` chooses in 200 seconds on the training part of the first split, told what the protocol asks and
measures. A search has fewer trials than the others, but chooses among towers, losses and inputs too.

Times are of one thread (ours: two) and of the fit alone, without ranking. Other programs ran on the machine: compare
CPU seconds. Ours and the baselines were measured in the same hours, not in turns. Two were measured again later, on
one thread of a busier machine: linear towers, after their constant vectors had been left out and with the settings of
iALS (chosen on two threads, hence the CPU seconds of that choice); and `search` of *side*, after alternating
least squares had got longer first vectors and features alone by least squares had joined the trials. Its 200 seconds
were stretched by how much longer a fit took than its CPU time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks import _recommend_baselines as baselines
from benchmarks import _recommend_ours as ours
from benchmarks import _recommend_peers as peers
from benchmarks._recommend_data import PROTOCOLS, Problem, problem, validation
from benchmarks._recommend_metrics import Array, judged, top
from benchmarks._recommend_search import Setting, search
from benchmarks._runner import Job, Skip, rotated
from benchmarks._store import Cell
from benchmarks._tables import Table

SETTINGS: dict[str, Any] = {
    "protocols": list(PROTOCOLS),
    "splits": 5,
    "trials": 20,  # of a choice of settings
    "threads": 1,
    "own_threads": 2,
    "search_seconds": 200,  # of our own search, on two threads
    "peer_seconds": 600,  # of wall clock, after which a peer is given up
    "scores": {
        "warm": "map5",
        "history": "recall20",
        "side": "recall20",
        "items": "recall20",
        "ncf": "ndcg10",
    },
    "spaces": {
        "EASE": {"l2": ("log", 30, 10_000)},
        "ridge": {"l2": ("log", 1, 10_000)},
        "ridge per user": {"l2": ("log", 1, 10_000)},
        peers.IMPLICIT: {
            "factors": ("whole", 64, 256),
            "regularization": ("log", 15, 120),
            "alpha": ("log", 1.5, 10),
        },
        peers.IRSPACK: peers.IALS,
        peers.IRSPACK_FEATURES: {
            **peers.IALS,
            "lambda_user_feature": ("log", 10, 100_000),
            "lambda_item_feature": ("log", 10, 100_000),
        },
    },
}
QUICK = {"protocols": ["warm", "items"], "splits": 1, "trials": 2, "search_seconds": 10}

BASELINES: dict[str, tuple[str, ...]] = {
    "warm": ("popularity", "EASE", peers.IMPLICIT, peers.IRSPACK, peers.IRSPACK_FEATURES),
    "history": ("popularity", "EASE", peers.IMPLICIT, peers.IRSPACK),
    "side": ("popularity", "ridge", peers.IRSPACK_FEATURES),
    "items": ("random", "ridge, mean of users", "ridge per user", peers.IRSPACK_FEATURES),
    "ncf": ("popularity", "EASE", peers.IMPLICIT, peers.IRSPACK),
}
RIVALS = {"baselines": BASELINES, "ours": ours.RIVALS}
#: rivals that take the setting of another
BORROWED = {"ridge, mean of users": "ridge per user"}
CHOICE = "choice"  # the split of a cell that chooses settings

Best = tuple[dict[str, float], Array]


def cells(settings: dict[str, Any]) -> list[Cell]:
    """Choices of settings, then the splits; the baselines first."""
    who = ("baselines", "ours") if ours.available() else ("baselines",)
    return [
        {"who": side, "protocol": name, "split": split}
        for side in who
        for name in settings["protocols"]
        for split in (CHOICE, *range(1 if name == "ncf" else settings["splits"]))
    ]


def warm_up(settings: dict[str, Any]) -> None:
    """Make the peers' environment and read the data; compiled libraries have nothing to warm up."""
    peers.environment()
    problem("warm", 0)


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rivals of one protocol on one split, or the choice of their settings."""
    side, name, split = cell["who"], cell["protocol"], cell["split"]
    choosing = split == CHOICE
    of = validation(problem(name, 0)) if choosing else problem(name, split)
    spaces = _spaces(side, job.settings)
    own = side == "ours"
    worker = peers.Worker(threads=job.settings["threads"])
    try:
        with threadpool_limits(job.settings["own_threads" if own else "threads"]):
            for rival in rotated(RIVALS[side][name], 0 if choosing else split):
                if rival in job.done or (choosing and rival not in (*spaces, ours.SEARCH)):
                    continue
                if choosing and rival == ours.SEARCH:
                    setting, trials = ours.search(problem(name, 0), job.settings["search_seconds"])
                    yield rival, {"setting": setting, "trials": trials}
                    continue
                fit = _fit(rival, of, job.settings, 0 if choosing else split, worker)
                yield (
                    rival,
                    _chosen(fit, rival, of, spaces, job)
                    if choosing
                    else _measured(fit, rival, of, cell, job),
                )
    finally:
        worker.close()


def _spaces(side: str, settings: dict[str, Any]) -> dict[str, Any]:
    return ours.SPACES if side == "ours" else settings["spaces"]


def _fit(
    rival: str, of: Problem, settings: dict[str, Any], seed: int, worker: peers.Worker
) -> Callable[[Setting], Best]:
    """Return what fits a rival with a setting: clocks and the best candidates of every question."""
    if rival in ours.RIVALS[of.protocol]:
        return lambda setting: _own(rival, of, setting, seed)
    if rival in baselines.FITS:
        return lambda setting: _simple(rival, of, setting)
    cap = settings["peer_seconds"]
    return lambda setting: _peer(worker, rival, of, setting, seed, cap)


def _own(rival: str, of: Problem, setting: Setting, seed: int) -> Best:
    clocks, model = _timed(lambda: ours.fit(rival, of, setting, seed))
    return clocks, ours.best(model, of)


def _simple(rival: str, of: Problem, setting: Setting) -> Best:
    clocks, scores = _timed(lambda: baselines.FITS[rival](of, setting))
    return clocks, top(scores, of)


def _peer(worker: peers.Worker, rival: str, of: Problem, setting: Setting, seed: int, cap: float) -> Best:
    fixed = {} if rival == peers.IMPLICIT else {"nu_star": 1.0}  # so that reg means the same for every nu
    answer = worker.embeddings(rival, {**setting, **fixed}, of, seed, cap)
    if "failure" in answer:
        raise RuntimeError(answer["failure"])
    clocks = {name: answer[name] for name in ("cpu", "seconds")}
    return clocks, top(peers.scores(answer["left"], answer["right"]), of)


def _timed(call: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    cpu, wall = time.process_time(), time.perf_counter()
    found = call()
    return {"cpu": time.process_time() - cpu, "seconds": time.perf_counter() - wall}, found


def _chosen(
    fit: Callable[[Setting], Best], rival: str, of: Problem, spaces: dict[str, Any], job: Job
) -> dict[str, Any]:
    def score(setting: Setting) -> tuple[float, float]:
        clocks, best = fit(setting)
        return judged(best, of)[job.settings["scores"][of.protocol]][0], clocks["cpu"]

    setting, trials = search(spaces[rival], score, job.settings["trials"], seed=0)
    return {"setting": setting, "trials": trials}


def _measured(
    fit: Callable[[Setting], Best], rival: str, of: Problem, cell: Cell, job: Job
) -> dict[str, Any]:
    setting = _setting(rival, cell, job)
    try:
        clocks, best = fit(setting)
    except RuntimeError as error:
        return {"failure": str(error)}
    return {**{name: float(f"{value:.4g}") for name, value in clocks.items()}, **judged(best, of)}


def _setting(rival: str, cell: Cell, job: Job) -> Setting:
    """Return the setting that was chosen for a rival; none for those that have nothing to choose."""
    name = BORROWED.get(rival, rival)
    if name not in (*_spaces(cell["who"], job.settings), ours.SEARCH):
        return {}
    where = {**cell, "split": CHOICE}
    found = [row["results"][name]["setting"] for row in job.rows if row["cell"] == where]
    if not found:
        raise Skip(f"no settings were chosen yet for the protocol {cell['protocol']!r}")
    return found[0]


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    from benchmarks import _recommend_report

    return _recommend_report.tables(rows, settings)


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    from benchmarks import _recommend_figures

    return _recommend_figures.figures(rows, settings)
