"""Place objects that nobody compared, by their features: `python examples/new_objects.py [folder]`."""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import nearer

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
folder.mkdir(parents=True, exist_ok=True)

# 900 pictures of handwritten digits: 600 are compared ("these two show the same digit, this one another"),
# 300 arrive later with only their pixels
pixels, digits = (part[:900] for part in load_digits(return_X_y=True))
compared, later = np.arange(600), np.arange(600, 900)
answers = nearer.datasets.triplets_from_labels(digits[compared], 60_000, flip=0.05, random_state=0)

model = nearer.OrdinalEmbedding(n_components=8, random_state=0).fit(answers)
place = nearer.FeatureMap().fit(pixels[compared], model.embedding_)
points = place.transform(pixels[later])

found = nearer.metrics.mean_average_precision(points, model.embedding_, digits[later], digits[compared])
plain = nearer.metrics.mean_average_precision(
    pixels[later], pixels[compared], digits[later], digits[compared]
)
print(f"searching the 600 with the 300: mean average precision {found:.3f}, by raw pixels {plain:.3f}")
figure = nearer.plotting.plot_map(points, labels=digits[later].astype(str))
figure.savefig(folder / "new_objects.png")
print("wrote", folder / "new_objects.png")
