"""When a step cannot have made an eigenvalue negative: certificates that cost no eigenproblem.

The kernel K is positive semidefinite by more than it needs as long as K - diag(slack) is, too. A step subtracts a
small block over three or four objects; if diag(slack) minus that block is still positive semidefinite over those
objects, so is the new kernel, and what is left there is the new slack. Steps over different objects do not add up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer._utils.schema import Array, Fields, Number


@dataclass
class Slack:
    """One number an object: K - diag(values) is positive semidefinite.

    >>> slack = Slack(np.ones(4))
    >>> step = np.array([[0, -0.2, 0.2], [-0.2, 0.1, 0], [0.2, 0, -0.1]])
    >>> slack.covers(np.array([0, 1, 2]), step, 0.3), slack.covers(np.array([0, 1, 3]), 3 * step, 0.9)
    (True, False)
    >>> slack.values
    array([0.7, 0.7, 0.7, 1. ])
    """

    values: np.ndarray
    _schema = Fields(values=Array("n", at_least=0, dtype="float64"))

    def covers(self, rows: np.ndarray, block: np.ndarray, norm: float) -> bool:
        """Whether K minus this block is certainly PSD; if so, what the step used is taken off.

        `norm` is the block's largest eigenvalue.
        """
        mine = self.values[rows]
        if mine.min() >= norm:
            self.values[rows] = mine - norm
            return True
        if not mine.all():  # an object without slack covers nothing but a block that leaves it alone
            return False
        left = float(np.linalg.eigvalsh(np.diag(mine) - block)[0])
        if left < 0:
            return False
        self.values[rows] = left
        return True

    def multiply(self, factor: float) -> None:
        """K -> factor K."""
        self.values *= factor


@dataclass
class WeylBound:
    """The paper's certificate: one number for the whole kernel, which every step lowers by its norm."""

    value: float
    _schema = Fields(value=Number())

    def covers(self, rows: np.ndarray, block: np.ndarray, norm: float) -> bool:
        """Whether K minus the block is certainly PSD; the bound falls by the norm either way."""
        self.value -= norm
        return self.value >= 0

    def found(self, lowest: float) -> None:
        """The kernel's smallest eigenvalue is now known to be at least this."""
        self.value = max(lowest, 0.0)

    def multiply(self, factor: float) -> None:
        """K -> factor K."""
        self.value *= factor
