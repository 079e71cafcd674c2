"""`nearer fit --model links`, and `evaluate`, `predict` and `recommend` for its models."""

import csv

import numpy as np
import pytest

import nearer
from tests.cli.conftest import facts_of

SMALL = ("--model", "links", "--graph", "undirected", "--beta", 2)


def pairs_of(path):
    with path.open() as stream:
        return [(row["left"], row["right"]) for row in csv.DictReader(stream)]


def test_fit_tells_held_out_links_from_other_pairs(run, friends, tmp_path):
    facts = facts_of(run("fit", friends / "friends.csv", *SMALL, "--json"))
    n_links = len(pairs_of(friends / "friends.csv")) // 2  # each is stored in both directions
    assert facts["n_train"] + facts["n_test"] == n_links
    assert facts["n_test"] == round(0.1 * n_links)
    assert facts["scores"]["auc"] > 0.85
    assert facts["scores"]["ap"] > 0.15
    model = nearer.load(tmp_path / "model.nearer")
    assert (model.graph_, model.beta, model.callback) == ("undirected", 2.0, None)
    assert (
        len(model.seen_columns_) == 2 * facts["n_train"]
    )  # no held-out link has been learned the other way round
    assert model.result_.objective == facts["objective"]


def test_fit_prints_held_out_scores(run, friends):
    shown = run("fit", friends / "friends.csv", *SMALL, exits=0).stdout
    for part in ("undirected", "dimension", "held-out AUC", "held-out average precision", "did not see"):
        assert part in shown
    shown = run("fit", friends / "friends.csv", *SMALL, "--test-size", 0, "--force", exits=0).stdout
    assert "held-out" not in shown


def test_two_sets_that_may_be_one_are_reported(run, friends):
    result = run("fit", friends / "friends.csv", "--model", "links", "--beta", 5, exits=0)
    assert "friends.csv: every link is stored in both directions; pass --graph undirected" in result.stderr
    assert "left and" in result.stdout


def test_scores_are_those_of_the_estimator(run, friends):
    facts = facts_of(run("evaluate", friends / "links.nearer", friends / "later.csv", "--json"))
    model = nearer.load(friends / "links.nearer")
    lefts, rights = zip(*pairs_of(friends / "later.csv"), strict=True)
    links = nearer.Interactions(
        list(lefts), list(rights), left_names=model.left_names_, right_names=model.right_names_
    )
    assert facts["scores"] == {"auc": model.score(links), "ap": model.average_precision(links)}
    assert (facts["n_links"], facts["n_seen"]) == (len(lefts), 0)
    shown = run("evaluate", friends / "links.nearer", friends / "later.csv", exits=0).stdout
    assert "average precision" in shown
    run(
        "evaluate", friends / "links.nearer", friends / "friends.csv", exits=2, says=["has seen all of these"]
    )


def test_predict_adds_whether_pairs_are_linked(run, friends, tmp_path):
    result = run("predict", friends / "links.nearer", friends / "later.csv", exits=0)
    rows = list(csv.DictReader(result.stdout.splitlines()))
    model, pairs = nearer.load(friends / "links.nearer"), pairs_of(friends / "later.csv")
    assert [(row["left"], row["right"]) for row in rows] == pairs
    assert [int(row["predicted_link"]) for row in rows] == model.predict(pairs).tolist()
    assert np.allclose([float(row["probability"]) for row in rows], model.predict_proba(pairs))
    text = (friends / "later.csv").read_text().replace("left,right", "who,whom")
    (tmp_path / "other.csv").write_text(text)
    run("predict", friends / "links.nearer", "other.csv", exits=2, says=["other.csv", "--left who"])
    columns = ("--left", "who", "--right", 1, "--json")
    facts = facts_of(run("predict", friends / "links.nearer", "other.csv", *columns))
    assert [row["predicted_link"] for row in facts["predictions"]] == model.predict(pairs).tolist()


def test_recommend_lists_new_links(run, friends, tmp_path):
    (tmp_path / "names.txt").write_text("p3\np4\n")
    facts = facts_of(run("recommend", friends / "links.nearer", "--rows", "names.txt", "--k", 3, "--json"))
    best = nearer.load(friends / "links.nearer").recommend(["p3", "p4"], 3, names=True)
    assert [row["right"] for row in facts["recommendations"]] == best.items.ravel().tolist()


def test_numbers_and_features(run, friends, tmp_path):
    rng = np.random.default_rng(0)
    places = rng.normal(size=(30, 2)).round(3)
    near = np.argwhere(((places[:, None] - places) ** 2).sum(axis=2) + 9 * np.eye(30) < 1)
    (tmp_path / "pairs.csv").write_text("left,right\n" + "\n".join(f"{i},{j}" for i, j in near))
    rows = "\n".join(f"{at},{x},{y}" for at, (x, y) in enumerate(places))
    (tmp_path / "places.csv").write_text(f"id,x,y\n{rows}\n")
    options = ("--model", "links", "--graph", "directed", "--beta", 1, "--left-features", "places.csv")
    facts = facts_of(run("fit", "pairs.csv", *options, "--json"))
    assert facts["n_left"] == facts["n_right"] == 30
    assert facts["scores"]["auc"] > 0.8
    (tmp_path / "asked.csv").write_text("left,right\n0,1\n29,30\n")
    says = ["asked.csv, row 1", "'30'", "from 0 to 29"]
    run("predict", "model.nearer", "asked.csv", exits=2, says=says)
    (tmp_path / "asked.csv").write_text("left,right\n0,1\n5,5\n")
    run("predict", "model.nearer", "asked.csv", exits=2, says=["asked.csv", "paired with itself"])
    both = (*options, "--right-features", "places.csv", "--force")
    run("fit", "pairs.csv", *both, exits=2, says=["--right-features", "two sets"])


@pytest.mark.parametrize(
    ("options", "parameter", "value"),
    [
        (["--negatives", 2], "negatives", 2),
        (["--negatives", "all"], "negatives", "all"),
        (["--rule", "either"], "rule", "either"),
        (["--offset", -4], "offset", -4.0),
        (["--balance", 0.4], "balance", 0.4),
        (["--balance", "none"], "balance", None),
        (["--loss", "logistic"], "loss", "logistic"),
        (["--rank", 2], "max_rank", 2),
        (["--max-epochs", 1], "max_epochs", 1),
    ],
)
def test_options_reach_the_estimator(run, friends, options, parameter, value):
    run("fit", friends / "friends.csv", *SMALL, *options, exits=0)
    assert nearer.load("model.nearer").get_params()[parameter] == value


def test_options_left_out_keep_the_defaults_of_the_estimator(run, friends):
    run("fit", friends / "later.csv", "--model", "links", "--max-epochs", 1, "--max-seconds", 2, exits=0)
    expected = nearer.LinkPredictor(max_epochs=1, max_seconds=2.0, random_state=0).get_params()
    assert nearer.load("model.nearer").get_params() == expected


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--beta weak", ["--beta"]),
        ("--negatives some", ["--negatives", "all"]),
        ("--negatives 0", ["--negatives"]),
        ("--graph tree", ["--graph", "undirected"]),
        ("--rule all", ["--rule", "either"]),
        ("--offset low", ["--offset"]),
        ("--offset nan", ["--offset"]),
        ("--balance 0", ["--balance", "above 0"]),
        ("--balance even", ["--balance", "even"]),
        ("--loss soe", ["--loss", "smooth-hinge"]),
        ("--left who", ["--left is 'who'"]),
        ("--left-features none.csv", ["none.csv"]),
        ("--dim 3", ["--dim", "not links"]),
        ("--omega 1", ["--omega", "not links"]),
        ("--labels right", ["--labels", "not links"]),
        ("--user left", ["--user", "not links"]),
    ],
)
def test_what_cannot_be_used_is_refused(run, friends, tmp_path, options, says):
    run("fit", friends / "friends.csv", "--model", "links", *options.split(), exits=2, says=says)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("left,right\n", ["pairs.csv"]),
        ("left,friend\na,b\nb,c\n", ["pairs.csv", "--right COLUMN"]),
        ("left,right\na,b\nb,b\nc,a\n", ["pairs.csv", "'b' with itself", "--graph bipartite"]),
        ("left,right\na,b\nb,c\nc,a\n", ["pairs.csv", "links all pairs"]),
        ("left,right\na,b\nb,\n", ["pairs.csv, line 3", "--invalid drop"]),
    ],
)
def test_files_that_cannot_be_used_are_refused(run, tmp_path, text, says):
    (tmp_path / "pairs.csv").write_text(text)
    run("fit", "pairs.csv", *SMALL, "--test-size", 0, exits=2, says=says)
    assert not (tmp_path / "model.nearer").exists()


def test_models_and_names_of_another_kind_are_refused(run, friends, fitted, tmp_path):
    model = friends / "links.nearer"
    (tmp_path / "strange.csv").write_text("left,right\np1,p2\np3,eve\n")
    says = ["strange.csv, row 1", "'right'", "'eve'"]
    run("predict", model, "strange.csv", exits=2, says=says)
    run("evaluate", model, "strange.csv", exits=2, says=["strange.csv", "eve"])
    run("export", model, "e.parquet", exits=2, says=["LinkPredictor"])
    run("evaluate", model, "strange.csv", "--codes", "first=1", exits=2, says=["--codes", "LinkPredictor"])
    run(
        "predict", fitted / "model.nearer", "strange.csv", "--left", "left", exits=2, says=["--left", "links"]
    )


def test_ctrl_c_keeps_the_best_so_far(interrupted, friends):
    interrupted("fit", friends / "friends.csv", *SMALL[:4], "--beta", 1e-9, "--tol", 0, "--json")
