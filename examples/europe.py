"""The map of Europe from answers to "which city is nearer?": `python examples/europe.py [folder]`."""

import sys
from pathlib import Path

import nearer

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
folder.mkdir(parents=True, exist_ok=True)

# 2,000 questions such as "is Rome nearer to Paris or to Athens?"; one answer in twenty is wrong
europe = nearer.datasets.cities()
answers = nearer.datasets.triplets_from_distances(
    europe.great_circle_km(), 2000, noise=0.05, names=europe.names, random_state=0
)
train, test = answers.split(test_size=0.2, random_state=0)

model = nearer.OrdinalEmbedding(n_components=2, loss="auto", random_state=0).fit(train)
print(f"chosen on held-out answers: {model.loss_}, l2 = {model.l2_:g}")
print(f"held-out answers that hold in the map: {model.score(test):.1%}")

# comparisons do not determine north or scale: align the map with the true one before plotting it
maps = {"The true map": europe.map_xy(), "From comparisons": model.embedding_}
nearer.plotting.plot_comparison_of_maps(maps, europe.names).savefig(folder / "europe.png")
print("wrote", folder / "europe.png")
