"""Weights during optimisation, their lazy average, and the rule of the steps."""

from __future__ import annotations

import numpy as np

from nearer._compiled.pairwise_reference import COUNT, MASS, MU, SCALE, TOTAL, A, T, step_curvature
from nearer.losses.margins import MarginLoss

#: the t-th iterate weighs t**3 in the average: half of the weight is on the last sixth of them
POWER_OF_AVERAGE = 3.0
#: numbers that a block of steps touches: less than a millisecond's work, the longest a limit or a callback waits
_BLOCK = 2**18
_MOST_STEPS = 4096


class LinearWeights:
    """Weights w = scale * v and the lazy average of their iterates; see `nearer._compiled.pairwise`.

    The loops over sparse rows hold the same numbers in a table, one row per feature; `sync` copies them back.
    """

    def __init__(self, v: np.ndarray, lag: np.ndarray, held: np.ndarray, answer: np.ndarray):
        self.v, self.lag, self.held = v, lag, held
        self._answer = answer
        self._table: np.ndarray | None = None

    @classmethod
    def resumed(cls, arrays: dict[str, np.ndarray], w: np.ndarray) -> LinearWeights:
        """Return those that `stored` returned; new ones, at w, if there are none."""
        if "v" in arrays:
            return cls(arrays["v"], arrays["lag"], arrays["held"], w)
        return cls(w.copy(), np.zeros_like(w), np.array([1.0, 0.0, 0.0, 0.0]), w)

    def in_table(self) -> None:
        """Store the numbers in the layout of the loops over sparse rows."""
        self._table = np.zeros((len(self.v), 3))
        self.replaced()

    def stored(self) -> dict[str, np.ndarray]:
        """Return the arrays to continue with."""
        self.sync()
        return {"v": self.v, "lag": self.lag, "held": self.held}

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return what the loops change: v, lag and held, or the table and held."""
        return (self.v, self.lag, self.held) if self._table is None else (self._table, self.held)

    def sync(self) -> None:
        """Copy what loops over sparse rows have changed."""
        if self._table is not None:
            self.v[:], self.lag[:] = self._table[:, 0], self._table[:, 1]

    def replaced(self) -> None:
        """Update the table after v and lag were changed elsewhere."""
        if self._table is not None:
            self._table[:, 0], self._table[:, 1] = self.v, self.lag

    def last(self) -> np.ndarray:
        """Return the latest iterate."""
        self.sync()
        return self.held[SCALE] * self.v

    def average(self) -> np.ndarray:
        """Return the average since it began; before its first iterate, the answer so far."""
        if self.held[COUNT] == 0:
            return self._answer.copy()
        self.sync()
        return (self.held[MASS] * self.v - self.lag) / self.held[TOTAL]

    def restart_average(self) -> None:
        """Restart the average; the old one stays the answer until there is a new one."""
        self._answer = self.average()
        self.sync()
        self.lag[:] = 0.0
        self.held[MASS] = self.held[TOTAL] = self.held[COUNT] = 0.0
        self.replaced()


def block_length(entries: float) -> int:
    """Return how many steps a block has, if each touches `entries` numbers.

    >>> block_length(10), block_length(2**18), block_length(1e9)
    (4096, 1, 1)
    """
    return int(min(max(_BLOCK // max(entries, 1), 1), _MOST_STEPS))


def rule_of(floor: float, mu: float, power: float = POWER_OF_AVERAGE, proximal: bool = True) -> np.ndarray:
    """Return the numbers that the loops take: steps of length 1 / (floor + mu t), t = 1, 2, ..."""
    return np.array([floor, mu, 0.0, power, float(proximal)])


def length_of(rule: np.ndarray) -> float:
    """Return the length of the next step."""
    return float(1 / (rule[A] + rule[MU] * (rule[T] + 1)))


def add_distances(numbers: dict[str, float], mean: float, count: int) -> None:
    """Add the mean squared distance of `count` pairs to the running mean."""
    numbers["distance"] = numbers.get("distance", 0.0) + mean * count
    numbers["distances"] = numbers.get("distances", 0.0) + count


def floor_of(numbers: dict[str, float], loss: MarginLoss, factor: float) -> float:
    """Return the floor of the steps: `factor` * mean squared distance of a pair * largest curvature of the loss."""
    spread = numbers.get("distance", 0.0) / max(numbers.get("distances", 0.0), 1)
    # equal rows have no gradient, whatever the step
    return factor * step_curvature(loss) * spread if spread > 0 else 1.0
