"""Tags of posts: Fig. 4 and 5 of the co-embedding paper.

Posts of last.fm (HetRec 2011): a user gives tags to an artist. The challenge's own data is not to be had. The post-core
of level k keeps users, artists and tags with at least k posts each. One random post per user is held out, once at
either level. The number is the F1 of mean precision and mean recall of five tags per post, as in the challenge.

- *ours* is `TagRecommender(beta, solver="ila", tol=1e-4)` with the logistic loss, at the paper's three strengths. Fits
  end at the certified gap, or when their budget is spent: 2,000 passes over all posts at level 20, and 300 at level 10,
  which ends fits while they still grow. The curves show F1 and objective after each round of the solver, at the rank
  that it has then; the solver does not go on to a local minimum at every rank.
- *central path* is the same problem with `solver="central-path"`: 4,000 passes at level 20, and 300 at level 10, each a
  gradient or a product of second derivatives. The gap that a check asks for is that of the lower objective of the two
  from the higher lower bound.
- *popularity* is the share of the user's posts that have the tag, plus that of the item's. Their weight is chosen on
  one validation post per user, from 21. Shares of one side alone are shown too.
- *PITF* is pairwise interaction tensor factorisation (Rendle and Schmidt-Thieme), which won the challenge: stochastic
  gradient descent on differences of scores, compiled. Factors, step, L2 term and passes are chosen on one validation
  post per user. The chosen setting learns again from all training posts.

Ours is not tuned: the three strengths are reported as they are. Seconds are CPU time of one thread; other programs ran
on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks import _tag_rivals as rivals
from benchmarks._runner import Job
from benchmarks._store import Cell
from benchmarks._tables import Table
from benchmarks._tag_data import Split, all_in_use, core, held_out, terms
from benchmarks._tag_report import central, figure, ours, tables
from nearer import TagRecommender
from nearer.solvers import Progress

SETTINGS: dict[str, Any] = {
    # draws of the held-out posts, by post-core
    "cores": {"20": 1, "10": 1},
    "betas": [1.0, 0.1, 0.01],
    "tol": 1e-4,
    "most_passes": 200,
    "trials": 12,
    # passes over all posts, with all derivatives, by solver and post-core
    "most_evaluations": {"ila": {"20": 2000, "10": 300}, "central-path": {"20": 4000, "10": 300}},
}
QUICK = {
    "cores": {"20": 1},
    "betas": [1.0],
    "trials": 2,
    "most_passes": 10,
    "most_evaluations": {"ila": {"20": 50}, "central-path": {"20": 50}},
}


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a post-core and a draw of held-out posts."""
    return [
        {"core": level, "seed": seed} for level, count in settings["cores"].items() for seed in range(count)
    ]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile the loops of ours and of the factors."""
    split = held_out(core(int(max(settings["cores"], key=int))), 0)
    for solver in settings["most_evaluations"]:
        TagRecommender(1.0, solver=solver, max_epochs=2).fit(split.train)
    rivals.tuned_factors(split, 0, 1, rivals.PASSES)


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rivals, then ours at every strength."""
    settings, level, seed = job.settings, cell["core"], cell["seed"]
    split = held_out(core(int(level)), seed)
    assert all_in_use(split.train)  # the tests of ours are read off its factor
    with threadpool_limits(1):
        for name, measured in rivals.RIVALS.items():
            if name not in job.done:
                yield name, measured(split, seed, settings)
        for beta in settings["betas"]:
            for name, solver in ((ours(beta), "ila"), (central(beta), "central-path")):
                if name not in job.done:
                    most = settings["most_evaluations"][solver][level]
                    yield name, _ours(split, beta, settings["tol"], most, seed, solver)


def _ours(split: Split, beta: float, tol: float, most: int, seed: int, solver: str = "ila") -> dict[str, Any]:
    """Fit within a number of passes over all posts, and follow the F1 of the held-out posts."""
    test, curve = terms(split.test), list[list[float]]()
    looking, began = 0.0, time.process_time()

    def look(progress: Progress) -> None:
        nonlocal looking
        if (
            "gap" not in progress.columns or not progress.rank >= 0
        ):  # between two rounds, or before the last strength
            return
        start = time.process_time()
        spent = start - began - looking
        gap = progress.gap / progress.objective
        curve.append([progress.rank, 1 - test.error(progress.parameters), progress.objective, gap, spent])
        looking += time.process_time() - start

    budget = most * split.train.n_posts * split.train.shape[2]
    model = TagRecommender(
        beta, solver=solver, tol=tol, max_evaluations=budget, random_state=seed, callback=look
    )
    model.fit(split.train)
    result = model.result_
    return {
        "f1": model.score(split.test),
        "rank": model.tag_embedding_.shape[1],
        "objective": result.objective,
        "gap": min(result.details.get("gap", result.objective) / result.objective, 1.0),
        "stopped": result.stop_reason,
        "seconds": time.process_time() - began - looking,
        "curve": [[float(f"{value:.6g}") for value in row] for row in curve],
    }


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """Checks, F1 and cost."""
    return tables(rows, settings)


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """F1 and objective against columns."""
    return {"columns": figure(rows, settings)}
