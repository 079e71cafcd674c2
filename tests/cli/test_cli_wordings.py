"""Refusals say what was met in the user's words, and list what would be right."""

import pytest

PAIRS = "user,item\nu1,i1\nu2,i2\nu1,i2\nu3,i1\nu3,i4\n"


@pytest.fixture(autouse=True)
def files(tmp_path):
    (tmp_path / "pairs.csv").write_text(PAIRS)
    (tmp_path / "bare.csv").write_text(PAIRS.partition("\n")[2])
    (tmp_path / "wide.csv").write_text("u1,i1,4\nu2,i2,5\n")
    (tmp_path / "others.csv").write_text("user,item\nu9,i1\n")


@pytest.mark.parametrize(
    ("arguments", "says", "never"),
    [
        ("pairs.csv --model tags", "only 'user', 'item', but a row has three cells", "without names"),
        ("bare.csv --model tags", "there are 2 columns, but a row has three", "without names"),
        ("wide.csv --model links --no-header", "which are the left and the right", "without names"),
        ("pairs.csv --model multilabel --loss foo", "'--loss': 'foo' is not one of", "Value error"),
        ("pairs.csv --model multilabel --rank 0", "'--rank': must be greater", "Input should"),
        ("pairs.csv --model links --at-least x", "'--at-least': must be a valid number", "parse"),
        ("pairs.csv --model links --at-least 5", "no pairs are left with --at-least 5", "check"),
    ],
)
def test_fit(run, arguments, says, never):
    assert never not in run(f"fit {arguments}", exits=2, says=[says]).stderr


def test_names_that_a_model_knows_are_listed(run):
    run("fit pairs.csv --model links --beta 1 --test-size 0", exits=0)
    says = ["'u9' is not one of the names given ('u1', 'u2', 'u3')"]
    run("evaluate model.nearer others.csv", exits=2, says=says)


def test_exports_list_their_endings(run, clicked):
    for name in ("towers.txt", "towers"):
        says = [f"{name}: must end with .npz, .parquet or .usearch, not "]
        run("export", clicked / "towers.nearer", name, exits=2, says=says)
    run("export", clicked / "towers.nearer", "towers.NPZ", exits=0)


def test_users_and_items_are_not_one_set(run):
    shown = run("fit pairs.csv --model links --graph undirected --beta 1 --test-size 0", exits=0).stderr
    assert shown.count("share no name") == 1
    assert "pass --graph bipartite" in shown
