"""Embeddings of entities that the fit did not know: from their features, from their histories, or from both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from nearer.errors import InputError
from nearer.objectives.least_squares import solved_rows
from nearer.objectives.similarity_sums import SimilaritySums, Weights
from nearer.towers.assembly import Architecture, Side, observed_pairs
from nearer.towers.fitting import TowerSettings

if TYPE_CHECKING:
    from nearer.towers.two_tower import TwoTower

#: Newton steps, and products of conjugate gradients in each
_STEPS, _PRODUCTS = 5, 10


def embed_new(
    model: TwoTower,
    settings: TowerSettings,
    kinds: tuple[tuple[str, ...], tuple[str, ...]],
    side: int,
    features: Any,
    history: sparse.csr_matrix | None,
) -> np.ndarray:
    """Return embeddings of new entities of a side.

    A tower that sees histories is asked. A tower of ids has no id for a new entity: it answers from features, and the
    vector that the id would have had is fitted to the history.
    """
    name = ("left", "right")[side]
    n_rows: int = (history if features is None else features).shape[0]  # type: ignore[union-attr]
    if settings.architecture.modules is not None:
        raise InputError(f"towers of your own embed new {name} entities themselves: call the module")
    if features is None and "features" in kinds[side]:
        raise InputError(
            f"must be passed: the {name} tower sees features of the new entities", parameter="features"
        )
    if history is None and kinds[side] == ("ids",):
        raise InputError(
            f"must be passed: the {name} tower sees ids alone, which new entities do not have",
            parameter="history",
        )
    seen = history
    if "history" in kinds[side] and history is None:
        other = (model.right_embedding_, model.left_embedding_)[side]
        seen = sparse.csr_matrix((n_rows, len(other)))
    if settings.architecture.ids_alone(kinds[side]):
        embeddings = torch.zeros(n_rows, model.n_components, dtype=settings.dtype)
    else:
        new = Side(n_rows, kinds[side], features, seen)
        tower = settings.architecture.tower(new, side, settings.dtype, torch.device("cpu"), ids=False)
        theta = _parameters_without_ids(model, settings, kinds, side)
        embeddings = tower.embed(theta, slice(0, n_rows))
    if history is not None and "history" not in kinds[side]:
        embeddings = folded_in(model, settings, side, embeddings, history)
    found = embeddings.numpy()
    if features is None and side == 0:
        assert history is not None
        empty = np.diff(history.indptr) == 0
        found[empty] = _mean_of_seen(model)
    return found


def answer_by_popularity(embeddings: np.ndarray, empty: np.ndarray) -> None:
    """Give left entities without pairs the mean embedding of the others: it ranks by popularity."""
    if empty.any():
        embeddings[empty] = embeddings[~empty].mean(axis=0)


def _mean_of_seen(model: TwoTower) -> np.ndarray:
    return model.left_embedding_[np.diff(model.seen_starts_) > 0].mean(axis=0)


def parameter_counts(
    model: TwoTower, architecture: Architecture, kinds: tuple[tuple[str, ...], ...]
) -> list[tuple[int, int]]:
    """Return the parameters of both towers of a fitted model, and how many of them belong to ids."""
    sizes = len(model.left_embedding_), len(model.right_embedding_)
    features = [
        0 if found is None else len(found.size) for found in (model.left_scaling_, model.right_scaling_)
    ]
    return [architecture.n_parameters(kinds[k], sizes[k], features[k], sizes[1 - k]) for k in range(2)]


def _parameters_without_ids(
    model: TwoTower, settings: TowerSettings, kinds: tuple[tuple[str, ...], ...], side: int
) -> Tensor:
    """Return the parameters of a side but for the weights of its ids, which come first."""
    (of_left, ids_left), (_, ids_right) = parameter_counts(model, settings.architecture, kinds)
    x = torch.from_numpy(model.parameters_).to(settings.dtype)
    return x[ids_left:of_left] if side == 0 else x[of_left + ids_right :]


def folded_in(
    model: TwoTower, settings: TowerSettings, side: int, rest: Tensor, history: sparse.csr_matrix
) -> Tensor:
    """Return embeddings of entities with the vectors that the fit would have given to their ids.

    Each minimises the objective for its own pairs with the embeddings of the other side, by Newton's method.
    """
    fixed = torch.from_numpy((model.right_embedding_, model.left_embedding_)[side]).to(settings.dtype)
    pairs = observed_pairs(history, settings.dtype, "cpu")
    weights = Weights.constant(settings.omega, len(rest), len(fixed), settings.missing, rest)
    sums = SimilaritySums(pairs, settings.loss, weights)
    sees = pairs.left_counts.to(rest) + settings.omega * len(fixed)
    strengths = settings.penalty.l2 * sees**settings.penalty.frequency
    own = torch.zeros_like(rest)
    for _ in range(_STEPS):
        own = solved_rows(sums, sums.at(rest + own, fixed), 0, own, strengths, _PRODUCTS)
    return rest + own
