"""The loops of pairwise learning in plain numpy: the reference for the tests, and the way a user's own loss runs.

Same conventions and the same numbers (to rounding) as the compiled loops, with the loss as an object, the weights
shrunk at every step and every iterate added to the average as it comes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nearer.losses.margins import HingeLoss, LogisticLoss, MarginLoss, SquaredHingeLoss, SquareLoss

#: how rows are met: those of two decks in order; those that lists name, in order; those that lists name, at random
DECKS, LISTED, DRAWN = 0, 1, 2
#: entries of `rule`: the step's floor, the strength of the L2 term, steps of this stage so far, power of the average
#: (below 0: no average), and whether steps are proximal
A, MU, T, POWER, PROXIMAL = range(5)
#: entries of `held`: w = scale * v; the average's mass and total weight, and the number of iterates in it
SCALE, MASS, TOTAL, COUNT = range(4)
#: place of alpha beside a and b among the three numbers of a saddle point
ALPHA = 2

Matrix = tuple[np.ndarray, ...]

_MASK = 2**64 - 1


def draw(seed: int, number: int, repeat: int, below: int) -> int:
    """Draw a whole number in 0..below-1 for repeat `repeat` of answer `number`, as `draw` of `factors.py` does.

    >>> draw(1, 10, 1, 10) == draw(1, 10, 1, 10), 0 <= draw(7, 5, 2, 5) < 5
    (True, True)
    """
    z = (seed + 0x9E3779B97F4A7C15 * (number + 1) + 0xD1B54A32D192ED03 * (repeat + 1)) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    z ^= z >> 31
    return ((z >> 32) * below) >> 32


def pull(loss: MarginLoss, margin: float, reach: float) -> float:
    """Minus the slope that a pair has after a step which raises its margin by `reach` times that.

    >>> pull(SquareLoss(), 0.0, 0.0), pull(SquareLoss(), 0.0, 0.5)
    (2.0, 1.0)
    """
    now = -float(loss.slope(np.array([margin]))[0])
    if reach == 0 or now == 0:
        return now
    if isinstance(loss, HingeLoss):
        return min(now, (1 - margin) / reach)
    if isinstance(loss, SquareLoss | SquaredHingeLoss):
        return now / (1 + 2 * reach)
    if isinstance(loss, LogisticLoss):
        size = abs(margin)
        bend = np.tanh(size / 2) / (2 * size) if size > 1e-3 else 0.25
        return now / (1 + reach * bend)
    return now / (1 + reach * bend_of(loss))


def bend_of(loss: MarginLoss) -> float:
    """The scale of a loss's steps: its largest second derivative; 1 where it has a kink, as the hinge loss's.

    >>> bend_of(SquareLoss()), bend_of(HingeLoss())
    (2.0, 1.0)
    """
    return float(loss.curvature) if np.isfinite(loss.curvature) else 1.0


def _row(matrix: Matrix, place: int, d: int) -> np.ndarray:
    """One row in full, of a dense matrix or of the three arrays of a sparse one."""
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
    """Weights and the weighted sum of iterates, as they are; lazily held ones on entry and exit."""

    def __init__(self, v: np.ndarray, lag: np.ndarray, held: np.ndarray):
        self.w = held[SCALE] * v
        self._sum = held[MASS] * v - lag
        self._into = v, lag, held

    def count(self, power: float) -> None:
        """Add the present weights to the average."""
        held = self._into[2]
        held[COUNT] += 1
        held[TOTAL] = held[TOTAL] * (held[COUNT] + power) / (held[COUNT] - 1) if held[COUNT] > 1 else 1.0
        self._sum += held[TOTAL] * (power + 1) / (held[COUNT] + power) * self.w

    def store(self) -> None:
        """Write the arrays that were given."""
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
    """`dense_steps` and `sparse_steps`; the matrices are tuples of one or three arrays."""
    choose = _chooser(walk, cursors, seed)
    sizes = (_length(first), _length(second)) if walk == DECKS else (len(rows), len(others))
    eager = Eager(v, lag, held)
    total = 0.0
    for _ in range(count):
        difference = _row(first, choose(rows, 0), len(v)) - _row(second, choose(others, 1), len(v))
        margin = float(eager.w @ difference)
        rule[T] += 1
        length = 1 / (rule[A] + rule[MU] * rule[T])
        total += float(loss.value(np.array([margin]))[0])
        reach = length * float(difference @ difference) * rule[PROXIMAL]
        eager.w *= 1 - length * rule[MU]
        eager.w += length * pull(loss, margin, reach) * difference
        if rule[POWER] >= 0:
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
    """`dense_buffer_steps` and `sparse_buffer_steps` of `pairwise_buffer.py`."""
    eager = Eager(v, lag, held)
    total, made, size = 0.0, 0, buffers.shape[1]
    for row, side in zip(order, sides, strict=True):
        number, filled = int(seen.sum()), int(min(seen[1 - side], size))
        if filled > 0:
            places = (draw(seed, number, 0, filled) + np.arange(min(n_pairs, filled))) % filled
            others = np.stack([_row(matrix, j, len(v)) for j in buffers[1 - side, places]])
            differences = (1 - 2 * side) * (_row(matrix, row, len(v)) - others)
            margins = differences @ eager.w
            rule[T] += 1
            length = 1 / (rule[A] + rule[MU] * rule[T])
            squared = float((differences**2).sum(axis=1).mean())
            damped = length / (1 + length * bend_of(loss) * squared * rule[PROXIMAL])
            eager.w *= 1 - length * rule[MU]
            eager.w -= damped * (loss.slope(margins) @ differences) / len(places)
            if rule[POWER] >= 0:
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
    """`dense_saddle_steps` and `sparse_saddle_steps` of `pairwise_saddle.py`."""
    eager = Eager(v, lag, held)
    total = 0.0
    for place, side in zip(order, sides, strict=True):
        x, weight, sign = _row(matrix, place, len(v)), 1 / shares[side], 1 - 2 * side
        score, own, alpha = float(eager.w @ x), float(numbers[side]), float(numbers[ALPHA])
        rule[T] += 1
        length = 1 / (rule[A] + rule[MU] * rule[T])
        total += weight * ((score - own) ** 2 - 2 * sign * (1 + alpha) * score) - alpha**2 + 1
        slope = 2 * weight * (score - own - sign * (1 + alpha)) / (1 + 2 * weight * length * float(x @ x))
        apart = float(numbers[1] - numbers[0]) - sign * weight * (score - own)
        numbers[side] += 2 * length * unit * weight * (score - own) / (1 + 2 * length * unit * weight)
        numbers[ALPHA] = (alpha + 2 * length * unit * apart) / (1 + 2 * length * unit)
        eager.w *= 1 - length * rule[MU]
        eager.w -= length * slope * x
        if rule[POWER] >= 0:
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
    """`moment_steps` of `pairwise_moments.py` from the first row on, with moments worked out anew for each."""
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
        rule[T] += 1
        length = 1 / (rule[A] + rule[MU] * rule[T])
        bend = 2 * (float(difference @ difference) + float(np.trace(covariance)))
        gradient = 2 * ((margin - 1) * difference + covariance @ w)
        w -= length * rule[MU] * w + length / (1 + length * bend) * gradient
        held[COUNT] += 1
        average += (rule[POWER] + 1) / (held[COUNT] + rule[POWER]) * (w - average)
    return total
