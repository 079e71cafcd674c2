"""Make comparisons with known answers: from planted points, distance matrices, labels, and the cities of Europe.

>>> from nearer import datasets
>>> answers, points = datasets.planted(n_objects=30, n_components=2, n_comparisons=500, random_state=0)
>>> len(answers), points.shape
(500, (30, 2))
"""

from nearer.datasets.cities import Cities, cities
from nearer.datasets.derived import triplets_from_distances, triplets_from_labels
from nearer.datasets.interactions import PlantedInteractions, planted_interactions
from nearer.datasets.planted import Planted, planted

__all__ = [
    "Cities",
    "Planted",
    "PlantedInteractions",
    "cities",
    "planted",
    "planted_interactions",
    "triplets_from_distances",
    "triplets_from_labels",
]
