"""Sample the position of a head given the answers about it: the crowd kernel's posterior, by weighted draws."""

from __future__ import annotations

import numpy as np

from nearer.active._belief import Belief
from nearer.active._entropy import entropy, entropy_of_odds
from nearer.losses.formulas import sigmoid, softplus


def places_of(
    head: int,
    belief: Belief,
    answers: np.ndarray,
    pending: np.ndarray,
    count: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return possible positions of the head and the probability of each, with all other objects fixed.

    Half of the positions are drawn from the prior, half around the current position. Importance weights turn both
    into one sample of the posterior. A pending question counts as both answers, in proportion to their current
    probabilities.
    """
    places = _proposed(head, belief, count, rng)
    log_weight = _log_normal(
        places, np.zeros(belief.n_components), belief.variance * np.eye(belief.n_components)
    )
    log_weight -= _log_proposal(places, head, belief)
    certain, open_ = _about(answers, head), _about(pending, head)
    log_weight -= softplus(-_log_odds_at(places, head, certain, belief)).sum(axis=1)
    odds, share = _log_odds_at(places, head, open_, belief), sigmoid(belief.log_odds(open_))
    log_weight -= softplus(-odds) @ share + softplus(odds) @ (1 - share)
    weight = np.exp(log_weight - log_weight.max())
    return places, weight / weight.sum()


def information(
    places: np.ndarray, weights: np.ndarray, points: np.ndarray, questions: np.ndarray
) -> np.ndarray:
    """Return the mutual information, in nats, of the answer to each question about one head and the head's position."""
    odds = _log_odds_of_head(places, points[questions[:, 1]], points[questions[:, 2]])
    return entropy(weights @ sigmoid(odds)) - weights @ entropy_of_odds(odds)


def _about(rows: np.ndarray, head: int) -> np.ndarray:
    return rows[(rows == head).any(axis=1)]


def _log_odds_at(places: np.ndarray, head: int, rows: np.ndarray, belief: Belief) -> np.ndarray:
    """Return the log odds of "nearer to the second object" of each row, for the head at each of the places."""
    odds = np.empty((len(places), len(rows)))
    anchor, near, far = (belief.points[column] for column in rows.T)
    as_anchor, as_near, as_far = (column == head for column in rows.T)
    odds[:, as_anchor] = _log_odds_of_head(places, near[as_anchor], far[as_anchor])
    for role, sign, other in ((as_near, -1, far), (as_far, 1, near)):
        fixed = _squared_lengths(anchor[role] - other[role])
        odds[:, role] = sign * (_squared_distances(places, anchor[role]) - fixed)
    return odds


def _log_odds_of_head(places: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the log odds of "nearer to a than to b" from each of the places, whose own lengths cancel."""
    return 2 * places @ (a - b).T + (_squared_lengths(b) - _squared_lengths(a))


def _squared_distances(places: np.ndarray, points: np.ndarray) -> np.ndarray:
    return _squared_lengths(places)[:, None] + _squared_lengths(points) - 2 * places @ points.T


def _squared_lengths(points: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", points, points)


def _proposed(head: int, belief: Belief, count: int, rng: np.random.Generator) -> np.ndarray:
    p, half = belief.n_components, count // 2
    wide = rng.normal(scale=np.sqrt(belief.variance), size=(half, p))
    root = np.linalg.cholesky(belief.covariances[head])
    return np.concatenate([wide, belief.points[head] + rng.normal(size=(count - half, p)) @ root.T])


def _log_proposal(places: np.ndarray, head: int, belief: Belief) -> np.ndarray:
    p = belief.n_components
    wide = _log_normal(places, np.zeros(p), belief.variance * np.eye(p))
    return np.logaddexp(wide, _log_normal(places, belief.points[head], belief.covariances[head]))


def _log_normal(places: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return a Gaussian's log density, up to a constant independent of mean and covariance."""
    root = np.linalg.cholesky(covariance)
    white = np.linalg.solve(root, (places - mean).T)
    return -0.5 * (white**2).sum(axis=0) - np.log(np.diag(root)).sum()
