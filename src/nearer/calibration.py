"""Choose the loss and the strength of the L2 term on held-out training comparisons.

The right strength depends on the noise, which is unknown beforehand: from 0.001 for answers without error to 0.2 for
opinions. So a few strengths are tried, each fit starting warm from its neighbour.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nearer._fitting import Fit
from nearer.losses import Loss
from nearer.metrics import triplet_error
from nearer.solvers import LBFGS, Adam, Solver
from nearer.solvers.path import LEAST_COMPARISONS, Choice, Path, StopRule, Trials
from nearer.starts import brought_back

#: strengths tried, from the middle outwards
STRENGTHS = (0.0002, 0.0008, 0.003, 0.0125, 0.05, 0.1, 0.2, 0.4)
_FIRST = 4
#: used if there are too few comparisons to hold some out
DEFAULT_STRENGTH = STRENGTHS[_FIRST]
FROM_SCRATCH = Adam(epochs=20)
FROM_NEIGHBOUR = Adam(epochs=6, step=0.1)
#: for the losses that short fits leave in doubt: some gain more than others from a longer fit
LONGER = LBFGS()
_LONGER_EPOCHS = 100
#: share of the tolerance for these fits, and for the last one after a choice among losses
CLOSER = 0.01

_HELD_OUT = 0.1
_ENOUGH_HELD_OUT = 4000  # comparisons; with fewer, several splits are averaged
_MOST_SPLITS = 5
#: share by which the held-out error must fall to change the strength or the loss
_WORTH_A_CHANGE = 0.01
#: share by which the error may rise on the way to another strength: the held-out part is small
_PATIENCE = 0.02
#: losses within this share of the lowest error are fitted for longer
_IN_DOUBT = 0.2


def choose(
    course: Fit, start: Callable[[Loss], np.ndarray], losses: list[Loss], strengths: tuple[float, ...]
) -> Choice:
    """Return the loss and strength with the lowest held-out error; the first loss unless another is clearly better.

    `start` returns the points from which to fit a loss. If the trials are ended early, by ctrl-C, a callback or a
    spent budget, this is the best so far.
    """
    comparisons = course.comparisons
    first = Choice(losses[0], strengths[0] if len(strengths) == 1 else DEFAULT_STRENGTH, start(losses[0]))
    one_trial = comparisons.groups is not None and len(np.unique(comparisons.groups)) < 2
    if len(comparisons) < LEAST_COMPARISONS or one_trial:
        return first
    trials = Trials(
        course.run,
        course.rng,
        lambda part, loss, l2: course.objective(loss, l2, part),
        lambda points, held: triplet_error(points, held),
        brought_back,
        max_epochs=None,
    )

    def work() -> None:
        n_splits = min(-(-_ENOUGH_HELD_OUT // int(_HELD_OUT * len(comparisons) + 1)), _MOST_SPLITS)
        splits = [comparisons.split(test_size=_HELD_OUT, random_state=course.rng) for _ in range(n_splits)]
        course.run.enter(_stage(losses, strengths), 2 * len(losses) * len(splits) * len(strengths))
        paths = [StrengthPath(trials.path(loss, splits), strengths) for loss in losses]
        for path in paths:
            path.climb(start)
        errors = [path.path.least_error for path in paths]
        for path, error in zip(paths, errors, strict=True):
            if error <= (1 + _IN_DOUBT) * min(errors):  # short fits cannot decide
                path.fit_longer()

    return trials.choose(first, work, comparisons, _WORTH_A_CHANGE)


def _stage(losses: list[Loss], strengths: tuple[float, ...]) -> str:
    choices = [name for name, several in (("loss", len(losses) > 1), ("l2", len(strengths) > 1)) if several]
    return f"choosing {' and '.join(choices)}"


class StrengthPath:
    """The order in which the strengths of one loss are tried: short fits from the middle, then longer ones."""

    def __init__(self, path: Path, strengths: tuple[float, ...]):
        self.path, self.strengths = path, strengths

    def climb(self, start: Callable[[Loss], np.ndarray]) -> None:
        """Fit from the middle strength while the held-out error falls: to weaker ones, else to stronger ones."""
        first = self.strengths[min(_FIRST, len(self.strengths) - 1)]
        self.path.fit(first, [start(self.path.loss)] * len(self.path.splits), FROM_SCRATCH)
        self._walk(first, (-1, 1), FROM_NEIGHBOUR)

    def fit_longer(self) -> None:
        """Fit for longer from the best strength: weaker ones, or stronger ones if the longer fit did harm.

        Early stopping regularises too: a strength that suits a short fit may be too weak for a long one.
        """
        path, longer = self.path, {"max_epochs": _LONGER_EPOCHS, "tol": CLOSER * self.path.trials.budget.tol}
        assert path.best is not None
        first, short = path.best, path.least_error
        path.fit(first, path.fits[first], LONGER, **longer)
        harmed = path.least_error > (1 + _WORTH_A_CHANGE) * short
        self._walk(first, (1,) if harmed else (-1,), LONGER, **longer)

    def _walk(self, first: float, directions: tuple[int, ...], solver: Solver, **budget: Any) -> None:
        """Continue from a fitted strength in the first direction in which the held-out error falls."""
        path, at = self.path, self.strengths.index(first)
        path.best = first
        for direction in directions:
            onwards = self.strengths[at + 1 :] if direction > 0 else self.strengths[:at][::-1]
            path.walk(onwards, path.fits[first], solver, StopRule(_WORTH_A_CHANGE, _PATIENCE), **budget)
            if path.best != first:
                break
