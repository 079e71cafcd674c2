"""The minimum over all pairs as a solver among others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nearer._utils.schema import Settings
from nearer._utils.validation import positive, whole
from nearer.objectives.all_pairs import AllPairs
from nearer.pairwise.exact import ExactProgress, ExactSolution, solve_exact
from nearer.pairwise.state import Callback, Limits, PairProgress, State

#: what a fit's `stop_reason` says for what `solve_exact` says, where the words differ
_REASONS = {"iterations": "epochs"}


@dataclass(frozen=True)
class Exact:
    """Newton's method on the mean over all pairs, with a proof of how close the minimum is; see `solve_exact`.

    For linear scores of two classes or grades, up to about 10^5 rows (10^8 pairs with the logistic loss).

    Parameters
    ----------
    tol : float
        Ends when the proved gap is at most `tol` times the objective.
    max_iterations : int
        Of Newton's method.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), np.arange(200) % 2
    >>> state = Exact(tol=1e-4).minimise(AllPairs(X, y, "hinge", l2=0.01))
    >>> state.stop_reason, bool(state.numbers["gap"] <= 1e-4 * state.history["loss"][-1])
    ('tolerance', True)
    """

    tol: float = 1e-6
    max_iterations: int = 200
    name: ClassVar[str] = "exact"
    _schema = Settings()

    def __post_init__(self) -> None:
        positive("tol", self.tol)
        whole("max_iterations", self.max_iterations)

    def minimise(
        self, objective: AllPairs, limits: Limits | None = None, callback: Callback | None = None
    ) -> State:
        """Weights at the minimum; `numbers` has the proved gap, and the history's "loss" is the whole objective."""
        solution = solve_exact(
            objective,
            tol=self.tol,
            max_iterations=self.max_iterations,
            max_seconds=None if limits is None else limits.seconds,
            callback=None if callback is None else lambda progress: bool(callback(_as_others(progress))),
        )
        return _state(solution, objective)


def _as_others(progress: ExactProgress) -> PairProgress:
    """What a callback of the other solvers would see."""
    state = State(progress.w, stage=progress.iteration, seconds=progress.seconds)
    return PairProgress(state, progress.value, lambda: progress.w)


def _state(solution: ExactSolution, objective: AllPairs) -> State:
    state = State(solution.w, positives=objective.n_samples, stage=solution.iterations)
    state.seconds = solution.seconds
    state.stop_reason = _REASONS.get(solution.stop_reason, solution.stop_reason)
    history = solution.history
    state.history = {
        "stage": history["iteration"].astype(float),
        "steps": np.zeros(len(history["iteration"])),
        "seconds": history["seconds"],
        "loss": history["objective"],
        "step": np.ones(len(history["iteration"])),
    }
    state.numbers = {"gap": solution.gap, "products": float(solution.products)}
    return state
