"""How many dimensions do the answers need? `python examples/choose_dimension.py [folder]`."""

import sys
from pathlib import Path

import nearer

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
folder.mkdir(parents=True, exist_ok=True)

# 40 points in three dimensions, which the answers do not reveal; one answer in ten is wrong
answers, _ = nearer.datasets.planted(40, 3, 4000, noise=0.1, random_state=0)

choice = nearer.choose_dimension(answers, range(1, 6), n_splits=5, random_state=0)
for dimension, error in zip(choice.n_components, choice.mean_errors, strict=True):
    print(f"n_components={dimension}: held-out error {error:.3f}")
print("lowest error:", choice.best)
print("smallest that is not clearly worse:", choice.smallest_within_one_se)

choice.plot().savefig(folder / "dimension.png")
print("wrote", folder / "dimension.png")
