"""What two processes do for `test_distributed.py`, all in one start: starting torch takes longer than the fits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import nearer
from nearer import Interactions
from nearer._utils.group import processes
from nearer.errors import InputError
from nearer.solvers import BlockSampling, GaussNewton, OnlineGramians
from nearer.towers import checkpoints
from tests.towers.problems import split

LINEAR = {"hidden": (), "inputs": "ids"}
DEEP = {"hidden": (6,), "inputs": ("history", "ids+features")}
SQUARE = {"hidden": (), "loss": "square", "max_epochs": 3}
#: few products: conjugate gradients amplify the last digit tenfold per three products, in one process too
NEWTON = GaussNewton(max_products=8)
#: settings of fits
FITS = {
    "newton": {**LINEAR, "solver": NEWTON, "max_epochs": 5},
    "newton with networks": {**DEEP, "solver": NEWTON, "max_epochs": 3},
    "gd": {**LINEAR, "solver": "gd", "max_epochs": 6},
    "gd-diag with networks": {**DEEP, "solver": "gd-diag", "max_epochs": 6},
    "full-adam": {**LINEAR, "solver": "full-adam", "max_epochs": 6},
    "full-adam with networks": {**DEEP, "solver": "full-adam", "max_epochs": 6},
    "eigen-adam": {**LINEAR, "solver": "eigen-adam", "max_epochs": 6},
    "eigen-adam with networks": {**DEEP, "solver": "eigen-adam", "max_epochs": 6},
    "networks alone": {"hidden": (6,), "linear": False, "max_epochs": 6},
    "sogram": {**LINEAR, "solver": OnlineGramians(share=0.2, step=1e-3), "max_epochs": 2},
    "sogram with networks": {**DEEP, "solver": OnlineGramians(share=0.2, step=5e-5), "max_epochs": 2},
    "sg": {**LINEAR, "solver": OnlineGramians(share=0.5, alpha=1.0, step=1e-3), "max_epochs": 1},
    "sampling": {**DEEP, "solver": BlockSampling(share=0.3, step=1e-4), "max_epochs": 1},
    "als": {**SQUARE, "inputs": "ids", "missing": 0.0},
    "als with features": {**SQUARE, "inputs": ("ids", "ids+features"), "solver": "als"},
    "the default": {"hidden": (6,), "max_epochs": 5, "validation": 0.1},
    "histories of both": {"hidden": (6,), "inputs": ("ids+history", "history+features"), "max_epochs": 3},
}
#: those that processes do on a card
ON_CARD = ("newton", "eigen-adam with networks", "full-adam", "sogram", "als with features", "the default")
SETTINGS = {"n_components": 4, "dtype": "float64", "tol": 0, "random_state": 0}
#: a fit that is stopped, and continued
LONG = {"hidden": (6,), "inputs": ("history", "ids"), "solver": "full-adam", "max_epochs": 9}
STOP_AT = 4


def fitted(settings: dict, **others) -> nearer.TwoTower:
    """Return towers that were fitted to planted pairs."""
    train, _ = split()
    features = np.random.default_rng(0).normal(size=(train.n_right, 3))
    given = (None, features) if "features" in str(settings.get("inputs")) else ()
    return nearer.TwoTower(**{**SETTINGS, **settings, **others}).fit(train, *given)


def numbers(model: nearer.TwoTower) -> dict[str, np.ndarray]:
    """Return all that a fit found."""
    return {
        "objective": model.result_.history["objective"],
        "P": model.left_embedding_,
        "Q": model.right_embedding_,
        "parameters": model.parameters_,
    }


def stopped(path: Path) -> nearer.TwoTower:
    """Stop the long fit early; its state stays in a file."""
    checkpoints.EVERY = 0.0
    return fitted(LONG, checkpoint=path, callback=lambda progress: progress.epoch >= STOP_AT)


def on_card() -> None:
    """Do some of the fits on a card, and leave what was found in a file."""
    group = processes()
    found = {}
    for name in ON_CARD:
        model = fitted(FITS[name], device="cuda")
        found |= {f"{name}/{what}": value for what, value in numbers(model).items()}
    np.savez(f"found{group.rank}.npz", **found)


def problem_of(work) -> str:
    """Return what is wrong with some work."""
    try:
        work()
    except InputError as error:
        return str(error)
    return "nothing"


def main() -> None:
    """Do everything, and leave what was found in files."""
    group = processes()
    found = {}
    for name, settings in FITS.items():
        found |= {f"{name}/{what}": value for what, value in numbers(fitted(settings)).items()}
    stopped(Path("of-two.npz"))
    found |= {
        f"continued/{what}": value for what, value in numbers(fitted(LONG, checkpoint="of-one.npz")).items()
    }
    # process 1 alone wants to stop, and every process would draw for itself
    stop = (lambda progress: progress.epoch >= 3) if group.rank == 1 else None
    unlike = fitted({**LINEAR, "solver": "gd", "max_epochs": 500}, random_state=None, callback=stop)
    found |= {f"stopped/{what}": value for what, value in numbers(unlike).items()}
    shared = Interactions.read("clicks", shared=True)
    shared.write(f"read{group.rank}.parquet")
    said = {
        "stopped": unlike.result_.stop_reason,
        "details": unlike.result_.details,
        "damaged folder": problem_of(lambda: Interactions.read("damaged", shared=True)),
        "other data": problem_of(lambda: nearer.TwoTower(**SETTINGS).fit(split(group.rank)[0])),
        "other weights": problem_of(lambda: _weighted(np.full(120, 1.0 + group.rank))),
        "other epochs": problem_of(lambda: fitted(LONG, max_epochs=3 + group.rank)),
        "one checkpoint": problem_of(lambda: fitted(LONG, checkpoint="one.npz" if group.is_first else None)),
        "search": problem_of(lambda: nearer.TwoTower(**SETTINGS).search(split()[0], seconds=1)),
        "too few": problem_of(lambda: _tiny().fit(Interactions([0, 1], [0, 1], n_left=1 + group.size))),
    }
    np.savez(f"found{group.rank}.npz", **found)
    Path(f"said{group.rank}.json").write_text(json.dumps(said))


def _weighted(weights: np.ndarray) -> nearer.TwoTower:
    return nearer.TwoTower(**{**SETTINGS, **LINEAR, "max_epochs": 1}).fit(split()[0], left_weights=weights)


def _tiny() -> nearer.TwoTower:
    return nearer.TwoTower(2, hidden=(), inputs="ids", max_epochs=1, random_state=0)


if __name__ == "__main__":
    main()
