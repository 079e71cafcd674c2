"""From odd-one-out trials to a labelled map: `python examples/odd_one_out.py [folder]`."""

import sys
from pathlib import Path

import numpy as np

import nearer

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
folder.mkdir(parents=True, exist_ok=True)

# Simulated trials in place of your own: each shows three of 24 objects, and the odd one is the object that is
# not in the closest pair. The objects are of three kinds, which the model is not told.
rng = np.random.default_rng(0)
kinds = np.repeat(["animal", "tool", "fruit"], 8)
centres = {"animal": (0.0, 0.0), "tool": (3.0, 0.0), "fruit": (1.5, 2.6)}
places = np.array([centres[kind] for kind in kinds]) + rng.normal(scale=0.7, size=(24, 2))
shown = np.array([rng.choice(24, size=3, replace=False) for _ in range(3000)])
first, second, third = places[shown].transpose(1, 0, 2)
gaps = np.stack([second - third, first - third, first - second])  # gap c belongs to the pair without column c
odd = np.linalg.norm(gaps, axis=2).argmin(axis=0)
odd = np.where(rng.random(3000) < 0.1, rng.integers(3, size=3000), odd)  # one trial in ten is a guess
trials = np.array([np.roll(row, 2 - column) for row, column in zip(shown, odd, strict=True)])

# Each trial yields two triplets. They form a group, and splits never separate them: the score stays honest.
answers = nearer.Comparisons.from_odd_one_out(trials, n_objects=24)
train, test = answers.split(test_size=0.2, random_state=0)
assert not set(train.groups) & set(test.groups)

model = nearer.OrdinalEmbedding(n_components=2, random_state=0).fit(train)
agreement = nearer.metrics.neighbour_agreement(model.embedding_, kinds, k=5)
print(f"held-out answers that hold: {model.score(test):.1%}")
print(f"objects whose five nearest neighbours are mostly of their own kind: {agreement:.1%}")
nearer.plotting.plot_map(model.embedding_, labels=kinds).savefig(folder / "odd_one_out.png")
print("wrote", folder / "odd_one_out.png")
