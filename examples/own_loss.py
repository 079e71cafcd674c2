"""Write your own loss without touching nearer's code: `python examples/own_loss.py [folder]`."""

# --8<-- [start:imports]
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import nearer
from nearer.losses import sigmoid

# --8<-- [end:imports]


# --8<-- [start:loss]
@dataclass(frozen=True)
class LapseSTE(nearer.losses.Loss):
    """STE for people who, with probability `lapse`, toss a coin instead of looking."""

    lapse: float = 0.1
    name = "lapse-ste"
    has_probability = True

    def probability(self, near, far):
        return self.lapse / 2 + (1 - self.lapse) * sigmoid(far - near)

    def value(self, near, far):
        return -np.log(self.probability(near, far))

    def derivatives(self, near, far):
        p = sigmoid(far - near)
        slope = (1 - self.lapse) * p * (1 - p) / self.probability(near, far)
        return slope, -slope  # with respect to near, and to far


# --8<-- [end:loss]

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
folder.mkdir(parents=True, exist_ok=True)

# --8<-- [start:check]
rng = np.random.default_rng(0)
near, far = rng.uniform(0, 5, size=(2, 1000))
loss, h = LapseSTE(), 1e-6
by_near = (loss.value(near + h, far) - loss.value(near - h, far)) / (2 * h)
by_far = (loss.value(near, far + h) - loss.value(near, far - h)) / (2 * h)
np.testing.assert_allclose(loss.derivatives(near, far), (by_near, by_far), rtol=1e-5, atol=1e-8)
# --8<-- [end:check]

# --8<-- [start:fit]
answers, truth = nearer.datasets.planted(30, 2, 3000, noise="ste", scale=1.5, random_state=0)
answers = answers.with_noise(0.05, random_state=0)  # these are the lapses
train, test = answers.split(test_size=0.2, random_state=0)
for loss in ("ste", LapseSTE(0.1)):
    model = nearer.OrdinalEmbedding(n_components=2, loss=loss, random_state=0).fit(train)
    distance = nearer.metrics.procrustes_distance(model.embedding_, truth)
    print(f"{model.loss_}: {model.score(test):.1%} hold, distance to the truth {distance:.4f}")
# --8<-- [end:fit]

maps = {"truth": truth, "LapseSTE": model.embedding_}
nearer.plotting.plot_comparison_of_maps(maps).savefig(folder / "own_loss.png")
print("wrote", folder / "own_loss.png")
