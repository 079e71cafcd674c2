"""`nearer fit --model towers` and `nearer evaluate` on towers."""

import inspect

import numpy as np
import pytest

import nearer
from nearer.cli.fit import fit
from nearer.registry import BY_MODEL
from tests.cli.conftest import facts_of

pytest.importorskip("torch")
SMALL = ("--model", "towers", "--hidden", "none", "--dim", 8, "--max-epochs", 60)


def test_fit_learns_more_than_popularity(run, clicked, tmp_path):
    facts = facts_of(run("fit", clicked / "clicks.csv", *SMALL, "--json"))
    assert (facts["n_left"], facts["n_right"], facts["n_train"], facts["n_test"]) == (60, 40, 648, 72)
    assert facts["scores"]["map@5"] > 1.5 * facts["popularity"]["map@5"]
    assert facts["scores"]["recall@20"] > facts["popularity"]["recall@20"]
    model = nearer.load(tmp_path / "model.nearer")
    assert (model.n_components, model.hidden, model.callback) == (8, (), None)
    assert model.result_.objective == facts["objective"]


def test_fit_prints_held_out_scores(run, clicked):
    shown = run("fit", clicked / "clicks.csv", *SMALL, exits=0).stdout
    for part in ("720 pairs of 60 left and 40 right", "held-out MAP@5", "held-out recall@20", "model.nearer"):
        assert part in shown
    without = run("fit", clicked / "clicks.csv", *SMALL, "--test-size", 0, "--force", exits=0).stdout
    assert "held-out" not in without


def test_the_seed_decides(run, clicked):
    def objective(seed):
        return facts_of(
            run("fit", clicked / "clicks.csv", *SMALL, "--seed", seed, "--json", "--out", "m.nearer")
        )["objective"]

    assert objective(1) == objective(1) != objective(2)


@pytest.mark.parametrize(
    ("options", "parameter", "value"),
    [
        (["--l2", 2], "l2", 2.0),
        (["--omega", 0.5], "omega", 0.5),
        (["--hidden", "7,5"], "hidden", (7, 5)),
        (["--inputs", "ids"], "inputs", "ids"),
        (["--inputs", "ids+history,ids"], "inputs", ("ids+history", "ids")),
        (["--loss", "square"], "loss", "square"),
        (["--solver", "full-adam"], "solver", "full-adam"),
        (["--validation", 0.2], "validation", 0.2),
        (["--tol", 0.5], "tol", 0.5),
        (["--max-seconds", 5], "max_seconds", 5.0),
        (["--device", "cpu"], "device", "cpu"),
    ],
)
def test_options_reach_the_estimator(run, clicked, options, parameter, value):
    run("fit", clicked / "clicks.csv", "--model", "towers", "--dim", 4, "--max-epochs", 2, *options, exits=0)
    assert nearer.load("model.nearer").get_params()[parameter] == value


def test_options_left_out_keep_the_defaults_of_the_estimator(run, clicked):
    run("fit", clicked / "clicks.csv", "--model", "towers", "--max-epochs", 1, exits=0)
    expected = nearer.TwoTower(max_epochs=1, random_state=0).get_params()
    assert nearer.load("model.nearer").get_params() == expected


def test_the_help_shows_the_defaults_of_the_estimator(run):
    shown = " ".join(run("fit --help").stdout.replace("│", "").split())
    embedding, towers, labels = nearer.OrdinalEmbedding(), nearer.TwoTower(), nearer.CoEmbeddingClassifier()
    assert nearer.TagRecommender().loss == towers.loss
    assert nearer.LinkPredictor().loss == labels.loss
    assert f", {towers.loss} for towers and tags, {labels.loss} for labels, metrics and links)]" in shown
    assert f"[default: ({embedding.l2}, or {towers.l2:g} for towers)]" in shown
    assert f"[default: ({embedding.n_components}, or {towers.n_components} for towers)]" in shown
    assert f"not observed; {towers.omega:g} by default" in shown
    assert f"hidden layers, {','.join(map(str, towers.hidden))} by default" in shown


def test_solvers_of_fit_are_those_of_embeddings_towers_and_tags():
    from nearer.cli._fit_options import SolverName
    from nearer.coembedding.fitting import SOLVER_NAMES
    from nearer.objectives import PointObjective
    from nearer.objectives.least_squares import LinearPathObjective
    from nearer.solvers import fitting

    expected = {*fitting(PointObjective), *fitting(LinearPathObjective), *SOLVER_NAMES}
    assert {solver.value for solver in SolverName} == expected


def test_every_option_of_the_row_exists():
    assert set(BY_MODEL["towers"].options.values()) <= inspect.signature(fit).parameters.keys()


def test_ratings_become_likes(run, clicked):
    options = ("--ids", "names", "--at-least", 4, "--test-size", 0, "--json")
    facts = facts_of(run("fit", clicked / "ratings.csv", *SMALL, *options))
    rows = np.loadtxt(clicked / "ratings.csv", delimiter=",", skiprows=1)
    assert facts["n_train"] == (rows[:, 2] >= 4).sum()
    assert nearer.load("model.nearer").left_names_[0] == "1"


def test_columns_with_other_names(run, clicked, tmp_path):
    lines = (clicked / "clicks.csv").read_text().splitlines()[1:]
    text = "who,what,plays\n" + "\n".join(f"{line},{number % 3 + 1}" for number, line in enumerate(lines))
    (tmp_path / "other.csv").write_text(text)
    run("fit", "other.csv", *SMALL, exits=2, says=["'who', 'what'", "--left COLUMN"])
    columns = ("--left", "who", "--right", 1, "--test-size", 0, "--json", "--force")
    with_weights = facts_of(run("fit", "other.csv", *SMALL, *columns))
    columns = (*columns, "--weight", "who")
    run("fit", "other.csv", *SMALL, *columns, exits=2, says=["other.csv"])
    assert with_weights["n_train"] == 720


def test_search_lists_its_trials(run, clicked):
    options = ("--model", "towers", "--dim", 4, "--max-epochs", 3, "--search", 1, "--json")
    facts = facts_of(run("fit", clicked / "clicks.csv", *options))
    assert len(facts["details"]["trials"]) >= 1
    model = nearer.load("model.nearer")
    assert model.inputs != "auto"  # a search has settled it


def test_a_search_draws_a_bar(start, clicked, tmp_path):
    search = start(
        "fit", clicked / "clicks.csv", "--model", "towers", "--dim", 4, "--max-epochs", 9, "--search", 2
    )
    search.screen.wait_for("objective")  # the bar has seen an epoch of a trial
    assert "best of" in search.stdout.read()
    assert search.wait(timeout=60) == 0
    assert nearer.load(tmp_path / "model.nearer").callback is None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--model towers --effort quick", ["--effort", "not towers"]),
        ("--model towers --report page.html", ["--report", "not towers"]),
        ("--model towers --columns anchor=user", ["--columns"]),
        ("--model towers --codes first=0,second=1", ["--codes"]),
        ("--model towers --rank 3", ["--rank", "not towers"]),
        ("--model towers --loss ste", ["--loss", "logistic"]),
        ("--model towers --loss auto", ["--loss", "logistic"]),
        ("--model towers --solver svrg", ["svrg", "newton"]),
        ("--model towers --l2 auto", ["--l2"]),
        ("--model towers --hidden wide", ["--hidden", "256,256"]),
        ("--model towers --hidden 0", ["--hidden"]),
        ("--model towers --inputs features", ["--inputs"]),
        ("--model towers --inputs ids,ids,ids", ["--inputs"]),
        ("--model towers --omega -1", ["--omega"]),
        ("--model towers --device abacus", ["--device is 'abacus', but"]),
        ("--model towers --validation 2", ["--validation"]),
        ("--model towers --search 5 --hidden 8", ["--hidden", "--search"]),
        ("--model towers --search -1", ["--search"]),
        ("--model towers --start old.nearer", ["--start"]),
        ("--at-least 4", ["--at-least", "--model towers"]),
        ("--omega 4", ["--omega", "towers"]),
        ("--search 4 --model kernel", ["--search", "not kernel"]),
        ("--loss logistic", ["logistic", "soe"]),
        ("--solver newton --l2 0 --loss soe", ["newton", "lbfgs"]),
    ],
)
def test_options_that_do_not_apply_are_refused(run, clicked, fitted, tmp_path, options, says):
    folder, name = (clicked, "clicks.csv") if "towers" in options else (fitted, "answers.csv")
    run("fit", folder / name, *options.split(), exits=2, says=says)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("user,item\n", [], ["pairs.csv"]),
        ("user,thing\na,b\nb,c\n", [], ["'thing'", "--right COLUMN"]),
        ("user,item\na,b\nb,\n", ["--test-size", "0"], ["line 3", "--invalid drop"]),
        ("user,item\na,b\nb,b\n", ["--test-size", "0"], ["pairs.csv", "single right"]),
        ("user,item,rating\na,b,1\nb,c,2\n", ["--at-least", "4"], ["pairs.csv", "no pairs"]),
        ("user,item,rating\na,b,-1\nb,c,2\n", [], ["--at-least NUMBER"]),
        ("user,item\na,b\n", [], ["pairs.csv", "--test-size 0"]),
    ],
)
def test_files_that_cannot_be_used_are_refused(run, tmp_path, text, options, says):
    (tmp_path / "pairs.csv").write_text(text)
    run("fit", "pairs.csv", *SMALL, *options, exits=2, says=says)
    assert not (tmp_path / "model.nearer").exists()


def test_a_default_name_is_not_replaced(run, clicked):
    run("fit", clicked / "clicks.csv", *SMALL, exits=0)
    run("fit", clicked / "clicks.csv", *SMALL, exits=2, says=["model.nearer", "--force"])


def test_ctrl_c_keeps_the_best_so_far(interrupted, clicked):
    interrupted("fit", clicked / "clicks.csv", *SMALL[:-1], 10**8, "--tol", 0, "--json")


def test_ctrl_c_after_the_fit_keeps_the_model(run, clicked, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("nearer.cli._towers.scores_of", interrupt)
    result = run("fit", clicked / "clicks.csv", *SMALL, exits=130)
    assert result.stderr == "nearer: interrupted, the model was written to model.nearer\n"
    assert nearer.load(tmp_path / "model.nearer").result_.stop_reason == "epochs"


def test_a_missing_torch_is_one_sentence(run, clicked, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "nearer.towers.two_tower")
    run("fit", clicked / "clicks.csv", *SMALL, exits=2, says=["pip install 'nearer[torch]'"])


# -- evaluate ---------------------------------------------------------------------------------------------------


def test_evaluate_measures_held_out_pairs(run, clicked):
    facts = facts_of(run("evaluate", clicked / "towers.nearer", clicked / "clicks-later.csv", "--json"))
    model = nearer.load(clicked / "towers.nearer")
    later = nearer.Interactions.read(clicked / "clicks-later.csv")
    assert facts["scores"]["map@5"] == pytest.approx(model.score(later))
    assert set(facts["scores"]) == {"map@5", "recall@20", "ndcg@10", "hr@10"}
    assert all(facts["scores"][name] > facts["popularity"][name] for name in facts["scores"])
    assert (facts["n_pairs"], facts["n_seen"]) == (180, 0)
    shown = run("evaluate", clicked / "towers.nearer", clicked / "clicks-later.csv", exits=0).stdout
    for part in ("MAP@5", "recall@20", "NDCG@10", "HR@10", "popularity has"):
        assert part in shown


def test_evaluate_leaves_out_pairs_of_the_fit(run, clicked, tmp_path):
    later = (clicked / "clicks-later.csv").read_text()
    first = (clicked / "clicks.csv").read_text().splitlines()[1]
    (tmp_path / "both.csv").write_text(f"{later}{first}\n")
    facts = facts_of(run("evaluate", clicked / "towers.nearer", "both.csv", "--json"))
    assert (facts["n_pairs"], facts["n_seen"]) == (180, 1)
    says = ["clicks.csv", "seen all"]
    run("evaluate", clicked / "towers.nearer", clicked / "clicks.csv", exits=2, says=says)


def test_evaluate_refuses_what_the_model_does_not_know(run, clicked, tmp_path):
    (tmp_path / "more.csv").write_text("user,item\nu1,i2\nzed,i3\nu2,i3\n")
    run("evaluate", clicked / "towers.nearer", "more.csv", exits=2, says=["line 3", "zed", "--invalid drop"])
    facts = facts_of(run("evaluate", clicked / "towers.nearer", "more.csv", "--invalid", "drop", "--json"))
    assert facts["n_dropped"] == 1


def test_evaluate_refuses_options_of_the_other_kind(run, clicked, fitted):
    pairs = ("evaluate", clicked / "towers.nearer", clicked / "clicks-later.csv")
    run(*pairs, "--coding", "signs", exits=2, says=["--coding", "towers"])
    answers = ("evaluate", fitted / "model.nearer", fitted / "answers.csv")
    run(*answers, "--at-least", 4, exits=2, says=["--at-least", "--model towers", "OrdinalEmbedding"])
