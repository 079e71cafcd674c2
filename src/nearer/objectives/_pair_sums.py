"""Sums of a margin loss over all pairs of a layer, as functions of the scores alone: a class for each way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from nearer.losses.margins import HingeLoss, MarginLoss, SmoothHingeLoss, SquaredHingeLoss, SquareLoss
from nearer.objectives._layers import Layer
from nearer.objectives._sweeps import Sweep

#: pairs held in memory at once where all of them are visited: their temporaries stay in the processor's cache
_CHUNK_PAIRS = 1 << 15
#: share of the width of a rounded corner within which a margin counts as its end
_EDGE = 1e-9


class OverPairs(NamedTuple):
    """Sum or mean over pairs: the loss, its slope, and the derivative of the loss by every score."""

    loss: float
    slope: float
    slopes: np.ndarray


class Curvature(NamedTuple):
    """Second derivatives by the scores: their sum or mean over pairs, and the matrix as a product with vectors."""

    level: float
    product: Callable[[np.ndarray], np.ndarray]


class PairSums(ABC):
    """A way to sum one loss over pairs. Scores and results are in the order of the layer."""

    #: whether the cost grows with the number of pairs rather than of samples
    visits_pairs: ClassVar[bool] = False
    #: whether second derivatives are the same everywhere
    constant_curvature: ClassVar[bool] = False

    @abstractmethod
    def first(self, layer: Layer, scores: np.ndarray) -> OverPairs:
        """Return loss and slopes."""

    def second(self, layer: Layer, scores: np.ndarray) -> Curvature:
        """Return second derivatives, if the loss has them."""
        raise AttributeError("the loss has no second derivative")


class SquareSums(PairSums):
    """`(1 - margin)²`: from the means and the spread of the scores on the two sides of a block."""

    constant_curvature = True

    def first(self, layer: Layer, scores: np.ndarray) -> OverPairs:
        weight = layer.side_weights
        means = [total / w for total, w in zip(layer.block_sums(layer.weights * scores), weight, strict=True)]
        short = 1 - (means[0] - means[1])
        off = scores - layer.by_row(*means)
        spread = layer.block_sums(layer.weights * off**2)
        pairs = weight[0] * weight[1]
        loss = pairs @ short**2 + weight[1] @ spread[0] + weight[0] @ spread[1]
        slopes = 2 * layer.weights * layer.by_row(*weight[::-1]) * (off + layer.by_row(-short, short))
        return OverPairs(float(loss), float(-2 * pairs @ short), slopes)

    def second(self, layer: Layer, scores: np.ndarray) -> Curvature:
        upper, lower = layer.side_weights
        partners = 2 * layer.weights * layer.by_row(lower, upper)

        def product(z: np.ndarray) -> np.ndarray:
            above, below = layer.block_sums(layer.weights * z)
            return partners * (z - layer.by_row(below / lower, above / upper))

        return Curvature(2 * layer.weight, product)


class HingeSums(PairSums):
    """`max(0, 1 - margin)`, by one sweep."""

    def first(self, layer: Layer, scores: np.ndarray) -> OverPairs:
        sweep = Sweep(layer, scores, margin=1.0)
        slopes = sweep.lower * sweep.before - sweep.upper * sweep.after
        loss = sweep.lower @ sweep.distance_before
        return OverPairs(float(loss), -float(sweep.lower @ sweep.before), sweep.back(slopes))


@dataclass(frozen=True)
class SquaredHingeSums(PairSums):
    """`max(0, margin - difference of scores)²`, by one sweep."""

    margin: float = 1.0

    def first(self, layer: Layer, scores: np.ndarray) -> OverPairs:
        sweep = Sweep(layer, scores, self.margin)
        slopes = 2 * (sweep.lower * sweep.distance_before - sweep.upper * sweep.distance_after)
        loss = sweep.lower @ sweep.squares_before
        return OverPairs(float(loss), -2 * float(sweep.lower @ sweep.distance_before), sweep.back(slopes))

    def second(self, layer: Layer, scores: np.ndarray) -> Curvature:
        sweep = Sweep(layer, scores, self.margin)
        return Curvature(2 * float(sweep.lower @ sweep.before), lambda z: 2 * sweep.laplacian(z))


@dataclass(frozen=True)
class SmoothHingeSums(PairSums):
    """The hinge with a rounded corner: the difference of two squared hinges, whose margins are `width` apart."""

    width: float

    def first(self, layer: Layer, scores: np.ndarray) -> OverPairs:
        near, far = (sums.first(layer, scores) for sums in self._squared())
        scale = 1 / (2 * self.width)
        return OverPairs(
            scale * (near.loss - far.loss),
            scale * (near.slope - far.slope),
            scale * (near.slopes - far.slopes),
        )

    def second(self, layer: Layer, scores: np.ndarray) -> Curvature:
        # ends of the parabola belong to it: all margins are 0 at the start, the lower end if the width is 2
        sides = SquaredHingeSums(1 + self.width / 2), SquaredHingeSums(1 - (0.5 + _EDGE) * self.width)
        near, far = (sums.second(layer, scores) for sums in sides)
        scale = 1 / (2 * self.width)
        return Curvature(
            scale * (near.level - far.level), lambda z: scale * (near.product(z) - far.product(z))
        )

    def _squared(self) -> tuple[SquaredHingeSums, SquaredHingeSums]:
        return SquaredHingeSums(1 + self.width / 2), SquaredHingeSums(1 - self.width / 2)


@dataclass(frozen=True)
class EveryPair(PairSums):
    """Any loss, pair by pair, in blocks of a few thousand pairs."""

    loss: MarginLoss
    visits_pairs = True

    def first(self, layer: Layer, scores: np.ndarray) -> OverPairs:
        loss, slope, slopes = 0.0, 0.0, np.zeros(len(scores))
        for upper, lower in _chunks(layer):
            margins = scores[upper, None] - scores[lower]
            over, under = layer.weights[upper], layer.weights[lower]
            loss += float(over @ (self.loss.value(margins) @ under))
            rising = self.loss.slope(margins)
            by_upper = over * (rising @ under)
            slopes[upper] += by_upper
            slopes[lower] -= under * (over @ rising)
            slope += float(by_upper.sum())
        return OverPairs(loss, slope, slopes)

    def second(self, layer: Layer, scores: np.ndarray) -> Curvature:
        partners = self._coupled(layer, scores, np.ones_like(scores))

        def product(z: np.ndarray) -> np.ndarray:
            return partners * z - self._coupled(layer, scores, z)

        return Curvature(float(partners[: layer.n_upper].sum()), product)

    def _coupled(self, layer: Layer, scores: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return for every sample the sum over its pairs of `curvature * partner's z`."""
        out = np.zeros(len(scores))
        for upper, lower in _chunks(layer):
            curvature = self.loss.second_derivative(scores[upper, None] - scores[lower])
            over, under = layer.weights[upper], layer.weights[lower]
            out[upper] += over * (curvature @ (under * z[lower]))
            out[lower] += under * ((over * z[upper]) @ curvature)
        return out


def pair_sums(loss: MarginLoss) -> PairSums:
    """Return the fastest way to sum a loss over all pairs."""
    if isinstance(loss, SmoothHingeLoss):
        return SmoothHingeSums(loss.width)
    quick = {SquareLoss: SquareSums, HingeLoss: HingeSums, SquaredHingeLoss: SquaredHingeSums}
    return quick[type(loss)]() if type(loss) in quick else EveryPair(loss)


def _chunks(layer: Layer) -> Iterator[tuple[slice, slice]]:
    """Yield all pairs, as rectangles of upper and lower samples."""
    upper, lower = (np.bincount(side, minlength=layer.n_blocks) for side in layer.sides(layer.blocks))
    ends, lower_ends = np.cumsum(upper), layer.n_upper + np.cumsum(lower)
    for block in range(layer.n_blocks):
        below = slice(lower_ends[block] - lower[block], lower_ends[block])
        step = max(1, _CHUNK_PAIRS // int(lower[block]))
        for start in range(ends[block] - upper[block], ends[block], step):
            yield slice(start, min(start + step, ends[block])), below
