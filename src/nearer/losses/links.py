"""Losses of a pair that is linked or not: two objects are near each other, or far.

Each object of a pair has a threshold. A margin is by how much the pair is nearer than one of the two thresholds. A link
should lie below both, so the *worse* of its margins counts. A pair without a link is predicted to have none if it lies
above either; the loss asks for both, because the loss of the better margin alone would not be convex.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from nearer._utils.schema import Fields, Part
from nearer.losses.margins import MarginLoss, SmoothHingeLoss


class PairLosses(NamedTuple):
    """Losses of some pairs.

    Attributes
    ----------
    values : array (n,)
        The loss of each.
    by_first, by_second : array (n,)
        Its derivatives by both margins.
    """

    values: np.ndarray
    by_first: np.ndarray
    by_second: np.ndarray


@dataclass(frozen=True)
class LinkLoss:
    """Convex losses of links and of other pairs, for the rule "linked if nearer than both thresholds".

    With h the loss of a margin, a link with the margins a and b has the loss `ln(exp h(a) + exp h(b))`, and any other
    pair has `h(-a) + h(-b)`. Both are convex in a and b together, which is not true of `h(min(a, b))`.

    Parameters
    ----------
    margin : MarginLoss
        h. The margins of links should be 1 or more, those of other pairs -1 or less.

    Examples
    --------
    >>> loss = LinkLoss()
    >>> loss.of_links(np.array([3.0]), np.array([0.0])).values.round(4)
    array([1.3133])
    >>> loss.of_others(np.array([-3.0]), np.array([0.0])).values
    array([1.])
    """

    margin: MarginLoss = field(default_factory=SmoothHingeLoss)
    name = "links"
    _schema = Fields(margin=Part(MarginLoss))

    @property
    def smooth(self) -> bool:
        """Return whether the loss has a continuous derivative."""
        return bool(np.isfinite(self.margin.curvature))

    def of_links(self, first: np.ndarray, second: np.ndarray) -> PairLosses:
        """Return the losses of links from the margins of their first and of their second object."""
        one, other = self.margin.value(first), self.margin.value(second)
        share = expit(one - other)
        values = np.logaddexp(one, other)
        return PairLosses(values, share * self.margin.slope(first), (1 - share) * self.margin.slope(second))

    def of_others(self, first: np.ndarray, second: np.ndarray) -> PairLosses:
        """Return the losses of pairs without a link."""
        values = self.margin.value(-first) + self.margin.value(-second)
        return PairLosses(values, -self.margin.slope(-first), -self.margin.slope(-second))
