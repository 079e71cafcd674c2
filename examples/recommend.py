"""Recommend items to users from their clicks: `python examples/recommend.py [folder]`."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nearer

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
folder.mkdir(parents=True, exist_ok=True)

# 300 users and 120 items with tastes that nobody sees; the more two tastes agree, the likelier a click
clicks, _, tastes = nearer.datasets.planted_interactions(300, 120, 2, 5000, random_state=0)
known, newcomers = clicks.split(test_size=30, by="left", random_state=0)
train, test = known.split(random_state=0)

model = nearer.TwoTower(n_components=8, hidden=(), max_epochs=150, random_state=0).fit(train)


def popular(seen, k):
    """Return the k most popular items that each user was not seen with."""
    counts = np.tile(np.bincount(train.right, minlength=train.n_right).astype(float), (seen.n_left, 1))
    counts[seen.left, seen.right] = -np.inf
    return np.argsort(-counts, axis=1, kind="stable")[:, :k]


by_popularity = nearer.metrics.mean_precision(popular(train, 5), test)
print(f"held-out clicks, MAP@5: {model.score(test):.3f}, by popularity {by_popularity:.3f}")
best = model.recommend([0], k=5)
print(
    "for user 0:",
    ", ".join(f"item {item} ({score:.2f})" for item, score in zip(*map(np.ravel, best), strict=True)),
)

# users whom the fit did not know: half of their clicks place them, the other half is to be found
history, wanted = newcomers.split(test_size=0.5, by="each-left", random_state=0)
scores = model.embed_left(history=history) @ model.right_embedding_.T
scores[history.left, history.right] = -np.inf
ranked = np.argsort(-scores, axis=1)[:, :20]
found, by_popularity = (nearer.metrics.recall(one, wanted, k=20) for one in (ranked, popular(history, 20)))
print(f"new users, recall@20: {found:.3f}, by popularity {by_popularity:.3f}")

# items with similar tastes have embeddings in similar directions
directions = model.right_embedding_ - model.right_embedding_.mean(axis=0)
axes_of_taste = np.linalg.svd(directions, full_matrices=False)[2][:2]
figure = Figure(figsize=(5.5, 5), layout="constrained")
ax = figure.subplots()
angle = np.arctan2(tastes[:, 1], tastes[:, 0])
ax.scatter(*(directions @ axes_of_taste.T).T, c=angle, cmap="twilight", s=30)
ax.set_title("Embeddings of items, coloured by their true taste", loc="left", fontsize=10)
ax.set_xticks([])
ax.set_yticks([])
figure.savefig(folder / "recommend.png")
print("wrote", folder / "recommend.png")
