"""Fits in two real processes over gloo: the numbers of one process, checkpoints, shares of a folder, the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch")

import nearer  # noqa: E402
from nearer._utils.group import Group  # noqa: E402
from nearer.objectives.spread import SpreadTensor  # noqa: E402
from nearer.towers import assembly, checkpoints  # noqa: E402
from nearer.towers.spreading import Side, parts_of  # noqa: E402
from tests.refusals import refused  # noqa: E402
from tests.towers.distributed import ROOT, in_processes  # noqa: E402
from tests.towers.problems import split  # noqa: E402
from tests.towers.together import FITS, LONG, STOP_AT, fitted, numbers, stopped  # noqa: E402


def write_folder(folder, n_files=3):
    train, _ = split()
    table = pd.DataFrame({"user": train.left, "item": train.right}).sample(frac=1, random_state=0).astype(str)
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(table)), n_files)):
        table.iloc[rows].to_parquet(folder / f"part-{number}.parquet", index=False)
    return table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where two processes did all that `together.py` asks of them."""
    folder = tmp_path_factory.mktemp("together")
    write_folder(folder / "clicks")
    write_folder(folder / "damaged")
    damaged = folder / "damaged" / "part-1.parquet"
    content = damaged.read_bytes()
    damaged.write_bytes(content[:200] + b"\0" * 50 + content[250:])
    every = checkpoints.EVERY
    stopped(folder / "of-one.npz")
    checkpoints.EVERY = every
    in_processes("from tests.towers.together import main; main()", folder)
    return folder


@pytest.fixture(scope="module")
def together(folder):
    """What each of the two found."""
    return [np.load(folder / f"found{rank}.npz") for rank in range(2)]


@pytest.fixture(scope="module")
def said(folder):
    """What each of the two said."""
    return [json.loads((folder / f"said{rank}.json").read_text()) for rank in range(2)]


def check_same(together, name, model):
    for what, value in numbers(model).items():
        # every process has the whole model
        assert np.array_equal(together[0][f"{name}/{what}"], together[1][f"{name}/{what}"])
        found = together[0][f"{name}/{what}"]
        np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-8 * abs(value).max())


@pytest.mark.parametrize("name", FITS)
def test_two_processes_find_what_one_does(name, together):
    alone = fitted(FITS[name])
    objective = alone.result_.history["objective"]
    assert objective[-1] < objective[0]
    check_same(together, name, alone)


def test_a_fit_of_one_process_continues_in_two(together, folder):
    check_same(together, "continued", fitted(LONG))
    assert not (folder / "of-one.npz").exists()


def test_a_fit_of_two_processes_continues_in_one(folder):
    path = folder / "of-two.npz"
    with np.load(path) as file:
        assert file["history/epoch"][-1] == STOP_AT
    epochs = []
    model = fitted(LONG, checkpoint=path, callback=lambda progress: epochs.append(progress.epoch))
    assert epochs[0] == STOP_AT + 1
    for what, value in numbers(fitted(LONG)).items():
        np.testing.assert_allclose(numbers(model)[what], value, rtol=1e-9, atol=1e-8 * abs(value).max())


def test_processes_stop_together_and_share_the_draws_of_the_first(together, said):
    assert [one["stopped"] for one in said] == ["callback", "callback"]
    assert len(together[0]["stopped/objective"]) == 4
    assert np.array_equal(together[0]["stopped/parameters"], together[1]["stopped/parameters"])
    assert said[0]["details"]["processes"] == 2
    assert said[0]["details"]["bytes_sent"] > 1000


def test_what_processes_cannot_do_is_one_sentence_in_each(said):
    for one in said:
        for name in ("other data", "other weights", "other epochs", "one checkpoint"):
            assert "process 1 has other data or settings" in one[name], name
        assert "one process" in one["search"]
        assert "part-1.parquet" in one["damaged folder"]
        assert one["too few"] == "nothing"


def test_processes_share_the_files_of_a_folder(folder, tmp_path):
    whole = nearer.Interactions.from_frame(write_folder(tmp_path / "clicks"))
    assert nearer.Interactions.read(tmp_path / "clicks") == whole
    for rank in range(2):
        assert nearer.Interactions.read(folder / f"read{rank}.parquet") == whole


def several(size):
    group = Group()
    group.size = size
    return group


def test_parts_hold_similar_numbers_of_pairs_and_an_entity_at_least():
    matrix = split()[0].csr()
    parts = parts_of(matrix, several(4))
    assert parts.left.bounds[0] == parts.pairs.bounds[0] == 0
    assert (parts.left.count, parts.right.count, parts.pairs.count) == (*matrix.shape, matrix.nnz)
    shares = np.diff(parts.pairs.bounds) / matrix.nnz
    assert abs(shares - 0.25).max() < 0.05
    lonely = matrix.copy()
    lonely.data[lonely.indptr[1] :] = 0  # all pairs are of the first entity
    lonely.eliminate_zeros()
    assert np.diff(parts_of(lonely, several(5)).left.bounds).min() >= 1
    with refused("60 right entities for 61 processes"):
        parts_of(matrix, several(61))


def test_a_part_of_a_side_has_its_rows():
    matrix = split()[0].csr()
    side = Side(120, ("history",), np.arange(240.0).reshape(120, 2), matrix, np.arange(120.0))
    part = side.part(slice(30, 50))
    assert (part.n_rows, part.first) == (20, 30)
    assert (part.features[0, 0], part.weights[0]) == (60, 30)
    assert part.seen.shape == (20, 60)
    assert (part.within.n_entries, part.within.first_entry) == (matrix.nnz, matrix.indptr[30])


def test_a_process_prepares_its_part_in_main_memory_and_moves_it_to_its_card(monkeypatch):
    """The device "meta" stands for a card: it refuses to work with tensors in main memory."""
    made = {}

    class Objective:
        def __init__(self, pairs, left, right, loss, weights, **others):
            made.update(weights=weights, left=left)
            self.spread = SpreadTensor((left, right), others["parts"], "meta", torch.float64)

    monkeypatch.setattr(assembly, "TowerObjective", Objective)
    monkeypatch.setattr(assembly, "observed_pairs", lambda *arguments, **settings: None)
    pairs = split()[0].csr()
    sides = Side(120, ("features",), np.ones((120, 2))), Side(60, ("ids",))
    penalty = assembly.Penalty(0.1, 0.5)
    terms = assembly.TowerTerms(None, 1.0, -1.0, penalty, 100, 0.0, torch.float64, "meta")
    architecture = assembly.Architecture(3, (), True)
    rng = np.random.default_rng(0)
    objective, start = assembly.objective_and_start(architecture, pairs, sides, terms, rng, several(2))
    weights = made["weights"]
    assert {weights.left.device.type, weights.right.device.type, objective.scales.device.type} == {"meta"}
    assert len(weights.left) == made["left"].n_rows < 120
    assert len(start) == len(objective.scales) == objective.spread.n_own


def test_the_command_runs_in_two_processes(tmp_path):
    write_folder(tmp_path / "clicks")
    launcher = (
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        "-m",
        "nearer",
    )

    def run(*arguments):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run(
            [*launcher, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=200,
            env=environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done

    options = (
        "--model",
        "towers",
        "--dim",
        "4",
        "--hidden",
        "6",
        "--max-epochs",
        "5",
        "--checkpoint",
        "fit.npz",
    )
    done = run("fit", "clicks/", *options, "--out", "model.nearer")
    assert done.stdout.count("held-out MAP@5") == 1  # one process prints
    model = nearer.load(tmp_path / "model.nearer")
    assert model.result_.details["processes"] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clicks", "model.nearer"]
    run("recommend", "model.nearer", "--k", "3", "--out", "top.parquet")
    top = pd.read_parquet(tmp_path / "top.parquet")
    items = np.array(model.recommend(k=3, names=True).items)
    assert (top["right"].to_numpy().reshape(items.shape) == items).all()
    assert list(top["left"][::3]) == list(model.left_names_)
