"""The loops of pairwise learning in plain numpy: the reference for the tests, and the way a user's own loss runs.

Same conventions and the same numbers (to rounding) as the compiled loops, with the loss as an object. The weights
are shrunk at every step, and every iterate is added to the average at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nearer._compiled.draws_reference import draw
from nearer.losses.margins import (
    HingeLoss,
    LogisticLoss,
    MarginLoss,
    SmoothHingeLoss,
    SquaredHingeLoss,
    SquareLoss,
)

#: the order of rows: two decks in order; two lists of rows in order; rows drawn from two lists
DECKS, LISTED, DRAWN = 0, 1, 2
#: entries of `rule`: the smallest inverse step, the strength of the L2 term, steps of this stage so far, power of the
#: average (below 0: no average), and whether steps are proximal
A, MU, T, POWER, PROXIMAL = range(5)
#: entries of `held`: w = scale * v; the average's mass and total weight, and the number of iterates in it
SCALE, MASS, TOTAL, COUNT = range(4)
#: place of alpha after a and b in the three numbers of a saddle point
ALPHA = 2

Matrix = tuple[np.ndarray, ...]


def descent(loss: MarginLoss, margin: float, reach: float) -> float:
    """Return minus the slope that a pair has after a step which raises its margin by `reach` times that.

    >>> descent(SquareLoss(), 0.0, 0.0), descent(SquareLoss(), 0.0, 0.5)
    (2.0, 1.0)
    """
    now = -float(loss.slope(np.array([margin]))[0])
    if reach == 0 or now == 0:
        return now
    if isinstance(loss, HingeLoss):
        return min(now, (1 - margin) / reach)
    if isinstance(loss, SmoothHingeLoss):
        return min((1 - margin + loss.width / 2) / (loss.width + reach), 1.0)
    if isinstance(loss, SquareLoss | SquaredHingeLoss):
        return now / (1 + 2 * reach)
    if isinstance(loss, LogisticLoss):
        size = abs(margin)
        curvature = np.tanh(size / 2) / (2 * size) if size > 1e-3 else 0.25
        return now / (1 + reach * curvature)
    return now / (1 + reach * step_curvature(loss))


def step_curvature(loss: MarginLoss) -> float:
    """Return the curvature that sets the length of steps: the largest second derivative; 1 if the loss has a kink.

    >>> step_curvature(SquareLoss()), step_curvature(HingeLoss())
    (2.0, 1.0)
    """
    return float(loss.curvature) if np.isfinite(loss.curvature) else 1.0


def next_length(rule: np.ndarray) -> float:
    """Count a step; return its length."""
    rule[T] += 1
    return 1 / (rule[A] + rule[MU] * rule[T])


def _row(matrix: Matrix, place: int, d: int) -> np.ndarray:
    """Return one row in full, of a dense matrix or of the three arrays of a sparse one."""
    if len(matrix) == 1:
        return matrix[0][place].astype(np.float64)
    indptr, indices, data = matrix
    row = np.zeros(d)
    inside = slice(indptr[place], indptr[place + 1])
    np.add.at(row, indices[inside], data[inside])
    return row


def _length(matrix: Matrix) -> int:
    return len(matrix[0]) if len(matrix) == 1 else len(matrix[0]) - 1


def _chooser(walk: int, cursors: np.ndarray, seed: int) -> Callable[[np.ndarray, int], int]:
    def choose(rows: np.ndarray, side: int) -> int:
        if walk == DECKS:
            return int(cursors[side])
        return int(rows[cursors[side] if walk == LISTED else draw(seed, int(cursors[2]), side, len(rows))])

    return choose


class Eager:
    """Weights and the weighted sum of iterates without laziness, made from lazy ones and stored into them."""

    def __init__(self, v: np.ndarray, lag: np.ndarray, held: np.ndarray):
        self.w = held[SCALE] * v
        self._sum = held[MASS] * v - lag
        self._into = v, lag, held

    def count(self, power: float) -> None:
        """Add the current weights to the average; below power 0 there is none."""
        if power < 0:
            return
        held = self._into[2]
        held[COUNT] += 1
        held[TOTAL] = held[TOTAL] * (held[COUNT] + power) / (held[COUNT] - 1) if held[COUNT] > 1 else 1.0
        self._sum += held[TOTAL] * (power + 1) / (held[COUNT] + power) * self.w

    def store(self) -> None:
        """Write to the arrays it was made from."""
        v, lag, held = self._into
        v[:], lag[:] = self.w, -self._sum
        held[SCALE], held[MASS] = 1.0, 0.0


def pair_steps(
    first: Matrix,
    second: Matrix,
    rows: np.ndarray,
    others: np.ndarray,
    walk: int,
    cursors: np.ndarray,
    seed: int,
    count: int,
    loss: MarginLoss,
    rule: np.ndarray,
    v: np.ndarray,
    lag: np.ndarray,
    held: np.ndarray,
) -> float:
    """Do the same as `dense_steps` and `sparse_steps`; the matrices are tuples of one or three arrays."""
    choose = _chooser(walk, cursors, seed)
    sizes = (_length(first), _length(second)) if walk == DECKS else (len(rows), len(others))
    eager = Eager(v, lag, held)
    total = 0.0
    for _ in range(count):
        difference = _row(first, choose(rows, 0), len(v)) - _row(second, choose(others, 1), len(v))
        margin = float(eager.w @ difference)
        length = next_length(rule)
        total += float(loss.value(np.array([margin]))[0])
        reach = length * float(difference @ difference) * rule[PROXIMAL]
        eager.w *= 1 - length * rule[MU]
        eager.w += length * descent(loss, margin, reach) * difference
        eager.count(rule[POWER])
        for side in (0, 1):
            cursors[side] = (cursors[side] + 1) % sizes[side]
        cursors[2] += 1
    eager.store()
    return total


def buffer_steps(
    matrix: Matrix,
    order: np.ndarray,
    sides: np.ndarray,
    buffers: np.ndarray,
    seen: np.ndarray,
    n_pairs: int,
    seed: int,
    loss: MarginLoss,
    rule: np.ndarray,
    v: np.ndarray,
    lag: np.ndarray,
    held: np.ndarray,
) -> tuple[float, int]:
    """Do the same as `dense_buffer_steps` and `sparse_buffer_steps` of `pairwise_buffer.py`."""
    eager = Eager(v, lag, held)
    total, made, size = 0.0, 0, buffers.shape[1]
    for row, side in zip(order, sides, strict=True):
        number, filled = int(seen.sum()), int(min(seen[1 - side], size))
        if filled > 0:
            places = (draw(seed, number, 0, filled) + np.arange(min(n_pairs, filled))) % filled
            others = np.stack([_row(matrix, j, len(v)) for j in buffers[1 - side, places]])
            differences = (1 - 2 * side) * (_row(matrix, row, len(v)) - others)
            margins = differences @ eager.w
            length = next_length(rule)
            squared = float((differences**2).sum(axis=1).mean())
            damped = length / (1 + length * step_curvature(loss) * squared * rule[PROXIMAL])
            eager.w *= 1 - length * rule[MU]
            eager.w -= damped * (loss.slope(margins) @ differences) / len(places)
            eager.count(rule[POWER])
            total, made = total + float(loss.value(margins).mean()), made + 1
        seen[side] += 1
        slot = seen[side] - 1 if seen[side] <= size else draw(seed, number, 1, int(seen[side]))
        if slot < size:
            buffers[side, slot] = row
    eager.store()
    return total, made


def saddle_steps(
    matrix: Matrix,
    order: np.ndarray,
    sides: np.ndarray,
    shares: np.ndarray,
    numbers: np.ndarray,
    unit: float,
    rule: np.ndarray,
    v: np.ndarray,
    lag: np.ndarray,
    held: np.ndarray,
) -> float:
    """Do the same as `dense_saddle_steps` and `sparse_saddle_steps` of `pairwise_saddle.py`."""
    eager = Eager(v, lag, held)
    total = 0.0
    for place, side in zip(order, sides, strict=True):
        x, weight, sign = _row(matrix, place, len(v)), 1 / shares[side], 1 - 2 * side
        score, own, alpha = float(eager.w @ x), float(numbers[side]), float(numbers[ALPHA])
        length = next_length(rule)
        total += weight * ((score - own) ** 2 - 2 * sign * (1 + alpha) * score) - alpha**2 + 1
        slope = 2 * weight * (score - own - sign * (1 + alpha)) / (1 + 2 * weight * length * float(x @ x))
        apart = float(numbers[1] - numbers[0]) - sign * weight * (score - own)
        numbers[side] += 2 * length * unit * weight * (score - own) / (1 + 2 * length * unit * weight)
        numbers[ALPHA] = (alpha + 2 * length * unit * apart) / (1 + 2 * length * unit)
        eager.w *= 1 - length * rule[MU]
        eager.w -= length * slope * x
        eager.count(rule[POWER])
    eager.store()
    return total


def moment_steps(
    rows: np.ndarray,
    sides: np.ndarray,
    rule: np.ndarray,
    w: np.ndarray,
    average: np.ndarray,
    held: np.ndarray,
) -> float:
    """Do the same as `pairwise_moments.moment_steps` from the first row on, with moments recomputed for each row."""
    total = 0.0
    for t, (x, side) in enumerate(zip(rows, sides, strict=True)):
        others = rows[:t][sides[:t] != side]
        if len(others) == 0:
            continue
        sign, mean = 1 - 2 * side, others.mean(axis=0)
        covariance = (others - mean).T @ (others - mean) / len(others)
        difference = sign * (x - mean)
        margin = float(w @ difference)
        total += (1 - margin) ** 2 + float(w @ covariance @ w)
        length = next_length(rule)
        curvature = 2 * (float(difference @ difference) + float(np.trace(covariance)))
        gradient = 2 * ((margin - 1) * difference + covariance @ w)
        w -= length * rule[MU] * w + length / (1 + length * curvature) * gradient
        held[COUNT] += 1
        average += (rule[POWER] + 1) / (held[COUNT] + rule[POWER]) * (w - average)
    return total
