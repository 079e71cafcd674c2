"""What the benchmark `erkle` runs: its data, online kernels, and batch kernels in three ways.

Seconds are those that the processor spent, so that others at work on the same core count little.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks._runner import Skip
from nearer import Comparisons, OnlineKernel, RelativeKernel
from nearer.datasets import triplets_from_distances
from nearer.kernels.base import kernel_distances
from nearer.losses import find
from nearer.solvers import ProximalGradient

#: ways to fit a batch kernel
FIXED, CONVERGED, ONE_SIDED, BOTH_SIDES = "fixed step", "converged", "one-sided", "both sides"
NAMES = {"ste": "STE", "gnmds": "GNMDS", "ckl": "CKL"}
BATCH = [
    (way, loss)
    for way, losses in ((FIXED, list(NAMES)), (CONVERGED, list(NAMES)), (ONE_SIDED, ["ste", "gnmds"]))
    for loss in losses
]
FEW = ("ste", "gnmds")
UPDATES = {"STE": "ste", "PA": "passive-aggressive"}
AUTOMATIC = "STE, penalty by cross-validation"
RULES = {"STE, 1/j": "1/j", "STE, 1/sqrt(j)": "1/sqrt(j)"}
#: step rules whose factor c is chosen first
TUNED = {"STE, c/sqrt(j)": "1/sqrt(j)", "STE, constant c": "constant"}

Rows = list[dict[str, Any]]

#: penalties in a row that may be no better before a walk from strong to weak ends
_PATIENCE = 2
#: of the paper: the least change of the summed loss that goes on
_LEAST_CHANGE = 1e-7
#: decreases too small in a row after which the one-sided descent gives up, and what becomes of its step
_MOST_IDLE, _LONGER, _SHORTER = 5, 1.01, 0.5


@dataclass(frozen=True)
class Problem:
    """Answers to learn from, in their order, and all others."""

    train: Comparisons
    test: Comparisons


def problem(settings: dict[str, Any], seed: int) -> Problem:
    """Points from a standard normal distribution, and the answers to all questions about them, shuffled."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(settings["n_objects"], settings["dimension"]))
    answers = triplets_from_distances(np.linalg.norm(points[:, None] - points, axis=2))
    answers = answers[rng.permutation(len(answers))]
    return Problem(answers[: settings["n_train"]], answers[settings["n_train"] :])


def error(kernel: np.ndarray, test: Comparisons) -> float:
    """Share of the answers that do not hold; a tie does not."""
    near, far = kernel_distances(kernel, test.indices)
    return round(1 - float(np.mean(near < far)), 5)


# -- online ------------------------------------------------------------------------------------------------------------


def online(data: Problem, settings: dict[str, Any], **options: Any) -> dict[str, Any]:
    """One way through the answers: the error every so often, seconds, and what the projections took."""
    model, every = OnlineKernel(data.train.n_objects, random_state=0, **options), settings["every"]
    seconds, errors = 0.0, []
    for end in range(every, len(data.train) + 1, every):
        start = time.process_time()
        model.partial_fit(data.train[end - every : end])
        seconds += time.process_time() - start
        errors.append(error(model.kernel_, data.test))
    return {
        "errors": errors,
        "seconds": round(seconds, 3),
        "steps": model.n_steps_,
        "skipped": model.n_skipped_,
        "negative": model.n_negative_,
        "rank": model.rank_,
    }


# -- batch -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fit:
    """A batch kernel, the seconds it took and the gradients of single answers, divided by their number."""

    kernel: np.ndarray
    seconds: float
    gradients: float


def batch(way: str, loss: str, answers: Comparisons, penalty: float, settings: dict[str, Any]) -> Fit:
    """A batch kernel with a trace penalty, fitted one way."""
    start = time.process_time()
    if way in (ONE_SIDED, BOTH_SIDES):
        kernel, gradients = _sided(loss, answers, penalty, settings["iterations"], both=way == BOTH_SIDES)
    else:
        model = _model(way, loss, answers, penalty, settings["iterations"]).fit(answers)
        kernel, gradients = model.kernel_, model.result_.n_evaluations / len(answers)
    return Fit(kernel, time.process_time() - start, gradients)


def automatic(loss: str, data: Problem) -> dict[str, Any]:
    """The batch kernel as a user would ask for it: the penalty by cross-validation on the answers alone."""
    start = time.process_time()
    model = RelativeKernel(loss, random_state=0).fit(data.train)
    return {
        "errors": [error(model.kernel_, data.test)],
        "penalties": [float(f"{model.trace_penalty_:.4g}")],
        "seconds": [round(time.process_time() - start, 3)],
        "gradients": [round(model.result_.n_evaluations / len(data.train), 1)],
        "ranks": [model.rank_],
    }


def _model(way: str, loss: str, answers: Comparisons, penalty: float, iterations: int) -> RelativeKernel:
    n = answers.n_objects
    if way == FIXED:
        return _fixed_step(loss, penalty, n, float(n), iterations, _LEAST_CHANGE / len(answers))
    # convex problems do not depend on the start; CKL begins where everybody else does
    return RelativeKernel(loss, trace_penalty=penalty, init="auto" if find(loss).convex else np.eye(n))


def _fixed_step(
    loss: str, penalty: float, n: int, step: float, iterations: int, tol: float, callback: Any = None
) -> RelativeKernel:
    return RelativeKernel(
        loss,
        trace_penalty=penalty,
        solver=ProximalGradient(step=step),
        init=np.eye(n),
        max_epochs=iterations,
        tol=tol,
        callback=callback,
    )


def _sided(
    loss: str, answers: Comparisons, penalty: float, iterations: int, *, both: bool
) -> tuple[np.ndarray, int]:
    """Projected gradient with entries (i, j) and (i, k) of the gradient, doubled, but not (j, i) and (k, i).

    The symmetric part of that matrix is the gradient, which `both` takes instead; its eigenvectors are other ones. Of
    those with positive eigenvalues the real parts make up the next kernel, though they are not orthogonal. Steps grow
    while the objective falls and are halved where it does not; the kernel of the smallest objective counts.
    """
    n, q, how = answers.n_objects, len(answers), find(loss)
    i, j, k = answers.indices.T.astype(np.int64)
    places = np.concatenate([i * n + i, i * n + j, j * n + j, i * n + k, k * n + k])
    kernel, step, before, idle, best = np.eye(n), float(n), np.inf, 0, (np.inf, np.eye(n))
    for count in range(1, iterations + 1):  # noqa: B007 - returned
        near, far = kernel_distances(kernel, answers.indices)
        value = float(how.value(near, far).mean() + penalty * np.trace(kernel))
        best = min(best, (value, kernel), key=lambda found: found[0])
        idle = 0 if before - value > _LEAST_CHANGE / q else idle + 1
        if idle == _MOST_IDLE:
            break
        by_near, by_far = how.derivatives(near, far)
        entries = np.concatenate([by_near + by_far, -2 * by_near, by_near, -2 * by_far, by_far]) / q
        gradient = np.bincount(places, entries, minlength=n * n).reshape(n, n) + penalty * np.eye(n)
        kernel = _positive(kernel - step * gradient, symmetric=both)
        step *= _SHORTER if idle else _LONGER
        before = value
    return best[1], count


def _positive(matrix: np.ndarray, *, symmetric: bool) -> np.ndarray:
    """The eigenpairs with positive eigenvalues put together again, of the symmetric part or of the matrix as it is."""
    decompose = np.linalg.eigh if symmetric else np.linalg.eig
    values, vectors = decompose((matrix + matrix.T) / 2 if symmetric else matrix)
    kept = vectors.real[:, values.real > 0]
    return (kept * values.real[values.real > 0]) @ kept.T


def walk(
    way: str, loss: str, answers: Comparisons, data: Problem, settings: dict[str, Any]
) -> dict[str, Any]:
    """Errors with weaker and weaker penalties, until two in a row are no better; at first all may be too strong."""
    errors: list[float] = []
    for penalty in settings["penalties"]:
        errors.append(error(batch(way, loss, answers, penalty, settings).kernel, data.test))
        if min(errors) < 0.5 and errors.index(min(errors)) < len(errors) - _PATIENCE:
            break
    return {"penalties": settings["penalties"][: len(errors)], "errors": errors}


def growing(
    way: str, loss: str, data: Problem, penalties: dict[int, float], settings: dict[str, Any]
) -> dict[str, Any]:
    """Fits to the first answers, to more, and to all of them."""
    found: dict[str, list[Any]] = {"errors": [], "penalties": [], "seconds": [], "gradients": [], "ranks": []}
    for size in settings["batch_at"]:
        fit = batch(way, loss, data.train[:size], penalties[size], settings)
        found["errors"].append(error(fit.kernel, data.test))
        found["penalties"].append(penalties[size])
        found["seconds"].append(round(fit.seconds, 3))
        found["gradients"].append(round(fit.gradients, 1))
        found["ranks"].append(int(np.linalg.matrix_rank(fit.kernel, hermitian=True)))
    return found


def few_steps(loss: str, data: Problem, penalty: float, settings: dict[str, Any]) -> dict[str, Any]:
    """The error after a few gradient steps over all answers, for every step size."""
    wanted, errors = settings["gradient_steps"], {}
    for step in settings["step_sizes"]:
        after: dict[int, float] = {}

        def note(progress: Any, after: dict[int, float] = after) -> None:
            if progress.epoch in wanted:
                after[progress.epoch] = error(progress.points @ progress.points.T, data.test)

        n = data.train.n_objects
        _fixed_step(loss, penalty, n, step, max(wanted), 0.0, note).fit(data.train)
        errors[str(step)] = [after.get(count) for count in wanted]
    return {"errors": errors}


# -- names, and what was chosen ----------------------------------------------------------------------------------------


def passes_of(settings: dict[str, Any], between: bool = True) -> list[int]:
    """Steps an answer, in order; those between are measured on some trials only."""
    return sorted(settings["passes"] + settings["passes_between"] * between)


def online_name(name: str, passes: int) -> str:
    """Of an online rival."""
    return f"{name}-ERKLE, {passes} pass{'es' * (passes > 1)}"


def batch_name(way: str, loss: str) -> str:
    """Of a batch rival."""
    return f"{NAMES[loss]}, {way}"


def few_name(loss: str) -> str:
    """Of a batch rival that takes a few steps."""
    return f"{NAMES[loss]}, gradient steps"


def tuning_of(rows: Rows) -> dict[str, Any]:
    """The results of the trial that chooses."""
    found = [row["results"] for row in rows if row["cell"]["part"] == "tuning"]
    if not found:
        raise Skip("the penalties are not chosen yet: run the cell with part=tuning first")
    return found[0]


def penalties(rows: Rows, settings: dict[str, Any]) -> dict[tuple[str, str], dict[int, float]]:
    """For each way and loss the penalty of least error, by the number of answers."""
    tuning = tuning_of(rows)
    best: dict[tuple[str, str], dict[int, float]] = {}
    for way, loss in BATCH:
        walks = {size: tuning[f"{way} {loss} {size}"] for size in settings["batch_at"]}
        best[way, loss] = {
            size: walk["penalties"][int(np.argmin(walk["errors"]))] for size, walk in walks.items()
        }
    return best


def best_factor(rows: Rows, step: str, settings: dict[str, Any]) -> float:
    """The factor of a step rule with the least error in the end."""
    tuning = tuning_of(rows)
    return min(settings["factors"][step], key=lambda factor: tuning[f"{step} {factor}"]["errors"][-1])
