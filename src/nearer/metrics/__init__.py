"""Measure an embedding: on comparisons, against the truth, in retrieval. Measure rankings on held-out pairs.

>>> import numpy as np
>>> from nearer import metrics
>>> metrics.triplet_error(np.array([[0.0], [1.0], [3.0]]), [(0, 1, 2), (2, 0, 1)])
0.5
"""

from nearer.metrics.embeddings import (
    calibrated_loss,
    mean_average_precision,
    neighbour_agreement,
    precision_at_k,
    procrustes_align,
    procrustes_distance,
    recall_at_k,
    triplet_error,
)
from nearer.metrics.ranking import hit_rate, mean_precision, ndcg, ranking_scores, recall

__all__ = [
    "calibrated_loss",
    "hit_rate",
    "mean_average_precision",
    "mean_precision",
    "ndcg",
    "neighbour_agreement",
    "precision_at_k",
    "procrustes_align",
    "procrustes_distance",
    "ranking_scores",
    "recall",
    "recall_at_k",
    "triplet_error",
]
