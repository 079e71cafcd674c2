"""`nearer fit --model tags`, and `evaluate` and `recommend` for its models."""

import csv

import numpy as np
import pytest
from pyarrow import parquet

import nearer
from tests.cli.conftest import facts_of

SMALL = ("--model", "tags", "--beta", 0.3)


def lists_of(result):
    """The rows of a table that was printed in columns."""
    assert result.exit_code == 0, result.output
    header, *rows = [line.split() for line in result.stdout.splitlines()]
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_fit_learns_more_than_frequencies(run, posts, tmp_path):
    facts = facts_of(run("fit", posts / "posts.csv", *SMALL, "--json"))
    assert (facts["n_users"], facts["n_items"], facts["n_tags"]) == (30, 20, 12)
    assert (facts["n_train"], facts["n_test"]) == (120, 30)  # one post of each user
    assert facts["f1"] > facts["most_frequent"] + 0.1
    model = nearer.load(tmp_path / "model.nearer")
    assert (model.beta, model.random_state, model.callback) == (0.3, 0, None)
    assert model.result_.objective == facts["objective"]


def test_fit_prints_held_out_scores(run, posts):
    shown = run("fit", posts / "posts.csv", *SMALL, exits=0).stdout
    for part in (
        "150 posts of 30 users, 20 items and 12 tags",
        "held-out F1@5",
        "30 posts",
        "frequent tags have",
    ):
        assert part in shown
    options = (*SMALL, "--test-size", 0, "--force")
    assert "held-out" not in run("fit", posts / "posts.csv", *options, exits=0).stdout
    facts = facts_of(run("fit", posts / "posts.csv", *SMALL, "--test-size", 0.1, "--force", "--json"))
    assert facts["n_test"] == 15


def test_scores_are_those_of_the_estimator(run, posts):
    facts = facts_of(run("evaluate", posts / "tags.nearer", posts / "later.csv", "--json"))
    model, later = nearer.load(posts / "tags.nearer"), nearer.Posts.read(posts / "later.csv")
    assert facts["f1"] == model.score(later)
    # the most frequent tags are those for users and items that the model does not know
    names = [list(column) for column in zip(*((f"?{u}", f"?{i}") for u, i in later.pairs), strict=True)]
    unknown = nearer.Posts(
        [names[0][at] for at in _post_of_rows(later)],
        [names[1][at] for at in _post_of_rows(later)],
        [later.tag_names[tag] for tag in later.tags],
    )
    assert facts["most_frequent"] == pytest.approx(model.score(unknown))
    assert facts["n_posts"] == 30
    shown = run("evaluate", posts / "tags.nearer", posts / "later.csv", exits=0).stdout
    assert "F1@5" in shown
    assert "30 posts" in shown


def _post_of_rows(posts):
    keys = {tuple(pair): number for number, pair in enumerate(posts.pairs.tolist())}
    return [keys[user, item] for user, item in zip(posts.users.tolist(), posts.items.tolist(), strict=True)]


def test_recommend_ranks_as_the_model_does(run, posts, tmp_path):
    asked = ("recommend", posts / "tags.nearer", "--rows", posts / "asked.csv", "--k", 4)
    rows = lists_of(run(*asked, "--include-seen"))
    model = nearer.load(posts / "tags.nearer")
    best = model.recommend(["u0", "u1"], ["i0", "i3"], 4, names=True)
    assert [row["tag"] for row in rows] == best.items.ravel().tolist()
    assert [row["user"] for row in rows] == ["u0"] * 4 + ["u1"] * 4
    assert np.allclose([float(row["score"]) for row in rows], best.scores.ravel(), atol=1e-3)
    new = model.recommend(["u0", "u1"], ["i0", "i3"], 4, names=True, exclude_seen=True)
    run(*asked, "--out", "top.csv", exits=0)
    with (tmp_path / "top.csv").open() as stream:
        written = list(csv.DictReader(stream))
    assert [row["tag"] for row in written] == new.items.ravel().tolist()
    assert list(written[0]) == ["user", "item", "rank", "tag", "score"]
    shown = run(*asked, "--out", "top.parquet", exits=0).stdout
    assert "8 rows for 2 pairs" in shown
    assert parquet.read_table(tmp_path / "top.parquet").num_rows == 8
    facts = facts_of(run(*asked, "--json"))
    assert (facts["n_pairs"], facts["k"], len(facts["recommendations"])) == (2, 4, 8)


def test_unknown_users_and_items_get_what_is_known(run, posts, tmp_path):
    (tmp_path / "new.csv").write_text("item,who\ni0,eve\nsong,u0\nsong,eve\n,\n")
    asked = ("recommend", posts / "tags.nearer", "--rows", "new.csv", "--k", 2, "--include-seen")
    run(*asked, exits=2, says=["new.csv", "'who'", "--user COLUMN"])
    result = run(*asked, "--user", "who", "--json")
    assert "1 user without posts in the fit, such as 'eve'" in result.stderr
    assert "1 item without posts in the fit, such as 'song'" in result.stderr
    model = nearer.load(posts / "tags.nearer")
    best = model.recommend([None, "u0", None, None], ["i0", None, None, None], 2, names=True)
    assert [row["tag"] for row in facts_of(result)["recommendations"]] == best.items.ravel().tolist()


def test_numbers_are_indices_or_names(run, tmp_path):
    rows = [(user, item, (user + item) % 4) for user in range(8) for item in range(5)]
    text = "\n".join(f"{user},{item},{tag}" for user, item, tag in rows)
    (tmp_path / "numbers.csv").write_text("user,item,tag\n" + text)
    (tmp_path / "asked.csv").write_text("user,item\n7,1\n9,1\n")
    for ids, known in (("indices", None), ("names", tuple("01234567"))):
        out = f"{ids}.nearer"
        run("fit", "numbers.csv", *SMALL, "--ids", ids, "--out", out, exits=0)
        assert nearer.load(out).user_names_ == known
        assert facts_of(run("evaluate", out, "numbers.csv", "--json"))["n_posts"] == 40
        result = run("recommend", out, "--rows", "asked.csv", "--k", 1, "--include-seen", "--json")
        assert "such as '9'" in result.stderr
        assert len(facts_of(result)["recommendations"]) == 2


@pytest.mark.parametrize(
    ("options", "parameter", "value"),
    [
        (["--loss", "smooth-hinge"], "loss", "smooth-hinge"),
        (["--rank", 2], "max_rank", 2),
        (["--max-epochs", 1], "max_epochs", 1),
        (["--max-seconds", 5], "max_seconds", 5.0),
        (["--tol", 0.5], "tol", 0.5),
        (["--solver", "central-path"], "solver", "central-path"),
    ],
)
def test_options_reach_the_estimator(run, posts, options, parameter, value):
    run("fit", posts / "posts.csv", *SMALL, *options, exits=0)
    assert nearer.load("model.nearer").get_params()[parameter] == value


def test_options_left_out_keep_the_defaults_of_the_estimator(run, posts):
    run("fit", posts / "posts.csv", "--model", "tags", "--max-epochs", 1, "--max-seconds", 2, exits=0)
    expected = nearer.TagRecommender(max_epochs=1, max_seconds=2.0, random_state=0).get_params()
    assert nearer.load("model.nearer").get_params() == expected


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--beta weak", ["--beta"]),
        ("--loss soe", ["--loss", "logistic"]),
        ("--user reader", ["--user is 'reader'", "'user', 'item', 'tag'"]),
        ("--duplicates sum", ["--duplicates", "merge"]),
        ("--test-size 0.9999", ["--test-size"]),
        ("--dim 3", ["--dim", "not tags"]),
        ("--solver svrg", ["--solver", "auto, central-path or ila"]),
        ("--solver central-path --rank 2", ["--rank", "central-path"]),
        ("--labels tag", ["--labels", "not tags"]),
        ("--at-least 3", ["--at-least", "not tags"]),
        ("--left user", ["--left", "not tags"]),
        ("--columns anchor=user", ["--columns", "not tags"]),
        ("--start old.nearer", ["--start"]),
    ],
)
def test_what_cannot_be_used_is_refused(run, posts, tmp_path, options, says):
    run("fit", posts / "posts.csv", "--model", "tags", *options.split(), exits=2, says=says)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("user,item,tag\n", ["posts.csv"]),
        ("user,item,mood\na,b,c\nb,b,d\n", ["posts.csv", "--tag COLUMN"]),
        ("user,item,tag\na,b,c\nb,b,c\n", ["posts.csv", "1 different tag"]),
        ("user,item,tag\na,b,c\na,b,c\nb,b,d\n", ["posts.csv", "--duplicates merge"]),
        ("user,item,tag\na,b,c\na,,d\nb,b,d\n", ["posts.csv", "--invalid drop"]),
        ("user,item,tag,weight\na,b,c,1\na,b,d,nan\n", ["posts.csv"]),
        ("user,item\na,b\nb,c\n", ["posts.csv"]),
    ],
)
def test_files_that_cannot_be_used_are_refused(run, tmp_path, text, says):
    (tmp_path / "posts.csv").write_text(text)
    run("fit", "posts.csv", *SMALL, "--test-size", 0, exits=2, says=says)
    assert not (tmp_path / "model.nearer").exists()


def test_one_post_per_user_leaves_nothing_to_hold_out(run, tmp_path):
    (tmp_path / "posts.csv").write_text("user,item,tag\na,x,s\nb,x,t\nc,y,t\n")
    says = ["posts.csv", "no user has two posts", "--test-size 0.1", "--test-size 0 to fit to all"]
    run("fit", "posts.csv", *SMALL, exits=2, says=says)
    run("fit", "posts.csv", *SMALL, "--test-size", 0, exits=0)


def test_models_and_commands_of_another_kind_are_refused(run, posts, fitted, tmp_path):
    model, later = posts / "tags.nearer", posts / "later.csv"
    run("recommend", model, exits=2, says=["--rows"])
    run(
        "predict",
        model,
        later,
        exits=2,
        says=["TagRecommender", "nearer evaluate, nearer recommend or nearer plot"],
    )
    run("export", model, "e.parquet", exits=2, says=["TagRecommender"])
    run("evaluate", model, later, "--labels", "tag", exits=2, says=["--labels", "TagRecommender"])
    run("evaluate", fitted / "model.nearer", fitted / "answers.csv", "--tag", "far", exits=2, says=["--tag"])
    run("recommend", model, "--rows", later, "--out", later, exits=2, says=["later.csv", "input"])
    run("recommend", model, "--rows", "none.csv", exits=2, says=["none.csv"])
    run(
        "recommend",
        model,
        "--rows",
        posts / "asked.csv",
        "--out",
        "top.html",
        exits=2,
        says=["top.html", ".csv"],
    )
    (tmp_path / "numbers.csv").write_text("user,item,tag\n0,0,0\n")
    run("evaluate", model, "numbers.csv", "--ids", "indices", exits=2, says=["numbers.csv", "names"])
    (tmp_path / "none.csv").write_text("user,item\n")
    run("recommend", model, "--rows", "none.csv", exits=2, says=["none.csv", "no rows"])


def test_user_and_item_columns_are_for_tags(run, clicked):
    run("recommend", clicked / "towers.nearer", "--user", "who", exits=2, says=["--user", "--model tags"])


def test_ctrl_c_keeps_the_best_so_far(interrupted, posts):
    interrupted("fit", posts / "posts.csv", "--model", "tags", "--beta", 1e-9, "--tol", 0, "--json")
