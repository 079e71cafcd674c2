"""Choosing the loss and the strength of the L2 term on a part of the training comparisons.

The right strength depends on the noise, which nobody knows beforehand: from 0.001 for answers without error to 0.2 for
opinions. So a few are tried on comparisons held out of the training ones, each fit warm from its neighbour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.losses import Loss
from nearer.metrics import triplet_error
from nearer.objectives import PointObjective
from nearer.solvers import Adam, Budget, minimise
from nearer.solvers.monitor import Callback
from nearer.starts import brought_back

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons

#: strengths tried, from the middle outwards
STRENGTHS = (0.0008, 0.003, 0.0125, 0.05, 0.2, 0.4)
_FIRST = 3
#: where there is too little to hold out
DEFAULT_STRENGTH = STRENGTHS[_FIRST]
FROM_SCRATCH = Adam(epochs=20)
FROM_NEIGHBOUR = Adam(epochs=6, step=0.1)

_HELD_OUT = 0.1
_ENOUGH_HELD_OUT = 2000  # comparisons; fewer, and several splits are averaged
_MOST_SPLITS = 5
_LEAST_COMPARISONS = 50
_WORTH_A_CHANGE = (
    0.025  # share by which the held-out error must fall to leave a strength or a loss for another
)


class Stopped(Exception):  # noqa: N818 - a user's wish, not an error
    """The user, the clock or a callback ended the trials."""

    def __init__(
        self, reason: str, loss: Loss, l2: float, points: np.ndarray, seconds: float, evaluations: int
    ):
        super().__init__(reason)
        self.reason, self.loss, self.l2, self.points = reason, loss, l2, points
        self.seconds, self.evaluations = seconds, evaluations


@dataclass(frozen=True)
class Choice:
    """What was chosen, points to go on from, and what it cost."""

    loss: Loss
    l2: float
    points: np.ndarray
    errors: dict[str, dict[float, float]]
    seconds: float
    evaluations: int


@dataclass
class Trials:
    """Fits on parts of the comparisons, scored on the rest; the budget runs over all of them."""

    comparisons: Comparisons
    n_components: int
    start: Callable[[Loss], np.ndarray]
    rng: np.random.Generator
    dtype: Any = np.float64
    n_jobs: int = 1
    budget: Budget = field(default_factory=Budget)
    callback: Callback | None = None
    seconds: float = 0.0
    evaluations: int = 0
    _latest: tuple[Loss, float, np.ndarray] = field(init=False)

    def choose(self, losses: list[Loss], strengths: tuple[float, ...]) -> Choice:
        """The loss and strength with the least held-out error; the first loss unless another is clearly better.

        Ctrl-C raises `Stopped` with what the latest fit found.
        """
        l2 = strengths[0] if len(strengths) == 1 else DEFAULT_STRENGTH
        self._latest = losses[0], l2, self.start(losses[0])
        try:
            return self._choose(losses, strengths)
        except KeyboardInterrupt:
            raise Stopped("interrupted", *self._latest, self.seconds, self.evaluations) from None

    def _choose(self, losses: list[Loss], strengths: tuple[float, ...]) -> Choice:
        if len(self.comparisons) < _LEAST_COMPARISONS:
            return Choice(*self._latest, {}, 0.0, 0)
        splits = self._splits()
        best: tuple[float, Loss, float, np.ndarray] | None = None
        errors: dict[str, dict[float, float]] = {}
        for loss in losses:
            path = _Path(self, splits, loss)
            error, l2, points = path.climb(strengths)
            errors[loss.name] = {strength: path.error(strength) for strength in sorted(path.fits)}
            if best is None or error < (1 - _WORTH_A_CHANGE) * best[0]:
                best = (error, loss, l2, points)
        assert best is not None
        return Choice(best[1], best[2], best[3], errors, self.seconds, self.evaluations)

    def objective(self, part: Comparisons, loss: Loss, l2: float) -> PointObjective:
        """The objective of a trial."""
        return PointObjective(part, loss, self.n_components, l2=l2, dtype=self.dtype, n_jobs=self.n_jobs)

    def fit(self, part: Comparisons, loss: Loss, l2: float, points: np.ndarray, solver: Adam) -> np.ndarray:
        """One short fit within what is left of the budget."""
        objective = PointObjective(part, loss, self.n_components, l2=l2, dtype=self.dtype, n_jobs=self.n_jobs)
        start = brought_back(objective, points)
        budget = replace(self.budget, max_epochs=None).less(self.seconds, self.evaluations)
        points, result = minimise(
            solver, objective, start, budget=budget, callback=self.callback, rng=self.rng
        )
        self.seconds += result.seconds
        self.evaluations += result.n_evaluations
        self._latest = loss, l2, points
        if result.stop_reason in ("interrupted", "callback", "seconds", "evaluations"):
            raise Stopped(result.stop_reason, *self._latest, self.seconds, self.evaluations)
        return points

    def _splits(self) -> list[tuple[Comparisons, Comparisons]]:
        n_splits = -(-_ENOUGH_HELD_OUT // int(_HELD_OUT * len(self.comparisons) + 1))
        return [
            self.comparisons.split(test_size=_HELD_OUT, random_state=self.rng)
            for _ in range(min(n_splits, _MOST_SPLITS))
        ]


class _Path:
    """Fits of one loss along the strengths, each from its neighbour's points, on every split."""

    def __init__(self, trials: Trials, splits: list[tuple[Comparisons, Comparisons]], loss: Loss):
        self.trials, self.splits, self.loss = trials, splits, loss
        self.fits: dict[float, list[np.ndarray]] = {}
        self._errors: dict[float, float] = {}

    def climb(self, strengths: tuple[float, ...]) -> tuple[float, float, np.ndarray]:
        """Walk from the middle while the held-out error falls: downwards, else upwards."""
        first = min(_FIRST, len(strengths) - 1)
        self._from_scratch(strengths[first])
        best = first
        for direction in (-1, 1):
            at = best
            while 0 <= at + direction < len(strengths):
                self._from_neighbour(strengths[at + direction], strengths[at])
                if self.error(strengths[at + direction]) >= (1 - _WORTH_A_CHANGE) * self.error(
                    strengths[best]
                ):
                    break
                at = best = at + direction
            if best != first:
                break
        return self.error(strengths[best]), strengths[best], self._best_points(strengths[best])

    def error(self, l2: float) -> float:
        """Mean held-out error over the splits."""
        if l2 not in self._errors:
            pairs = zip(self.fits[l2], self.splits, strict=True)
            self._errors[l2] = float(np.mean([triplet_error(x, held) for x, (_, held) in pairs]))
        return self._errors[l2]

    def _best_points(self, l2: float) -> np.ndarray:
        """Of the splits' fits, the one that suits all comparisons best: a split may end in a local minimum."""
        trials = self.trials
        objective = trials.objective(trials.comparisons, self.loss, l2)
        return min(self.fits[l2], key=objective.value)

    def _from_scratch(self, l2: float) -> None:
        start = self.trials.start(self.loss)
        self.fits[l2] = [self.trials.fit(part, self.loss, l2, start, FROM_SCRATCH) for part, _ in self.splits]

    def _from_neighbour(self, l2: float, neighbour: float) -> None:
        self.fits[l2] = [
            self.trials.fit(part, self.loss, l2, points, FROM_NEIGHBOUR)
            for points, (part, _) in zip(self.fits[neighbour], self.splits, strict=True)
        ]
