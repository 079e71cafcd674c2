"""TwoTower on a GPU equals TwoTower on the CPU, with pairs on the card or streamed to it."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import nearer  # noqa: E402
from nearer.errors import InputError  # noqa: E402
from nearer.towers import assembly, checkpoints  # noqa: E402
from nearer.towers.memory import MemoryPlan  # noqa: E402
from tests.towers.distributed import in_processes  # noqa: E402
from tests.towers.problems import QUICK, split  # noqa: E402
from tests.towers.together import FITS, ON_CARD, numbers  # noqa: E402
from tests.towers.together import fitted as fitted_alone  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

IDS = {"inputs": "ids", "max_epochs": 5}
MODELS = {
    "history": {"max_epochs": 5, "dropout": 0.0, "solver": "full-adam"},
    "network on history": {"hidden": (16,), "max_epochs": 5, "dropout": 0.0, "solver": "full-adam"},
    "ids": IDS,
    "ids by least squares": {**IDS, "loss": "square", "missing": 0.0, "omega": 0.2},
    "ids through a network": {**IDS, "linear": False, "hidden": (16,), "solver": "full-adam"},
    "newton": {**IDS, "solver": "newton"},
    "gd-diag": {**IDS, "solver": "gd-diag"},
    "sogram": {**IDS, "solver": "sogram", "max_epochs": 1},
    "sampling": {**IDS, "solver": "sampling", "max_epochs": 1},
}


def fitted(**settings):
    return nearer.TwoTower(**{**QUICK, "dtype": "float64", **settings}).fit(split()[0])


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS)
def test_a_fit_on_a_card_is_that_of_the_cpu(settings, streamed, monkeypatch):
    here = fitted(**settings)
    if streamed:
        monkeypatch.setattr(assembly, "plan_for", lambda *given: MemoryPlan(50, True, 5e9, 4e9))
    there = fitted(**settings, device="cuda")
    assert there.left_embedding_ == pytest.approx(here.left_embedding_, rel=1e-5, abs=1e-7)
    assert there.result_.objective == pytest.approx(here.result_.objective, rel=1e-8)
    assert "the card has" in there.result_.details["memory"]


def test_float32_and_tf32_are_close_to_float64():
    settings = {**MODELS["ids through a network"], "device": "cuda"}
    exact, *rounded = (
        fitted(**settings, dtype=dtype).result_.objective for dtype in ("float64", "float32", "tf32")
    )
    assert rounded[0] == pytest.approx(exact, rel=1e-5)
    assert rounded[1] == pytest.approx(exact, rel=1e-2)


def test_a_fit_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "EVERY", 0.0)
    path = tmp_path / "fit.npz"
    settings = {**IDS, "solver": "full-adam", "device": "cuda"}
    whole = fitted(**settings)
    fitted(**settings, checkpoint=path, callback=lambda progress: progress.epoch == 3)
    assert path.exists()
    again = fitted(**settings, checkpoint=path)
    assert again.left_embedding_ == pytest.approx(whole.left_embedding_)
    assert not path.exists()


def test_features_and_validation_on_a_card():
    train, test = split()
    features = np.eye(train.shape[1])[:, :20]
    settings = {
        **QUICK,
        "dtype": "float64",
        "inputs": ("ids", "ids+features"),
        "validation": 0.1,
        "max_epochs": 5,
    }
    here, there = (
        nearer.TwoTower(**settings, device=device).fit(train, right=features) for device in ("cpu", "cuda")
    )
    assert there.score(test) == pytest.approx(here.score(test), abs=1e-3)


def test_too_much_for_the_card_is_said_in_words():
    with (
        pytest.raises(InputError, match="memory of the card was not enough"),
        pytest.warns(UserWarning, match="will probably run out of memory"),
    ):
        fitted(n_components=200_000, inputs="ids", solver="full-adam", device="cuda", dtype="float32")


@pytest.mark.parametrize("size", [1, 2], ids=["one over NCCL", "two that share a card over gloo"])
def test_processes_on_a_card_find_what_one_does(size, tmp_path):
    in_processes("from tests.towers.together import on_card; on_card()", tmp_path, size)
    together = [np.load(tmp_path / f"found{rank}.npz") for rank in range(size)]
    for name in ON_CARD:
        for what, value in numbers(fitted_alone(FITS[name])).items():
            for one in together:
                close = {"rtol": 1e-6, "atol": 1e-6 * abs(value).max()}
                np.testing.assert_allclose(one[f"{name}/{what}"], value, **close, err_msg=f"{name}: {what}")
