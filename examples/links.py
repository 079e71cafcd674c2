"""Who will become friends? Hide some friendships, learn from the others: `python examples/links.py [folder]`."""

import sys
from pathlib import Path

import numpy as np

import nearer

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
folder.mkdir(parents=True, exist_ok=True)

# four circles of friends; people of one circle are friends with probability one half
rng = np.random.default_rng(0)
names = [f"person {number:02d}" for number in range(60)]
first, second = np.nonzero(np.triu(rng.random((60, 60)) < 0.5, 1))
within = first % 4 == second % 4
first, second = first[within], second[within]
friends = nearer.Interactions(first, second, left_names=names, right_names=names)
known, hidden = friends.split(0.1, random_state=0)

model = nearer.LinkPredictor(graph="undirected", random_state=0).fit(known)
details = model.result_.details
print(
    f"{details['n_links']} links of {details['n_pairs']:,} pairs; beta {model.beta_:.3g}, rank {details['rank']}"
)
print(f"certified: at most {details['gap'] / model.result_.objective:.1e} above the minimum")
print(f"AUC of hidden friendships: {model.score(hidden):.3f}")
print("suggestions for person 00:", ", ".join(model.recommend("person 00", k=4, names=True).items[0]))

figure = nearer.plotting.plot_map(model.left_embedding_[:, :2], names, title="Four circles of friends")
figure.savefig(folder / "links.png")
print("wrote", folder / "links.png")
