"""Fits in two real processes over gloo: the numbers of one process, checkpoints, shares of a folder, the command."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import nearer  # noqa: E402
from nearer._utils.group import Group  # noqa: E402
from nearer.solvers import BlockSampling, GaussNewton, OnlineGramians  # noqa: E402
from nearer.towers.spreading import Side, parts_of  # noqa: E402
from tests.refusals import refused  # noqa: E402
from tests.towers.distributed import ROOT, in_processes  # noqa: E402
from tests.towers.problems import split  # noqa: E402

LINEAR = {"hidden": (), "inputs": "ids"}
DEEP = {"hidden": (6,), "inputs": ("history", "ids+features")}
#: few products: conjugate gradients amplify the last digit tenfold per three products, in one process too
NEWTON = GaussNewton(max_products=8)
#: settings of fits, and the relative difference that rounding may make
FITS = {
    "newton": ({**LINEAR, "solver": NEWTON, "max_epochs": 5}, 1e-9),
    "newton with networks": ({**DEEP, "solver": NEWTON, "max_epochs": 3}, 1e-9),
    "gd": ({**LINEAR, "solver": "gd", "max_epochs": 6}, 1e-9),
    "gd-diag with networks": ({**DEEP, "solver": "gd-diag", "max_epochs": 6}, 1e-9),
    "full-adam": ({**LINEAR, "solver": "full-adam", "max_epochs": 6}, 1e-9),
    "full-adam with networks": ({**DEEP, "solver": "full-adam", "max_epochs": 6}, 1e-9),
    "sogram": ({**LINEAR, "solver": OnlineGramians(share=0.2, step=1e-3), "max_epochs": 2}, 1e-9),
    "sogram with networks": ({**DEEP, "solver": OnlineGramians(share=0.2, step=5e-5), "max_epochs": 2}, 1e-9),
    "sg": ({**LINEAR, "solver": OnlineGramians(share=0.5, alpha=1.0, step=1e-3), "max_epochs": 1}, 1e-9),
    "sampling": ({**DEEP, "solver": BlockSampling(share=0.3, step=1e-4), "max_epochs": 1}, 1e-9),
    "als": ({**LINEAR, "loss": "square", "missing": 0.0, "max_epochs": 3}, 1e-9),
    "als with features": ({"hidden": (), "inputs": ("ids", "ids+features"), "loss": "square", "solver": "als",
                           "max_epochs": 3}, 1e-9),
    "the default": ({"hidden": (6,), "max_epochs": 5, "validation": 0.1}, 1e-9),
    "histories of both": ({"hidden": (6,), "inputs": ("ids+history", "history+features"), "max_epochs": 3}, 1e-9),
}  # fmt: skip
SETTINGS = {"n_components": 4, "dtype": "float64", "tol": 0, "random_state": 0}

SCRIPT = """
import numpy as np
from nearer._utils.group import processes
from tests.towers.test_distributed import FITS, fitted
found = {}
for name, (settings, _) in FITS.items():
    model = fitted(settings)
    found |= {f"{name}/{what}": value for what, value in numbers(model).items()}
np.savez(f"found{processes().rank}.npz", **found)
""".replace("fitted\n", "fitted, numbers\n")


def fitted(settings):
    train, _ = split()
    features = np.random.default_rng(0).normal(size=(train.n_right, 3))
    given = (None, features) if "features" in str(settings.get("inputs")) else ()
    return nearer.TwoTower(**SETTINGS, **settings).fit(train, *given)


def numbers(model):
    return {
        "objective": model.result_.history["objective"],
        "P": model.left_embedding_,
        "Q": model.right_embedding_,
        "parameters": model.parameters_,
    }


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """What all fits found in two processes."""
    folder = tmp_path_factory.mktemp("together")
    in_processes(SCRIPT, folder)
    return [np.load(folder / f"found{rank}.npz") for rank in range(2)]


@pytest.mark.parametrize("name", FITS)
def test_two_processes_find_what_one_does(name, together):
    settings, tolerance = FITS[name]
    alone = numbers(fitted(settings))
    assert len(alone["objective"]) > 1
    assert alone["objective"][-1] < alone["objective"][0]
    np.testing.assert_allclose(together[0][f"{name}/objective"], alone["objective"], rtol=tolerance)
    for what, value in alone.items():
        # every process has the whole model
        assert np.array_equal(together[0][f"{name}/{what}"], together[1][f"{name}/{what}"])
        np.testing.assert_allclose(
            together[0][f"{name}/{what}"], value, rtol=0, atol=10 * tolerance * abs(value).max()
        )


RESUMED = """
import nearer
from nearer.towers import checkpoints
from tests.towers.test_distributed import SETTINGS
from tests.towers.problems import split
checkpoints.EVERY = 0.0
stop = (lambda progress: progress.epoch >= 4) if STOP else None
model = nearer.TwoTower(**SETTINGS, hidden=(6,), inputs=("history", "ids"), solver="full-adam", max_epochs=9,
    checkpoint="fit.npz", callback=stop).fit(split()[0])
print(model.result_.n_epochs, repr(float(model.result_.history["objective"][-1])))
"""


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1)])
def test_a_fit_continues_in_another_number_of_processes(before, after, tmp_path):
    whole = fitted({"hidden": (6,), "inputs": ("history", "ids"), "solver": "full-adam", "max_epochs": 9})
    first = in_processes(RESUMED.replace("STOP", "True"), tmp_path, before)
    assert [said.split()[0] for said in first] == ["4"] * before
    assert (tmp_path / "fit.npz").exists()
    second = in_processes(RESUMED.replace("STOP", "False"), tmp_path, after)
    for said in second:
        n_epochs, objective = said.split()
        assert n_epochs == "9"
        assert float(objective) == pytest.approx(whole.result_.history["objective"][-1], rel=1e-9)
    assert not (tmp_path / "fit.npz").exists()


STOPPED = """
import time, nearer
from nearer._utils.group import processes
from tests.towers.test_distributed import SETTINGS
from tests.towers.problems import split
rank = processes().rank
# only process 1 wants to stop
stop = (lambda progress: progress.epoch >= 3) if rank == 1 else None
model = nearer.TwoTower(**{**SETTINGS, "random_state": None}, hidden=(), inputs="ids", solver="gd", max_epochs=500,
    callback=stop).fit(split()[0])
print(model.result_.stop_reason, model.result_.n_epochs, model.result_.details["processes"], model.parameters_.sum())
"""


def test_processes_stop_together_and_share_the_draws_of_the_first(tmp_path):
    said = in_processes(STOPPED, tmp_path)
    assert said[0] == said[1]
    assert said[0].split()[:3] == ["callback", "3", "2"]


OTHER_DATA = """
import nearer
from nearer._utils.group import processes
from nearer.errors import InputError
from tests.towers.test_distributed import SETTINGS
from tests.towers.problems import split
try:
    nearer.TwoTower(**SETTINGS, hidden=()).fit(split(processes().rank)[0])
except InputError as error:
    print(error.problem)
try:
    nearer.TwoTower(**SETTINGS).search(split()[0], seconds=1)
except InputError as error:
    print(error.problem)
"""


def test_what_processes_cannot_do_is_one_sentence_in_each(tmp_path):
    for said in in_processes(OTHER_DATA, tmp_path):
        other, search = said.splitlines()
        assert "process 1 has other data or settings" in other
        assert "one process" in search


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


SHARED = """
from nearer import Interactions
from nearer._utils.group import own_rank
from nearer.errors import InputError
pairs = Interactions.read("clicks", shared=True)
assert pairs == Interactions.read("clicks")
pairs.write(f"read{own_rank()}.parquet")
try:
    Interactions.read("damaged", shared=True)
except InputError as error:
    print(error)
"""


def write_folder(folder, n_files=3):
    import pandas as pd

    train, _ = split()
    table = pd.DataFrame({"user": train.left, "item": train.right}).sample(frac=1, random_state=0).astype(str)
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(table)), n_files)):
        table.iloc[rows].to_parquet(folder / f"part-{number}.parquet", index=False)
    return table


def test_processes_share_the_files_of_a_folder_and_its_errors(tmp_path):
    table = write_folder(tmp_path / "clicks")
    write_folder(tmp_path / "damaged")
    content = (tmp_path / "damaged" / "part-1.parquet").read_bytes()
    (tmp_path / "damaged" / "part-1.parquet").write_bytes(content[:200] + b"\0" * 50 + content[250:])
    for said in in_processes(SHARED, tmp_path):
        assert "part-1.parquet" in said
    whole = nearer.Interactions.from_frame(table)
    assert nearer.Interactions.read(tmp_path / "read0.parquet") == whole
    assert nearer.Interactions.read(tmp_path / "read1.parquet") == whole


def test_the_command_runs_in_two_processes(tmp_path):
    write_folder(tmp_path / "clicks")

    def run(*arguments):
        command = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc-per-node=2",
            "-m",
            "nearer",
        ]
        done = subprocess.run(
            [*command, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=100,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"}, check=False,
        )  # fmt: skip
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
    import pandas as pd

    top = pd.read_parquet(tmp_path / "top.parquet")
    items = np.array(model.recommend(k=3, names=True).items)
    assert (top["right"].to_numpy().reshape(items.shape) == items).all()
    assert list(top["left"][::3]) == list(model.left_names_)
