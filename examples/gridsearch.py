"""Run scikit-learn's searches on comparisons: `python examples/gridsearch.py [folder]`."""

import sys
from pathlib import Path

from sklearn.model_selection import GridSearchCV

import nearer

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
folder.mkdir(parents=True, exist_ok=True)

answers, _ = nearer.datasets.planted(40, 2, 3000, noise=0.1, random_state=0)
train, test = answers.split(test_size=0.2, random_state=0)

search = GridSearchCV(
    nearer.OrdinalEmbedding(random_state=0),
    {
        "n_components": [1, 2, 3],
        "loss": ["ste", nearer.losses.TSTE(alpha=5)],
        "l2": [0.003, 0.05],
    },
    cv=train.folds(n_splits=3, random_state=0),  # folds that keep the rows of a trial together
)
search.fit(train)
print("best:", search.best_params_)
print(f"held-out answers that hold: {search.score(test):.1%}")

model = search.best_estimator_
nearer.plotting.plot_learning_curve(model.result_, against="epoch").savefig(folder / "gridsearch.png")
print("wrote", folder / "gridsearch.png")
