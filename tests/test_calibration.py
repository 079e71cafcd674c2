"""In which order the strengths of the L2 term are tried, with fits whose held-out errors are made up."""

from __future__ import annotations

import numpy as np
import pytest

from nearer.calibration import LONGER, STRENGTHS, StrengthPath
from nearer.losses import SOE
from nearer.solvers import Budget
from nearer.solvers.path import Path


class _MadeUp:
    """Trials whose fits consist of their strength and whether they were long."""

    budget = Budget()

    def __init__(self, short, long):
        self.fits = []
        self._errors = [dict(zip(STRENGTHS, each, strict=True)) for each in (short, long)]

    def fit(self, solver, part, loss, l2, points, **budget):
        self.fits.append((l2, solver is LONGER))
        return np.array([l2, solver is LONGER])

    def error(self, points, held):
        return self._errors[int(points[1])][points[0]]


def _path(short, long):
    """Return a path over one split, with these errors of the strengths after short and after long fits."""
    order = StrengthPath(Path(_MadeUp(short, long), SOE(), [(None, None)]), STRENGTHS)
    order.climb(lambda loss: np.zeros(2))
    order.fit_longer()
    return order.path


# strengths               0.0002  0.0008  0.003   0.0125  0.05    0.1     0.2     0.4
FALLS_DOWNWARDS = np.array([0.160, 0.155, 0.150, 0.160, 0.170, 0.180, 0.190, 0.200])
FALLS_UPWARDS = np.array([0.220, 0.210, 0.200, 0.180, 0.165, 0.155, 0.150, 0.170])


@pytest.mark.parametrize(
    ("short", "long", "best"),
    [
        (FALLS_DOWNWARDS, FALLS_DOWNWARDS, 0.003),
        (FALLS_UPWARDS, FALLS_UPWARDS, 0.2),
        (FALLS_DOWNWARDS, np.linspace(0.1, 0.17, 8), 0.0002),  # long fits do better with less
        (FALLS_DOWNWARDS, FALLS_UPWARDS, 0.2),  # what was best after short fits overfits in long ones
    ],
)
def test_the_strength_is_the_best_of_the_long_fits(short, long, best):
    path = _path(short, long)
    assert path.best == best
    assert path.least_error == dict(zip(STRENGTHS, long, strict=True))[best]


def test_long_fits_are_few():
    """At most one step to either side if short and long fits agree."""
    path = _path(FALLS_DOWNWARDS, FALLS_DOWNWARDS)
    assert [l2 for l2, long in path.trials.fits if long] == [0.003, 0.0008]
