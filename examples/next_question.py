"""Reach the same map with fewer questions: `python examples/next_question.py [folder]`."""

import sys
from pathlib import Path

import numpy as np

import nearer

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
folder.mkdir(parents=True, exist_ok=True)

# the answers come from 40 points that the selectors do not know; close calls are often wrong
oracle = nearer.active.PlantedOracle(40, 2, noise="ste", scale=1.0)
study = nearer.active.play(
    oracle, ["random", "arr", "adaptive"], n_answers=600, n_components=2, repeats=2, random_state=0
)

target = study.errors[0, :, -1]  # final error of random questions, in each repetition
for name, needed in study.answers_needed(target).items():
    print(f"{name}: {np.median(needed):.0f} answers for what random questions know in the end")

study.plot(target=float(np.median(target)), title="Held-out error").savefig(folder / "next_question.png")
print("wrote", folder / "next_question.png")
