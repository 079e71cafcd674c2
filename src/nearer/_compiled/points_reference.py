"""The loops over comparisons in plain numpy: the reference for the tests, and how a user's own loss runs.

Same conventions and the same numbers (to rounding) as `points.py` and `epochs.py`, with the loss as an object and every
dense term applied densely.
"""

from __future__ import annotations

import numpy as np

from nearer.losses import Loss

CHUNK = 65_536  # comparisons at a time, so that memory does not grow with their number


def ends(Q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the columns i, j, l, k of triplets or quadruplets: d(i, j) < d(l, k)."""
    return Q[:, 0], Q[:, 1], Q[:, 0 if Q.shape[1] == 3 else 2], Q[:, -1]


def squared_distances(X: np.ndarray, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared distances of the two pairs of every comparison."""
    i, j, l, k = ends(Q)
    return ((X[i] - X[j]) ** 2).sum(axis=1), ((X[l] - X[k]) ** 2).sum(axis=1)


def slopes(X: np.ndarray, Q: np.ndarray, W: np.ndarray, loss: Loss) -> tuple[float, np.ndarray]:
    """Return the sum of weighted losses, and their (q, 2) weighted derivatives by the squared distances."""
    near, far = squared_distances(X, Q)
    values = np.asarray(loss.value(near, far), dtype=np.float64)
    derivatives = np.stack(loss.derivatives(near, far), axis=1).astype(X.dtype, copy=False)
    if len(W):
        values, derivatives = values * W, derivatives * W[:, None]
    return float(values.sum()), derivatives


def scatter(X: np.ndarray, Q: np.ndarray, C: np.ndarray, G: np.ndarray) -> None:
    """Add to G the gradient of comparisons whose slopes are C."""
    i, j, l, k = ends(Q)
    near, far = 2 * C[:, :1] * (X[i] - X[j]), 2 * C[:, 1:] * (X[l] - X[k])
    np.add.at(G, np.concatenate([i, j, l, k]), np.concatenate([near, -near, far, -far]))


def value(loss: Loss, X: np.ndarray, Q: np.ndarray, W: np.ndarray) -> float:
    """Return the sum of weighted losses."""
    return sum(slopes(X, Q[at], W[at], loss)[0] for at in _chunks(len(Q)))


def gradient(loss: Loss, X: np.ndarray, Q: np.ndarray, W: np.ndarray, G: np.ndarray, C: np.ndarray) -> float:
    """Return the sum of weighted losses; add the gradient to G and, unless C is empty, store the slopes there."""
    total = 0.0
    for at in _chunks(len(Q)):
        part, derivatives = slopes(X, Q[at], W[at], loss)
        total += part
        scatter(X, Q[at], derivatives, G)
        if len(C):
            C[at] = derivatives
    return total


def gradients(
    loss: Loss,
    X: np.ndarray,
    Q: np.ndarray,
    W: np.ndarray,
    C: np.ndarray,
    starts: np.ndarray,
    parts: np.ndarray,
    totals: np.ndarray,
) -> None:
    """Store the gradient of comparisons starts[b]:starts[b + 1] in part b, and the sum of their losses in totals."""
    parts[:] = 0
    for b, part in enumerate(parts):
        at = slice(starts[b], starts[b + 1])
        totals[b] = gradient(loss, X, Q[at], W[at], part, C[at])


def join(parts: np.ndarray, count: int, shrink: float, X: np.ndarray) -> float:
    """Leave in the first of the parts (blocks, n, p) their sum / count + 2 shrink X; return shrink |X|²."""
    parts[0] = parts.sum(axis=0) / count + X.dtype.type(2 * shrink) * X
    return shrink * float(np.square(X, dtype=np.float64).sum())


def sgd(
    loss: Loss,
    X: np.ndarray,
    Q: np.ndarray,
    W: np.ndarray,
    steps: np.ndarray,
    batch_size: int,
    log_kept: np.ndarray,
) -> float:
    """Walk over Q once: step s is X <- (1 - shrink_s) X - steps[s] * mean gradient of its batch."""
    kept = np.exp(np.diff(log_kept)) if len(log_kept) else np.ones(len(steps))
    total = 0.0
    for s, step in enumerate(steps):
        at = slice(s * batch_size, min((s + 1) * batch_size, len(Q)))
        direction = np.zeros_like(X)
        total += gradient(loss, X, Q[at], W[at], direction, np.empty((0, 2), X.dtype))
        X *= X.dtype.type(kept[s])
        X -= X.dtype.type(step / len(Q[at])) * direction
    return total


def svrg(
    loss: Loss,
    X: np.ndarray,
    S: np.ndarray,
    G: np.ndarray,
    Q: np.ndarray,
    W: np.ndarray,
    C: np.ndarray,
    step: float,
    batch_size: int,
    shrink: float,
) -> None:
    """Run one SVRG epoch from X = S: for each batch, X -= step * (mean of grad(X) - grad(S), + G) + shrink * X."""
    for start in range(0, len(Q), batch_size):
        at = slice(start, min(start + batch_size, len(Q)))
        direction = np.zeros_like(X)
        _, derivatives = slopes(X, Q[at], W[at], loss)
        scatter(X, Q[at], derivatives, direction)
        scatter(S, Q[at], -C[at], direction)
        X *= X.dtype.type(1 - shrink)
        X -= X.dtype.type(step) * (direction / len(Q[at]) + G)


def _chunks(n: int) -> list[slice]:
    return [slice(start, start + CHUNK) for start in range(0, n, CHUNK)]
