"""What a fit says of a card's memory, and what it does if there is too little; without a card."""

from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch")

import nearer  # noqa: E402
from nearer.errors import InputError  # noqa: E402
from nearer.objectives.streamed import StreamedPairs  # noqa: E402
from nearer.towers import assembly, memory  # noqa: E402
from nearer.towers.memory import MemoryPlan, Need, plan_for  # noqa: E402
from tests.towers.problems import QUICK, split  # noqa: E402

NEED = Need(fixed=4e9, per_row=1e4, rows=500_000, per_pair=1e9, orders=2e9)


def test_chunks_of_the_user_are_kept():
    assert MemoryPlan.of(NEED, 1000, 20e9).chunk_rows == 1000
    assert MemoryPlan.of(NEED, 1000, 6e9) == MemoryPlan(1000, True, NEED.fixed + 1e7 + NEED.per_pair, 6e9)


def test_main_memory_is_not_planned():
    plan = plan_for(NEED, None, "cpu")
    assert (plan.chunk_rows, plan.streamed, str(plan)) == (65536, False, "")


def a_card_of(free, monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, free))
    for name in ("memory_reserved", "memory_allocated"):
        monkeypatch.setattr(torch.cuda, name, lambda device: 0)


def test_a_card_that_is_too_small_is_named_before_the_fit(monkeypatch):
    a_card_of(4e9, monkeypatch)
    with pytest.warns(UserWarning, match=r"needs about 5\.7 GB, the card has 4\.0.*fewer n_components"):
        assert plan_for(NEED, None, "cuda").streamed
    a_card_of(20e9, monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not plan_for(NEED, None, "cuda").streamed


@pytest.mark.parametrize("solver", ["full-adam", "newton", "sogram", "als", "sampling", "auto"])
def test_a_fit_with_streamed_pairs_is_the_same(solver, monkeypatch):
    settings = {**QUICK, "inputs": "ids", "dtype": "float64", "max_epochs": 4, "solver": solver}
    if solver == "als":
        settings["loss"] = "square"
    train, _ = split()
    whole = nearer.TwoTower(**settings).fit(train)
    plan = MemoryPlan(7, True, 5e9, 4e9)
    monkeypatch.setattr(assembly, "plan_for", lambda *given: plan)
    made = []
    monkeypatch.setattr(
        assembly,
        "StreamedPairs",
        lambda *a, **k: made.append(StreamedPairs(*a, **k, block_pairs=100)) or made[-1],
    )
    streamed = nearer.TwoTower(**settings).fit(train)
    assert made[0].n_blocks > 5
    assert streamed.result_.details["memory"] == str(plan)
    assert streamed.left_embedding_ == pytest.approx(whole.left_embedding_, rel=1e-6, abs=1e-9)


def test_the_sentence_on_memory_is_shown(monkeypatch, capsys):
    monkeypatch.setattr(assembly, "plan_for", lambda *given: MemoryPlan(100, False, 2e9, 4e9))
    nearer.TwoTower(**{**QUICK, "max_epochs": 2}, verbose=True).fit(split()[0])
    assert "the fit needs about 2.0 GB, the card has 4.0" in capsys.readouterr().err


def test_a_card_that_runs_out_is_told_in_words():
    plan = MemoryPlan(100, False, 2e9, 4e9)
    with (
        pytest.raises(
            InputError, match=r"not enough \(the fit needs about 2\.0 GB, the card has 4\.0\).*'cpu'"
        ),
        memory.out_of_memory_in_words(plan),
    ):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "tf32"])
def test_rounding_is_allowed_during_the_fit_alone(dtype, before):
    settings, seen = torch.backends.cuda.matmul, []
    users = settings.allow_tf32
    try:
        settings.allow_tf32 = before
        callback = lambda progress: seen.append(settings.allow_tf32)  # noqa: E731
        model = nearer.TwoTower(**{**QUICK, "max_epochs": 2}, dtype=dtype, callback=callback).fit(split()[0])
        assert settings.allow_tf32 == before
    finally:
        settings.allow_tf32 = users
    assert seen
    assert set(seen) == {dtype == "tf32"}
    assert model.left_embedding_.dtype == "float32"


def test_a_model_with_rounded_products_can_be_saved(tmp_path):
    model = nearer.TwoTower(**{**QUICK, "max_epochs": 2}, dtype="tf32").fit(split()[0])
    nearer.save(model, tmp_path / "towers.nearer")
    loaded = nearer.load(tmp_path / "towers.nearer")
    assert loaded.dtype == "tf32"
    assert (loaded.left_embedding_ == model.left_embedding_).all()
