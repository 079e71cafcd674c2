"""Answers that contradict each other: does it help the online kernel to step carefully, or to weigh them?

*Forms* of a step: passive-aggressive without a bound (PA), with a bound (PA-I), softened (PA-II), and STE with a
factor. *Codings* of the answers: each by itself; equal ones merged, with their count as weight; or one row a question
that says what the majority said, without a weight or with the lead of the majority as weight.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import _data
from benchmarks._runner import Job, rotated
from benchmarks._store import Cell
from benchmarks._tables import Table, best_in_bold, digits, median, quartiles, spread
from nearer import Comparisons, OnlineKernel, RelativeKernel

PART, TUNING = "conflicts", "tuning"
PLAIN, BATCH, LEAST = "PA", "batch STE", "least"
CODINGS = {
    "each": "each answer by itself",
    "counts": "equal answers merged, count as weight",
    "majority": "majority of each question",
    "lead": "majority of each question, its lead as weight",
}


def options(form: str, value: float | None) -> dict[str, Any]:
    """Arguments of `OnlineKernel` for a form of the step and the number that it needs."""
    by_form: dict[str, dict[str, Any]] = {
        "PA": {},
        "PA-I": {"max_step": value},
        "PA-II": {"max_step": value, "soft": True},
        "STE": {"update": "ste", "step_size": value},
    }
    return by_form[form]


def tuning_cells(settings: dict[str, Any]) -> list[Cell]:
    """Other splits, on which bounds and factors are chosen."""
    return [
        {"part": TUNING, "data": name, "seed": seed}
        for seed in settings["tuning_seeds"]
        for name in settings["conflicts"]
    ]


def cells(settings: dict[str, Any], seed: int) -> list[Cell]:
    """A cell is a data set and a split."""
    return [{"part": PART, "data": name, "seed": seed} for name in settings["conflicts"]]


def rivals(settings: dict[str, Any]) -> list[str]:
    """Names: a form, the coding, how many passes, and whether the rank is low."""
    forms, (once, more) = list(settings["grids"]), settings["passes"]
    plain = [f"{form} / each / {once}" for form in forms] + [
        f"{form} / each / {more}" for form in forms if form in settings["several_passes"]
    ]
    weighed = [f"{form} / counts / {once}" for form in ("PA", "PA-I", "PA-II")]
    weighed += [f"{form} / {coding} / {once}" for coding in ("majority", "lead") for form in ("PA", "PA-I")]
    low = [f"{form} / each / {passes} / rank" for passes in (once, more) for form in ("PA", "PA-I", "PA-II")]
    return [*plain, *weighed, *low]


# -- the answers ------------------------------------------------------------------------------------------------------


def part_of(name: str, settings: dict[str, Any], seed: int) -> tuple[Comparisons, Comparisons]:
    """Training and test answers about some of the objects: whole groups, at most so many rows."""
    answers, rng = _data.HUMAN[name](), np.random.default_rng([seed, 7])
    objects, most = settings["conflicts"][name].values()
    if objects < answers.n_objects:
        answers = answers.subset(rng.choice(answers.n_objects, objects, replace=False))
    if len(answers) > most:
        _, answers = answers.split(test_size=most, random_state=rng)
    return answers.split(test_size=settings["test_share"], random_state=rng)


def coded(answers: Comparisons, coding: str, seed: int) -> Comparisons:
    """The answers in a coding, in random order."""
    indices, weights = answers.indices, answers.weights
    if coding == "each":
        times = np.ones(len(answers), int) if weights is None else weights.astype(int)
        rows = Comparisons(np.repeat(indices, times, axis=0), answers.n_objects)
    elif coding == "counts":
        rows = Comparisons(indices, answers.n_objects, weights=weights).unique()
    else:
        said, lead = majority(answers)
        rows = Comparisons(said, answers.n_objects, weights=lead if coding == "lead" else None)
    return rows.shuffled(random_state=np.random.default_rng([seed, 8]))


def tallies(answers: Comparisons) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every question once, (anchor, low, high), and how often each of its two answers was given."""
    anchor, near, far = answers.indices.T
    questions = np.stack([anchor, np.minimum(near, far), np.maximum(near, far)], axis=1)
    found, place = np.unique(questions, axis=0, return_inverse=True)
    weights = np.ones(len(answers)) if answers.weights is None else answers.weights
    low, high = (np.bincount(place, weights * side, len(found)) for side in (near < far, near > far))
    return found, low, high


def majority(answers: Comparisons) -> tuple[np.ndarray, np.ndarray]:
    """What the majority said of each question that is not tied, and its lead as a share of the answers."""
    questions, low, high = tallies(answers)
    rows = np.where((low > high)[:, None], questions, questions[:, [0, 2, 1]])
    decided = low != high
    return rows[decided], (abs(low - high) / (low + high))[decided]


def least_error(answers: Comparisons) -> float:
    """The error of somebody who always says what the majority of these very answers says."""
    _, low, high = tallies(answers)
    return float(np.minimum(low, high).sum() / (low + high).sum())


# -- measuring --------------------------------------------------------------------------------------------------------


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """All rivals on one split, or all values that they may take."""
    settings, seed = job.settings, cell["seed"]
    train, test = part_of(cell["data"], settings, seed)
    if cell["part"] == PART:
        yield from _references(train, test, seed, job.done)
    for rival in rotated(rivals(settings), seed):
        if rival in job.done:
            continue
        coding = rival.split(" / ")[1]
        answers = coded(train, coding, seed)
        if cell["part"] == TUNING:
            grid = grid_of(rival, settings)
            errors = [_error(arguments(rival, value, settings, seed), answers, test) for value in grid]
            yield rival, {"errors": [round(error, 5) for error in errors]}
            continue
        value = chosen(job.rows, cell["data"], rival, settings)
        began = time.process_time()
        error = _error(arguments(rival, value, settings, seed), answers, test)
        seconds = round(time.process_time() - began, 3)
        yield rival, {"error": round(error, 5), "value": value, "seconds": seconds}


def _references(
    train: Comparisons, test: Comparisons, seed: int, done: frozenset[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    if LEAST not in done:
        shown = {"error": round(least_error(test), 5), "conflicts": round(_both_ways(train), 4)}
        yield LEAST, {**shown, "questions": len(tallies(train)[0]), "answers": len(coded(train, "each", 0))}
    if BATCH not in done:
        began = time.process_time()
        error = 1 - RelativeKernel("ste", random_state=seed).fit(coded(train, "counts", seed)).score(test)
        yield BATCH, {"error": round(error, 5), "seconds": round(time.process_time() - began, 3)}


def arguments(rival: str, value: float | None, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """What `OnlineKernel` takes for a rival."""
    form, _, passes, *low = rival.split(" / ")
    rank = settings["rank"] if low else None
    return {**options(form, value), "passes": int(passes), "rank": rank, "random_state": seed}


def grid_of(rival: str, settings: dict[str, Any]) -> list[float]:
    """Values that a rival may take; none where its form needs none."""
    return settings["rank_grids" if rival.endswith("rank") else "grids"][rival.split(" / ")[0]]


def chosen(rows: list[dict[str, Any]], data: str, rival: str, settings: dict[str, Any]) -> float | None:
    """The value of least mean error on the tuning's splits; None where a form needs none."""
    grid = grid_of(rival, settings)
    if not grid:
        return None
    tried = [
        row["results"][rival]["errors"]
        for row in rows
        if row["cell"]["part"] == TUNING and row["cell"]["data"] == data
    ]
    return grid[int(np.argmin(np.mean(tried, axis=0)))]


def _both_ways(answers: Comparisons) -> float:
    """Share of the answers whose question was answered both ways."""
    _, low, high = tallies(answers)
    return float((low + high)[(low > 0) & (high > 0)].sum() / (low + high).sum())


def _error(arguments: dict[str, Any], train: Comparisons, test: Comparisons) -> float:
    return 1 - OnlineKernel(train.n_objects, **arguments).fit(train).score(test)


# -- what is shown ----------------------------------------------------------------------------------------------------


def of(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Results of a data set."""
    return [row["results"] for row in rows if row["cell"]["part"] == PART and row["cell"]["data"] == name]


def errors(found: list[dict[str, Any]], rival: str) -> list[float]:
    """Of every split."""
    return [results[rival]["error"] for results in found]


def gain(found: list[dict[str, Any]], rival: str, other: str) -> tuple[str, int]:
    """Error of a rival minus another's on the same split, in points, and on how many splits it is lower."""
    low, middle, high = quartiles(
        a - b for a, b in zip(errors(found, rival), errors(found, other), strict=True)
    )
    better = sum(a < b for a, b in zip(errors(found, rival), errors(found, other), strict=True))
    if low is None or middle is None or high is None:
        return "-", 0
    return f"{100 * middle:+.2f} ({100 * low:+.2f} to {100 * high:+.2f})", better


def tables(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """One table a data set."""
    return [_table(of(rows, name), name, settings) for name in settings["conflicts"] if of(rows, name)]


def _table(found: list[dict[str, Any]], name: str, settings: dict[str, Any]) -> Table:
    title = f"{name}: held-out error, median of {len(found)} splits (quartiles)"
    head = ["step", "answers", "passes", "error", "points against PA, each answer, same passes"]
    table = Table(title, [*head, "lower on", "chosen", "seconds"])
    least = found[0][LEAST]
    table.note = (
        f"{least['answers']:,} training answers to {least['questions']:,} questions; "
        f"{least['conflicts']:.0%} of the answers are to questions answered both ways. Batch STE has "
        f"{spread(errors(found, BATCH))}; always the majority of the held-out answers themselves would have "
        f"{spread(errors(found, LEAST))}."
    )
    names = [rival for rival in rivals(settings) if all(rival in results for results in found)]
    texts = best_in_bold(
        [spread(errors(found, rival)) for rival in names], [median(errors(found, rival)) for rival in names]
    )
    for rival, text in zip(names, texts, strict=True):
        form, coding, passes, *low = rival.split(" / ")
        plain = f"{PLAIN} / each / {passes}" + (" / rank" if low else "")
        points, better = gain(found, rival, plain)
        same = rival == plain
        value = digits(found[0][rival]["value"])
        label = f"{form}, rank {settings['rank']}" if low else form
        seconds = digits(median(results[rival]["seconds"] for results in found))
        wins = "" if same else f"{better}/{len(found)}"
        table.add(label, CODINGS[coding], passes, text, "" if same else points, wins, value, seconds)
    return table
