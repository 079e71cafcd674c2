"""Sums over all pairs of hinges and squared hinges, without visiting pairs: samples in order of score."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from nearer.objectives._layers import Layer


class Sweep:
    """The samples of a layer in order of `place`: the score, less `margin` for upper samples.

    A pair falls short of the margin by the place of its lower sample minus that of its upper one, if that is positive:
    if the upper sample comes first. Sums over pairs are thus running sums. Those of distances grow from place to place
    by the gap times the weight before it: all terms are positive, so nothing cancels.

    The methods return values in this order; `back` restores the order of the layer.
    """

    def __init__(self, layer: Layer, scores: np.ndarray, margin: float):
        places = scores.copy()
        places[: layer.n_upper] -= margin
        self._edges = layer.edges
        self.order = np.argsort(places) if self._edges is None else np.lexsort((places, layer.blocks))
        weights = layer.weights[self.order]
        self.upper = np.where(self.order < layer.n_upper, weights, 0.0)
        self.lower = weights - self.upper
        places = places[self.order]
        self.gaps = np.diff(places)
        if self._edges is not None:
            self.gaps[self._edges[0][1:] - 1] = 0.0

    def back(self, values: np.ndarray) -> np.ndarray:
        """Return values in the order of the layer."""
        out = np.empty_like(values)
        out[self.order] = values
        return out

    @cached_property
    def before(self) -> np.ndarray:
        """Return the weight of the upper samples before each place: partners too close to a lower sample there."""
        return self._from_left(self.upper)

    @cached_property
    def after(self) -> np.ndarray:
        """Return the weight of the lower samples after each place."""
        return self._from_right(self.lower)

    @cached_property
    def distance_before(self) -> np.ndarray:
        """Return the weighted sum of the distances to the upper samples before each place."""
        return self._from_left(_late(self.gaps * self.before[:-1]))

    @cached_property
    def distance_after(self) -> np.ndarray:
        """Return the weighted sum of the distances to the lower samples after each place."""
        return self._from_right(_early(self.gaps * self.after[1:]))

    @cached_property
    def squares_before(self) -> np.ndarray:
        """Return the weighted sum of the squared distances to the upper samples before each place."""
        growth = self.gaps * (2 * self.distance_before[:-1] + self.gaps * self.before[:-1])
        return self._from_left(_late(growth))

    def laplacian(self, z: np.ndarray) -> np.ndarray:
        """Return for every sample the weighted sum of `own z - partner's z` over its pairs that are too close.

        z and the result are in the order of the layer.
        """
        z = z[self.order]
        lower = self.lower * (z * self.before - self._from_left(self.upper * z))
        upper = self.upper * (z * self.after - self._from_right(self.lower * z))
        return self.back(lower + upper)

    def _from_left(self, values: np.ndarray) -> np.ndarray:
        """Return running sums, which start again in every block."""
        sums = np.cumsum(values)
        if self._edges is not None:
            first, _, block = self._edges
            sums -= (sums[first] - values[first])[block]
        return sums

    def _from_right(self, values: np.ndarray) -> np.ndarray:
        sums = np.cumsum(values[::-1])[::-1]
        if self._edges is not None:
            _, last, block = self._edges
            sums -= (sums[last] - values[last])[block]
        return sums


def _late(values: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], values])


def _early(values: np.ndarray) -> np.ndarray:
    return np.concatenate([values, [0.0]])
