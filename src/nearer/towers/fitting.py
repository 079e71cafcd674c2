"""One fit of two towers: the solver behind "auto", the run, and checkpoints."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from nearer._fitting import no_run
from nearer._utils.group import ALONE, Group, checked_same, ending_in_words
from nearer._utils.namespaces import rounded_products
from nearer.errors import InputError, LostProcessError, Suggestion
from nearer.losses.margins import SquareLoss
from nearer.objectives.least_squares import LinearPathObjective
from nearer.objectives.towers import TowerObjective
from nearer.solvers import (
    AlternatingLeastSquares,
    EigenAdam,
    FullAdam,
    NoisyAdam,
    NoisyEigenAdam,
    Result,
    Run,
    Solver,
    find,
    minimise,
)
from nearer.towers.assembly import Architecture, Side, TowerTerms, objective_and_start
from nearer.towers.checkpoints import Checkpoint, digest_of
from nearer.towers.memory import out_of_memory_in_words
from nearer.towers.starts import can_start, least_squares_start

#: embeddings of both sides and all parameters
Found = tuple[np.ndarray, np.ndarray, np.ndarray]
#: products in a pass from which several threads gain
_WORTH_THREADS = 30_000_000
#: length at which alternating least squares begins, as a share of that of other solvers; vectors then have the length
#: of iALS's. From short vectors the directions that explain most grow first, and a fit of few epochs ranks better
_SHORT = 0.2
_EPOCHS = 150


@dataclass(frozen=True)
class TowerSettings(TowerTerms):
    """What a user set, checked."""

    architecture: Architecture
    solver: str | Solver


@dataclass(frozen=True)
class Data:
    """NamedPairs to train on, both sides, and a function from embeddings to a score on held-out pairs."""

    pairs: sparse.csr_matrix
    sides: tuple[Side, Side]
    score: Callable[[np.ndarray, np.ndarray], float] | None = None


def automatic_solver(
    solver: str | Solver, *, linear: bool, path: bool, least_squares: bool, noisy: bool
) -> Solver:
    """Return the solver that a user means.

    "auto" is alternating least squares for linear towers of ids with the square loss, and else Adam, with new noise in
    each step for histories. Networks need shorter steps than linear towers; without a linear path, which starts at a
    least squares solution, they need the eigenvectors of gradients.
    """
    if solver == "adam":
        solver = "full-adam"
    if solver != "auto":
        return find(solver, LinearPathObjective)
    if least_squares:
        return find("als")
    if not path:
        along = NoisyEigenAdam if noisy else EigenAdam
        return along(step=0.02, final_step=2e-4, epochs=_EPOCHS)
    step = 0.01 if linear else 0.003
    kind = NoisyAdam if noisy else FullAdam
    return kind(step=step, final_step=step / 100, epochs=_EPOCHS, beta2=0.99)


def fit_towers(
    data: Data,
    settings: TowerSettings,
    run: Run,
    rng: np.random.Generator,
    checkpoint: str | os.PathLike[str] | None,
    group: Group = ALONE,
    tell: Callable[[str], None] | None = None,
) -> tuple[Found, Result]:
    """Return what a fit found, and its result; in several processes, all of them return the same.

    `tell` gets a sentence for the user about the memory of a GPU.
    """
    try:
        with ending_in_words(group), rounded_products(settings.tf32):
            return _fit_together(data, settings, run, rng, checkpoint, group, tell)
    except LostProcessError as error:
        remedy = [
            *error.remedy,
            Suggestion("checkpoint", "fit.npz", "next time, so that the fit can continue"),
        ]
        if checkpoint is not None:
            remedy = [*error.remedy, f"start the same fit again: it continues from {os.fspath(checkpoint)}"]
        raise error.but(remedy=remedy) from error


def _fit_together(
    data: Data,
    settings: TowerSettings,
    run: Run,
    rng: np.random.Generator,
    checkpoint: str | os.PathLike[str] | None,
    group: Group,
    tell: Callable[[str], None] | None,
) -> tuple[Found, Result]:
    digest = digest_of(settings, data) if checkpoint is not None or not group.alone else ""
    # a budget sets the steps of Adam, and a checkpoint what processes send to each other
    asked = replace(run.budget, max_seconds=None), checkpoint is not None
    checked_same(group, "data or settings", (digest, asked))
    settings = replace(settings, device=group.device(settings.device))
    objective, start = assembled(data, settings, rng, group)
    if tell is not None and str(objective.memory):
        tell(f"the fit {objective.memory}")
    solver = solver_for(settings, objective, data.sides)
    if (
        solver.default_epochs is not None
        and isinstance(solver, FullAdam)
        and run.budget.max_epochs is not None
    ):
        solver = replace(solver, epochs=run.budget.max_epochs)  # the schedule ends with the budget
    if isinstance(solver, AlternatingLeastSquares):
        start = _SHORT * start
    kept = None if checkpoint is None else Checkpoint(checkpoint, digest, objective.spread)
    x, state = (start, None) if kept is None else kept.found(start)
    with torch_threads(objective), out_of_memory_in_words(objective.memory):
        score, stopped = _score(objective, data), None
        if (
            state is None
            and settings.solver == "auto"
            and isinstance(solver, FullAdam)
            and can_start(objective)
        ):
            run.enter("starting")
            x, stopped = least_squares_start(objective, x, data, settings, run, rng)
        run.enter("fitting")
        if kept is not None:
            run.watch(kept.write)
        if stopped:
            result = no_run(run, objective, x, stopped)
        else:
            x, result = minimise(
                solver, objective, x, budget=run.budget, rng=rng, run=run, score=score, state=state
            )
        objective.refresh(None)
        P, Q = objective.embeddings(x)
        x = objective.spread.whole(x)
    if kept is not None and result.stop_reason not in ("interrupted", "callback"):
        kept.remove()
    details = {
        **result.details,
        "solver": repr(solver),
        "inputs": ["+".join(side.kinds) for side in data.sides],
    }
    if str(objective.memory):
        details["memory"] = str(objective.memory)
    if not group.alone:
        details |= {"processes": group.size, "bytes_sent": group.sent}
    result = replace(result, details=details, state=objective.spread.whole_state(result.state))
    return (P.cpu().numpy(), Q.cpu().numpy(), x.cpu().numpy()), result


def assembled(
    data: Data, settings: TowerSettings, rng: np.random.Generator, group: Group = ALONE
) -> tuple[TowerObjective, Tensor]:
    """Return the objective of a fit and its first parameters."""
    try:
        torch.empty(0, device=settings.device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"is {settings.device!r}, but torch cannot compute there: choose 'cpu'", parameter="device"
        ) from error
    return objective_and_start(settings.architecture, data.pairs, data.sides, settings, rng, group)


@contextmanager
def torch_threads(objective: TowerObjective) -> Iterator[None]:
    """Run small problems on one thread: waiting for each other takes threads longer than the work itself.

    Beside other busy processes, a fit of 200 rows took a hundred times as long on two threads as on one.
    """
    before = torch.get_num_threads()
    towers = (objective.left, objective.right)
    layers = sum(tower.n_rows * tower.n_network_parameters for tower in towers)
    if objective.n_terms * objective.n_components + layers < _WORTH_THREADS:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def solver_for(settings: TowerSettings, objective: TowerObjective, sides: tuple[Side, Side]) -> Solver:
    """Return the solver of a fit."""
    noisy = settings.dropout > 0 and any("history" in side.kinds for side in sides)
    towers = (objective.left, objective.right)
    linear = all(tower.network is None for tower in towers)
    path = all(tower.linear > 0 for tower in towers)
    least_squares = (
        linear and isinstance(objective, LinearPathObjective) and isinstance(settings.loss, SquareLoss)
    )
    return automatic_solver(
        settings.solver, linear=linear, path=path, least_squares=least_squares, noisy=noisy
    )


def _score(objective: TowerObjective, data: Data) -> Callable[[Tensor], float] | None:
    """Return a function from parameters to the score on held-out pairs, without noise."""
    score = data.score
    if score is None:
        return None

    def of(x: Tensor) -> float:
        objective.refresh(None)
        P, Q = objective.embeddings(x)
        group = objective.group
        return group.same_as_first(score(P.cpu().numpy(), Q.cpu().numpy()) if group.is_first else None)

    return of
