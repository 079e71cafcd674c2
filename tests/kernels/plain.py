"""The method as the paper writes it: dense matrices and a full eigendecomposition after every step."""

from __future__ import annotations

import numpy as np

PAPER = np.array([[0.0, -2, 2], [-2, 1, 0], [2, 0, -1]])
SLOPES = np.array([[0.0, -1, 1], [-1, 1, 0], [1, 0, -1]])


def plain_kernel(triplets, n, *, update="passive-aggressive", start=1.0, shrink=0.0, weights=None):
    """The kernel after these triplets; constant steps of size 1."""
    kernel = start * np.eye(n)
    for place, triplet in enumerate(triplets):
        rows = np.ix_(triplet, triplet)
        excess = np.sum(SLOPES * kernel[rows])
        weight = 1.0 if weights is None else weights[place]
        if update == "passive-aggressive":
            length = min(weight, 1.0) * max(0.0, excess + 1) / 10
        elif update == "ste":
            length = weight / (1 + np.exp(-excess))
        else:
            length = weight * float(excess + 1 > 0)
        kernel[rows] -= length * PAPER
        values, vectors = np.linalg.eigh(kernel)
        kernel = (vectors * np.maximum(values, 0)) @ vectors.T * (1 - shrink)
    return kernel
