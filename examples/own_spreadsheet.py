"""From a spreadsheet with names and participants to a map: `python examples/own_spreadsheet.py [folder]`."""

import csv
import sys
from pathlib import Path

import numpy as np

import nearer

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
folder.mkdir(parents=True, exist_ok=True)

# A simulated file in place of your own: 12 people answer "is X more like A or like B?" about 10 drinks.
drinks = ["water", "juice", "lemonade", "cola", "beer", "cider", "wine", "tea", "coffee", "cocoa"]
sweet_and_warm = np.array(
    [[0, 0], [3, 0], [4, 0], [4.5, 0], [1, 0.3], [2.5, 0.3], [1.5, 1], [0.5, 4], [0.5, 4.5], [4, 4]]
)
rng = np.random.default_rng(0)
with open(folder / "answers.csv", "w", newline="") as stream:
    table = csv.writer(stream)
    table.writerow(["participant", "probe", "left", "right", "answer"])
    for row in range(900):
        x, a, b = rng.choice(len(drinks), size=3, replace=False)
        to_a, to_b = (np.linalg.norm(sweet_and_warm[x] - sweet_and_warm[other]) for other in (a, b))
        says_left = to_a + rng.normal(scale=0.5) < to_b
        table.writerow([f"p{row % 12:02d}", drinks[x], drinks[a], drinks[b], 1 if says_left else -1])

# nearer recognises "probe", "left", "right", "answer" and "participant"; map other names with columns={...}
answers = nearer.Comparisons.read(folder / "answers.csv")
print(answers)
print(answers.conflicts())

# Does the map predict the answers of people it was not fitted to?
train, test = answers.split(test_size=0.25, by="annotator", random_state=0)
model = nearer.OrdinalEmbedding(n_components=2, random_state=0).fit(train)
print(f"answers of new people that hold: {model.score(test):.1%}")

nearer.save(model, folder / "drinks.nearer")
nearer.plotting.plot_map(model.embedding_, model.names_).savefig(folder / "drinks.png")
print("wrote", folder / "drinks.nearer", "and", folder / "drinks.png")
