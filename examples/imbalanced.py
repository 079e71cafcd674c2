"""Find rare frauds: learn the order first, then choose the threshold. `python examples/imbalanced.py [folder]`."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import RocCurveDisplay, recall_score, roc_auc_score

import nearer

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
folder.mkdir(parents=True, exist_ok=True)


def payments(count, seed):
    """Simulate payments: most frauds are obvious, three in ten are of another kind that is hard to see."""
    rng = np.random.default_rng(seed)
    X, fraud = rng.normal(size=(count, 10)), rng.uniform(size=count) < 0.01
    quiet = fraud & (rng.uniform(size=count) < 0.3)
    X[fraud & ~quiet, 0] += 3.5
    X[quiet] += np.append([-0.5, 1.5], np.zeros(8))
    return X, fraud


(X, y), (later, truth) = payments(20_000, seed=0), payments(20_000, seed=1)
ours = nearer.AUCClassifier(random_state=0).fit(X, y)
plain = LogisticRegression().fit(X, y)
weighted = LogisticRegression(class_weight="balanced").fit(X, y)
models = {"AUCClassifier": ours, "LogisticRegression": plain, 'class_weight="balanced"': weighted}

print("                            AUC   frauds found   false alarms")
for name, model in models.items():
    area, said = roc_auc_score(truth, model.decision_function(later)), model.predict(later)
    found, alarms = recall_score(truth, said), np.mean(said[~truth])
    print(f"{name:25}  {area:.3f}  {found:12.0%}  {alarms:12.1%}")

# the model learned an order; the threshold is a separate choice, with several criteria
for criterion in ("balanced", "f1", "prior"):
    said = nearer.AUCClassifier(threshold=criterion, random_state=0).fit(X, y).predict(later)
    print(f"threshold={criterion!r:10}  {said.sum():5} alarms, {recall_score(truth, said):.0%} of the frauds")

figure = Figure(figsize=(5, 5), layout="constrained")
axes = figure.subplots()
for name, model in models.items():
    RocCurveDisplay.from_predictions(truth, model.decision_function(later), name=name, ax=axes)
figure.savefig(folder / "imbalanced.png")

# next month's payments arrive in chunks: learn from each chunk, then discard its rows
for start in range(0, 10_000, 1000):
    ours.partial_fit(later[start : start + 1000], truth[start : start + 1000])
print(f"after another 10,000 payments: AUC {ours.score(later[10_000:], truth[10_000:]):.3f}")

print("wrote", folder / "imbalanced.png")
