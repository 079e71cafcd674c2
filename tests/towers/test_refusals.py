"""Bad input of TwoTower: one sentence each, with the parameter and what to do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

torch = pytest.importorskip("torch")

import nearer  # noqa: E402
from nearer.errors import InputError  # noqa: E402
from nearer.losses import HingeLoss  # noqa: E402
from tests.towers.problems import QUICK, split  # noqa: E402


def fit(R=None, left=None, right=None, weights=None, imputed=None, **settings):
    R = split()[0] if R is None else R
    return nearer.TwoTower(**{**QUICK, "max_epochs": 2, **settings}).fit(
        R, left, right, left_weights=weights, imputed=imputed
    )


CASES = {
    "dense": (lambda: fit(np.ones((3, 3))), "R", "ndarray"),
    "no pairs": (lambda: fit(sparse.csr_matrix((4, 5))), "R", "no pairs"),
    "one item": (lambda: fit(sparse.csr_matrix(np.ones((4, 1)))), "R", "single right"),
    "transposed": (lambda: fit(split()[0].csr().T, right=np.ones((60, 2))), "R", "transposed"),
    "rows of features": (lambda: fit(left=np.ones((7, 2))), "left", "7 rows"),
    "NaN": (lambda: fit(left=np.full((120, 2), np.nan)), None, "NaN"),
    "unknown inputs": (lambda: fit(inputs="clicks"), "inputs", "clicks"),
    "features missing": (lambda: fit(inputs="features"), "inputs", "pass left"),
    "features unused": (lambda: fit(left=np.ones((120, 2)), inputs="ids"), "inputs", "unused"),
    "kink": (lambda: fit(loss=HingeLoss()), "loss", "second derivative"),
    "solver": (lambda: fit(solver="svrg"), None, "svrg"),
    "als and logistic": (lambda: fit(solver="als", inputs="ids"), None, "square"),
    "als and history": (lambda: fit(solver="als", loss="square"), None, "least_squares"),
    "dropout": (lambda: fit(dropout=1.0), "dropout", "below 1"),
    "missing": (lambda: fit(missing="zero"), "missing", "zero"),
    "validation": (lambda: fit(validation=1.5), "validation", "1.5"),
    "dtype": (lambda: fit(dtype="float16"), "dtype", "float16"),
    "device": (lambda: fit(device="cuda:99"), "device", "cpu"),
    "weights": (lambda: fit(weights=np.ones(3)), "left_weights", "120"),
    "imputed": (lambda: fit(imputed=(np.ones((120, 2)), np.ones((60, 3)))), "imputed", "columns"),
    "hidden": (lambda: fit(hidden=(0,)), "hidden", "0"),
    "one width": (lambda: fit(hidden=64), "hidden", "(256, 256)"),
    "modules that are none": (lambda: fit(modules=(1, 2)), "modules", "torch.nn.Module"),
    "one module": (lambda: fit(modules=torch.nn.Linear(1, 1)), "modules", "pair"),
    "row that is named": (lambda: fit().recommend([0, 120]), "rows", "not 120"),
    "row out of range": (lambda: fit().recommend([120]), "rows", "119"),
    "unknown name": (lambda: fit().recommend(["ann"]), "rows", "ann"),
    "no such features": (lambda: fit().embed_left(features=np.ones((1, 2))), "features", "left out"),
    "history too wide": (lambda: fit().embed_left(history=sparse.csr_matrix((1, 61))), "R", "61 columns"),
    "ending": (lambda: fit().export("embeddings.txt"), "path", ".npz"),
    "time": (lambda: nearer.TwoTower().search(split()[0], seconds=-1), "seconds", "-1"),
}


@pytest.mark.parametrize(("work", "parameter", "said"), CASES.values(), ids=CASES)
def test_bad_input_is_named(work, parameter, said):
    with pytest.raises(InputError) as caught:
        work()
    assert caught.value.parameter == parameter
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_new_entities_need_what_the_tower_sees():
    model = nearer.TwoTower(**{**QUICK, "max_epochs": 2}).fit(
        split()[0], right=np.random.default_rng(0).random((60, 2))
    )
    with pytest.raises(InputError, match="must be passed: the right tower sees features"):
        model.embed_right(history=sparse.csr_matrix((1, 120)))
    with pytest.raises(InputError, match="5 columns"):
        model.embed_right(features=np.ones((1, 5)))
