"""`nearer fit --model metric`, and `evaluate` and `predict` for its models."""

import csv
import tracemalloc

import numpy as np
import pytest

import nearer
from nearer.cli import _metric
from tests.cli.conftest import facts_of

BY_LABELS = ("--model", "metric", "--labels", "kind", "--beta", 0.05)
FEATURES = ("sweet", "sour", "noise", "dust", "shop=east", "shop=west")


@pytest.fixture
def by_answers(cups):
    return (
        "fit",
        cups / "answers.csv",
        "--model",
        "metric",
        "--features",
        cups / "features.csv",
        "--beta",
        0.02,
    )


def test_answers_teach_a_metric(run, cups, by_answers, tmp_path):
    facts = facts_of(run(*by_answers, "--json"))
    assert (facts["n_train"], facts["n_test"], facts["n_features"]) == (960, 240, 6)
    assert (facts["measure"], facts["score"] > 0.9) == ("accuracy", True)
    assert facts["score"] > facts["score_before"] + 0.1
    model = nearer.load(tmp_path / "model.nearer")
    assert tuple(model.feature_names_in_) == FEATURES
    assert (model.beta, model.random_state, model.callback) == (0.02, 0, None)
    Q = np.linalg.norm(model.metric_factor_, axis=1)
    assert Q[:2].min() > 5 * Q[2:].max()  # the features that count
    tables = (cups / "more.csv", "--features", cups / "features.csv")
    evaluated = facts_of(run("evaluate", "model.nearer", *tables, "--json"))
    assert (evaluated["score"] > 0.9, evaluated["n_answers"]) == (True, 300)


def test_labels_teach_a_metric(run, cups, tmp_path):
    facts = facts_of(run("fit", cups / "cups.csv", *BY_LABELS, "--ignore", "cup", "--json"))
    assert (facts["n_train"], facts["n_test"], facts["n_features"]) == (96, 24, 6)
    assert facts["score"] > facts["score_before"]
    evaluated = facts_of(run("evaluate", "model.nearer", cups / "cups.csv", "--labels", "kind", "--json"))
    assert (evaluated["measure"], evaluated["n_rows"]) == ("AUC of nearness", 120)
    assert facts_of(run("evaluate", "model.nearer", cups / "cups.csv", "--json")) == evaluated  # it remembers
    assert evaluated["score"] > evaluated["score_before"]


def test_scores_are_printed(run, cups, by_answers):
    shown = run(*by_answers, exits=0).stdout
    for part in (
        "1,200 about 40 objects with 6 features",
        "rank",
        "held-out accuracy",
        "240 answers",
        "plain distance has",
    ):
        assert part in shown
    shown = run(
        "fit", cups / "cups.csv", *BY_LABELS, "--ignore", "cup", "--test-size", 0, "--force", exits=0
    ).stdout
    assert "120 with 6 features" in shown
    assert "held-out" not in shown
    shown = run("evaluate", "model.nearer", cups / "cups.csv", "--labels", "kind", exits=0).stdout
    assert "AUC of nearness" in shown


def test_coordinates_have_the_distances_of_the_metric(run, cups, by_answers):
    run(*by_answers, exits=0)
    model = nearer.load("model.nearer")
    rows = list(csv.DictReader(run("predict", "model.nearer", cups / "cups.csv").stdout.splitlines()))
    points = np.array(
        [[float(row[f"dim{at + 1}"]) for at in range(model.metric_factor_.shape[1])] for row in rows]
    )
    numbers = [[float(row[name]) for name in FEATURES[:4]] for row in rows]
    X = np.hstack([numbers, [[row["shop"] == "east", row["shop"] == "west"] for row in rows]])
    difference = X[0] - X[1]
    learned = np.linalg.norm(difference @ model.metric_factor_)
    assert np.linalg.norm(points[0] - points[1]) == pytest.approx(learned)
    assert rows[0]["kind"] in ("green", "black")  # other columns stay
    facts = facts_of(run("predict", "model.nearer", cups / "cups.csv", "--json"))
    assert np.allclose([list(row.values()) for row in facts["coordinates"]], points)


@pytest.mark.parametrize(
    ("options", "parameter", "value"),
    [
        (["--neighbors", 2], "n_neighbors", 2),
        (["--loss", "squared-hinge"], "loss", "squared-hinge"),
        (["--rank", 1], "max_rank", 1),
        (["--max-epochs", 1], "max_epochs", 1),
    ],
)
def test_options_reach_the_estimator(run, cups, options, parameter, value):
    run("fit", cups / "cups.csv", *BY_LABELS, "--ignore", "cup", *options, exits=0)
    assert nearer.load("model.nearer").get_params()[parameter] == value


def test_options_left_out_keep_the_defaults_of_the_estimator(run, cups):
    run("fit", cups / "cups.csv", *BY_LABELS[:4], "--ignore", "cup", exits=0)
    expected = nearer.MetricLearner(random_state=0).get_params()
    assert nearer.load("model.nearer").get_params() == expected


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("", ["--labels", "--features"]),
        ("--labels kind --features features.csv", ["not both"]),
        ("--labels kind", ["'cup'", "120 different texts"]),
        ("--labels kind,shop", ["--labels", "2 columns"]),
        ("--labels tea", ["--labels", "'tea'"]),
        ("--labels kind --ignore cup --columns anchor=cup", ["--columns", "answers"]),
        ("--labels kind --ignore cup --loss soe", ["--loss"]),
        ("--labels kind --ignore cup --beta -1", ["--beta"]),
        ("--labels kind --ignore cup --separator |", ["--separator", "not metric"]),
        ("--labels kind --ignore cup --threshold 0", ["--threshold", "not metric"]),
        ("--labels kind --ignore cup --dim 2", ["--dim", "not metric"]),
        ("--labels kind --ignore cup --start old.nearer", ["--start"]),
        ("--labels shop --ignore cup,kind,sweet,sour,noise,dust", ["no column is left"]),
    ],
)
def test_what_cannot_be_used_is_refused(run, cups, tmp_path, options, says):
    run("fit", cups / "cups.csv", "--model", "metric", *options.split(), exits=2, says=says)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sweet,kind\n1,a\n2,a\n3,a\n", ["rows.csv", "one label only"]),
        ("sweet,kind\n1,a\n1,b\n1,a\n", ["rows.csv", "constant"]),
        ("sweet,kind\n1,a\nNaN,b\n3,a\n", ["rows.csv, row 1", "'sweet'"]),
        ("sweet,kind\n1,a\n2,\n3,a\n", ["rows.csv, row 1", "'kind'"]),
    ],
)
def test_rows_that_cannot_be_used_are_refused(run, tmp_path, text, says):
    (tmp_path / "rows.csv").write_text(text)
    options = ("--model", "metric", "--labels", "kind", "--test-size", 0)
    run("fit", "rows.csv", *options, exits=2, says=says)
    assert not (tmp_path / "model.nearer").exists()


def test_answers_and_features_that_do_not_fit_are_refused(run, cups, by_answers, tmp_path):
    lines = (cups / "features.csv").read_text().splitlines()
    used = [line for line in lines if not line.startswith(("cup3,", "cup4,"))]
    (tmp_path / "few.csv").write_text("\n".join(used))
    (tmp_path / "twice.csv").write_text("\n".join([*lines, lines[1]]))
    (tmp_path / "less.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines))
    answers = (*by_answers[:4], "--features")
    run(*answers, "few.csv", exits=2, says=["few.csv", "no row for 'cup3' and 1 other"])
    run(*answers, "twice.csv", exits=2, says=["twice.csv", "two rows"])
    options = (*by_answers, "--ignore", "sour")
    run(*options, exits=2, says=["--ignore", "labelled rows"])
    run(*by_answers, "--out", cups / "features.csv", exits=2, says=["input"])
    run(*by_answers, exits=0)
    tables = ("evaluate", "model.nearer", cups / "more.csv")
    run(*tables, exits=2, says=["--features"])
    run(*tables, "--features", "less.csv", exits=2, says=["less.csv", "no column 'shop'"])
    (tmp_path / "none.csv").write_text("anchor,near,far\n")
    run(
        "evaluate",
        "model.nearer",
        "none.csv",
        "--features",
        cups / "features.csv",
        exits=2,
        says=["none.csv"],
    )
    run("recommend", "model.nearer", exits=2, says=["MetricLearner"])
    (tmp_path / "alike.csv").write_text(
        "\n".join(f"{line},{'kind' if not at else 'a'}" for at, line in enumerate(lines))
    )
    run("evaluate", "model.nearer", "alike.csv", "--labels", "kind", exits=2, says=["alike.csv"])


def test_ctrl_c_keeps_the_best_so_far(interrupted, cups, by_answers):
    interrupted(*by_answers[:6], "--beta", 1e-9, "--tol", 0, "--json")


def test_many_different_labels_take_little_memory(tmp_path):
    path, n = tmp_path / "rows.csv", 4000
    lines = [f"person{row},{row % 7}" for row in range(n)]
    path.write_text("\n".join(["who,x", *lines]))
    tracemalloc.start()
    try:
        known = _metric._labelled({"labels": "who"}, path, None)
        assert (
            tracemalloc.get_traced_memory()[1] < n * n / 2
        )  # a flag for each row and label would take twice that
    finally:
        tracemalloc.stop()
    assert list(known.y[:2]) == ["person0", "person1"]
