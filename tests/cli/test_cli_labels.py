"""`nearer fit --model multilabel`, and `evaluate` and `predict` for its models."""

import csv

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import nearer
from tests.cli.conftest import facts_of

SMALL = ("--model", "multilabel", "--labels", "happy,sad", "--beta", 0.5)
#: what `texts_of` is asked for in its own column
TEXTS = ("--model", "multilabel", "--labels", "moods", "--ignore", "song,happy,sad", "--beta", 0.5)


@pytest.fixture
def fitted_songs(run, songs, tmp_path):
    """A model of the songs."""
    run("fit", songs / "songs.csv", *SMALL, "--ignore", "song,moods", "--out", "songs.nearer", exits=0)
    return tmp_path / "songs.nearer"


def test_fit_learns_more_than_frequencies(run, songs, tmp_path):
    facts = facts_of(run("fit", songs / "songs.csv", *SMALL, "--ignore", "song,moods", "--json"))
    assert (facts["n_train"], facts["n_test"], facts["n_features"], facts["n_labels"]) == (96, 24, 5, 2)
    assert facts["scores"]["micro_f1"] > 0.85 > facts["most_frequent"]["micro_f1"]
    assert facts["scores"]["hamming"] > facts["most_frequent"]["hamming"]
    model = nearer.load(tmp_path / "model.nearer")
    assert list(model.feature_names_in_) == ["loud", "fast", "high", "kind=pop", "kind=rock"]
    assert list(model.classes_) == ["happy", "sad"]
    assert (model.beta, model.random_state, model.callback) == (0.5, 0, None)
    assert model.result_.objective == facts["objective"]


def test_fit_prints_held_out_scores(run, songs):
    shown = run("fit", songs / "songs.csv", *SMALL, "--ignore", "song,moods", exits=0).stdout
    for part in (
        "120 with 5 features, 2 labels",
        "held-out micro-F1",
        "24 rows",
        "frequent labels have",
        "global",
    ):
        assert part in shown
    options = (*SMALL, "--ignore", "song,moods", "--test-size", 0, "--force")
    assert "held-out" not in run("fit", songs / "songs.csv", *options, exits=0).stdout


def test_scores_are_those_of_the_estimator(run, songs, fitted_songs):
    scores = facts_of(run("evaluate", fitted_songs, songs / "more.csv", "--json"))["scores"]
    model = nearer.load(fitted_songs)
    with (songs / "more.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    numbers = [[float(row[name]) for name in ("loud", "fast", "high")] for row in rows]
    X = np.hstack([numbers, [[row["kind"] == "pop", row["kind"] == "rock"] for row in rows]])
    frame = pa.table(dict(zip(model.feature_names_in_, X.T, strict=True)))
    Y = np.array([[int(row["happy"]), int(row["sad"])] for row in rows])
    assert scores["micro_f1"] == pytest.approx(model.score(frame, Y))
    assert scores["hamming"] == pytest.approx((model.predict(frame) == Y).mean())


def test_labels_in_one_column_are_the_same_labels(run, songs):
    flags = ("fit", songs / "songs.csv", *SMALL, "--ignore", "song,moods", "--json", "--out", "a.nearer")
    texts = ("fit", songs / "songs.csv", *TEXTS, "--separator", "|", "--json", "--out", "b.nearer")
    assert facts_of(run(*texts))["scores"] == facts_of(run(*flags))["scores"]
    flags, texts = (
        facts_of(run("evaluate", model, songs / "more.csv", *how, "--json"))["scores"]
        for model, how in (("a.nearer", ()), ("b.nearer", ("--labels", "moods", "--separator", "|")))
    )
    assert flags == texts
    says = ["'moods'", "--separator '|'", "--separator ''"]
    run("evaluate", "b.nearer", songs / "more.csv", "--labels", "moods", exits=2, says=says)


def test_a_model_remembers_the_column_of_its_labels(run, songs, tmp_path):
    single = ("--model", "multilabel", "--labels", "kind", "--ignore", "song,happy,sad,moods", "--beta", 0.5)
    run("fit", songs / "songs.csv", *single, "--out", "a.nearer", exits=0)
    run("fit", songs / "songs.csv", *TEXTS, "--separator", "|", "--out", "b.nearer", exits=0)
    for model, how in (("a.nearer", ("kind",)), ("b.nearer", ("moods", "--separator", "|"))):
        asked, remembered = (
            run("evaluate", model, songs / "more.csv", *more, exits=0).stdout
            for more in (("--labels", *how), ())
        )
        assert asked == remembered
    (tmp_path / "other.csv").write_text("loud,fast,high,genre\n1,1,1,pop\n")
    run("evaluate", "a.nearer", "other.csv", exits=2, says=["--labels"])
    again = nearer.load("a.nearer").fit(np.eye(4), ["a", "b", "a", "b"])
    assert not hasattr(again, "label_columns_")


@pytest.mark.parametrize("model", ["multilabel", "metric"])
def test_a_column_of_measurements_is_no_column_of_labels(run, songs, model):
    options = ("--model", model, "--labels", "loud", "--ignore", "song,moods,kind")
    run("fit", songs / "songs.csv", *options, exits=2, says=["'loud'", "different numbers", "classes"])


@pytest.mark.parametrize("model", ["multilabel", "metric"])
def test_grades_with_halves_are_labels(run, songs, tmp_path, model):
    rows = [f"{row},{row % 7 / 2}" for row in range(60)]
    (tmp_path / "graded.csv").write_text("\n".join(["x,grade", *rows]))
    run("fit", "graded.csv", "--model", model, "--labels", "grade", "--beta", 0.5, exits=0)


def test_features_in_a_file_of_their_own(run, songs):
    inside = ("fit", songs / "songs.csv", *SMALL, "--ignore", "song,moods", "--json", "--out", "a.nearer")
    beside = (
        "fit",
        songs / "labels.parquet",
        "--model",
        "multilabel",
        "--features",
        songs / "features.parquet",
    )
    found = facts_of(run(*beside, "--beta", 0.5, "--json", "--out", "b.nearer"))
    assert found["scores"] == facts_of(run(*inside))["scores"]
    tables = (songs / "labels.parquet", "--features", songs / "features.parquet")
    scores = facts_of(run("evaluate", "b.nearer", *tables, "--json"))["scores"]
    assert scores == facts_of(run("evaluate", "a.nearer", songs / "songs.csv", "--json"))["scores"]


def test_one_label_per_row(run, songs):
    options = ("--model", "multilabel", "--labels", "kind", "--ignore", "song,moods", "--out", "kinds.nearer")
    facts = facts_of(run("fit", songs / "songs.csv", *options, "--json"))
    assert facts["scores"]["accuracy"] > 0.9 > facts["most_frequent"]["accuracy"]
    scores = facts_of(run("evaluate", "kinds.nearer", songs / "more.csv", "--labels", "kind", "--json"))[
        "scores"
    ]
    table = predictions(run("predict", "kinds.nearer", songs / "more.csv"))
    assert scores["accuracy"] == np.mean([row["predicted"] == row["kind"] for row in table])
    assert min(float(row["probability"]) for row in table) >= 0.5
    several = ("--labels", "moods", "--separator", "|")
    run("evaluate", "kinds.nearer", songs / "more.csv", *several, exits=2, says=["several labels", "one"])


def predictions(result):
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(result.stdout.splitlines()))


def test_predict_adds_labels_and_probabilities(run, songs, fitted_songs, tmp_path):
    table = predictions(run("predict", fitted_songs, songs / "more.csv"))
    model = nearer.load(fitted_songs)
    assert len(table) == 40
    assert table[0]["song"] == "song 120"
    right = [row[f"predicted_{mood}"] == row[mood] for row in table for mood in ("happy", "sad")]
    assert (
        np.mean(right)
        == facts_of(run("evaluate", fitted_songs, songs / "more.csv", "--json"))["scores"]["hamming"]
    )
    sure = [float(row["probability_happy"]) for row in table]
    assert all(0 <= share <= 1 for share in sure)
    assert np.corrcoef(sure, [float(row["loud"]) for row in table])[0, 1] > 0.8
    run("predict", fitted_songs, songs / "more.csv", "--out", "p.parquet", exits=0)
    written = parquet.read_table(tmp_path / "p.parquet").to_pydict()
    assert [str(cell) for cell in written["predicted_happy"]] == [row["predicted_happy"] for row in table]
    assert np.allclose(written["probability_happy"], sure)
    assert model.classes_[0] == "happy"
    # answers of an earlier prediction are replaced
    again = parquet.read_schema(tmp_path / "p.parquet").names
    run("predict", fitted_songs, "p.parquet", "--out", "q.parquet", exits=0)
    assert parquet.read_schema(tmp_path / "q.parquet").names == again


def test_predict_as_json_prints_the_answers_alone(run, songs, fitted_songs):
    facts = facts_of(run("predict", fitted_songs, songs / "more.csv", "--json"))
    assert facts["n_rows"] == len(facts["predictions"]) == 40
    names = ["predicted_happy", "predicted_sad", "probability_happy", "probability_sad"]
    assert list(facts["predictions"][0]) == names


@pytest.mark.parametrize(
    ("options", "parameter", "value"),
    [
        (["--threshold", "macro-f1"], "threshold", "macro-f1"),
        (["--threshold", 0], "threshold", 0.0),
        (["--loss", "logistic"], "loss", "logistic"),
        (["--rank", 1], "max_rank", 1),
        (["--max-epochs", 1], "max_epochs", 1),
        (["--max-seconds", 5], "max_seconds", 5.0),
        (["--tol", 0.1], "tol", 0.1),
    ],
)
def test_options_reach_the_estimator(run, songs, options, parameter, value):
    run("fit", songs / "songs.csv", *SMALL, "--ignore", "song,moods", *options, exits=0)
    assert nearer.load("model.nearer").get_params()[parameter] == value


def test_options_left_out_keep_the_defaults_of_the_estimator(run, songs):
    run("fit", songs / "songs.csv", *SMALL[:4], "--ignore", "song,moods", exits=0)
    expected = nearer.CoEmbeddingClassifier(random_state=0).get_params()
    assert nearer.load("model.nearer").get_params() == expected


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("", ["--labels"]),
        ("--labels merry", ["--labels", "'merry'", "song, loud"]),
        ("--labels happy,sad --separator |", ["--separator"]),
        ("--labels moods --ignore song", ["'moods'", "--separator"]),
        ("--labels happy,sad", ["'song'", "120 different texts"]),
        ("--labels happy,sad --ignore song,moods --ignore tune", ["--ignore", "'tune'"]),
        ("--labels happy,loud --ignore song,moods", ["songs.csv, row 0", "'loud'", "neither 0 nor 1"]),
        ("--labels happy,kind --ignore song,moods", ["'kind'", "text"]),
        ("--labels happy,sad --ignore song,moods --beta weak", ["--beta"]),
        ("--labels happy,sad --ignore song,moods --threshold high", ["--threshold", "micro-f1"]),
        ("--labels happy,sad --ignore song,moods --loss soe", ["--loss", "smooth-hinge"]),
        ("--labels happy,sad --ignore song,moods --test-size 0.001", ["--test-size 0"]),
        ("--labels happy,sad --dim 3", ["--dim", "not multilabel"]),
        ("--labels happy,sad --columns anchor=song", ["--columns", "not multilabel"]),
        ("--labels happy,sad --neighbors 3", ["--neighbors", "not multilabel"]),
        ("--labels happy,sad --report page.html", ["--report", "not multilabel"]),
        ("--labels happy,sad --features none.csv", ["none.csv"]),
    ],
)
def test_what_cannot_be_used_is_refused(run, songs, tmp_path, options, says):
    run("fit", songs / "songs.csv", "--model", "multilabel", *options.split(), exits=2, says=says)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("loud,mood\n", ["rows.csv", "no rows"]),
        ("", ["rows.csv", "the file is empty"]),
        (
            "loud,mood\n" + "".join(f"{i},a\n" for i in range(30)) + "x3,b\n",
            ["rows.csv, row 30", "'loud'", "'x3' is not a number"],
        ),
        ("loud,loud,mood\n1,2,a\n", ["rows.csv", "two columns are called 'loud'"]),
        ("mood\na\nb\n", ["rows.csv", "features"]),
        ("loud,mood\n1,a\n,b\n3,a\n", ["rows.csv, row 1", "'loud'", "empty"]),
        ("loud,mood\n1,a\nnan,b\n3,a\n", ["rows.csv, row 1", "'loud'", "empty"]),
        ("loud,mood\n1,a\ninf,b\n3,a\n", ["rows.csv, row 1", "'loud'", "finite"]),
        ("loud,mood\n1,a\n2,\n3,a\n", ["rows.csv, row 1", "'mood'", "leave the row out"]),
        ("loud,mood\n1,a\n2,a\n3,a\n", ["rows.csv", "one class only, 'a'"]),
        ("loud,mood\n1,a\n1,b\n1,a\n", ["rows.csv", "constant"]),
        ("loud,mood\n1,a\n1,b,c\n1,a\n", ["rows.csv"]),
    ],
)
def test_files_that_cannot_be_used_are_refused(run, tmp_path, text, says):
    (tmp_path / "rows.csv").write_text(text)
    options = ("--model", "multilabel", "--labels", "mood", "--test-size", 0)
    run("fit", "rows.csv", *options, exits=2, says=says)
    assert not (tmp_path / "model.nearer").exists()


def test_a_folder_is_refused(run, tmp_path):
    (tmp_path / "rows").mkdir()
    run("fit", "rows", *SMALL, exits=2, says=["rows", "a folder"])


def test_tables_of_features_that_do_not_fit_are_refused(run, songs, fitted_songs, tmp_path):
    (tmp_path / "few.csv").write_text("song,loud\nsong 0,1\nsong 1,2\n")
    (tmp_path / "twice.csv").write_text("song,happy,sad\nsong 0,1,0\nsong 0,0,1\n")
    options = ("--model", "multilabel", "--features")
    run(
        "fit",
        songs / "labels.parquet",
        *options,
        "few.csv",
        exits=2,
        says=["few.csv", "'song 2' and 117 others"],
    )
    features = songs / "features.parquet"
    run(
        "fit", "twice.csv", *options, features, exits=2, says=["twice.csv", "'song 0' has two rows", "'song'"]
    )
    run("predict", fitted_songs, "few.csv", exits=2, says=["few.csv", "no column 'fast'"])
    (tmp_path / "words.csv").write_text("loud,fast,high,kind\nvery,1,2,pop\n")
    run("predict", fitted_songs, "words.csv", exits=2, says=["words.csv", "'loud'", "numbers"])


def test_a_new_text_has_no_effect_and_is_reported(run, fitted_songs, tmp_path):
    (tmp_path / "new.csv").write_text("loud,fast,high,kind\n1,0,0,jazz\n")
    result = run("predict", fitted_songs, "new.csv", exits=0)
    assert "new.csv: the column 'kind' holds 'jazz'" in result.stderr
    assert len(predictions(result)) == 1


def test_labels_that_the_model_does_not_know_count_as_missed(run, songs, fitted_songs, tmp_path):
    text = (songs / "more.csv").read_text()
    (tmp_path / "calm.csv").write_text(text.replace("|sad", "|calm"))
    how = ("--labels", "moods", "--separator", "|", "--json")
    result = run("evaluate", fitted_songs, "calm.csv", *how)
    assert "does not know, such as 'calm'" in result.stderr
    known = facts_of(run("evaluate", fitted_songs, songs / "more.csv", *how))["scores"]
    assert facts_of(result)["scores"]["micro_f1"] < known["micro_f1"]


def test_models_and_commands_of_another_kind_are_refused(run, songs, fitted_songs, fitted, tmp_path):
    questions = songs / "more.csv"
    run(
        "recommend",
        fitted_songs,
        exits=2,
        says=["CoEmbeddingClassifier", "nearer evaluate, nearer predict or nearer plot"],
    )
    run(
        "evaluate",
        fitted / "model.nearer",
        questions,
        "--labels",
        "kind",
        exits=2,
        says=["--labels", "OrdinalEmbedding"],
    )
    run(
        "evaluate",
        fitted_songs,
        questions,
        "--at-least",
        3,
        exits=2,
        says=["--at-least", "CoEmbeddingClassifier"],
    )
    run("predict", fitted_songs, questions, "--columns", "a=b", exits=2, says=["--columns"])
    run("fit", fitted / "answers.csv", "--labels", "near", exits=2, says=["--labels", "multilabel"])
    rows = np.random.default_rng(0).normal(size=(40, 3))
    nearer.save(nearer.CoEmbeddingClassifier(0.5).fit(rows, rows[:, :2] > 0), tmp_path / "array.nearer")
    run("predict", "array.nearer", questions, exits=2, says=["names of columns"])


def test_ctrl_c_keeps_the_best_so_far(run, songs, tmp_path, press_in):
    press_in("fitting")
    result = run("fit", songs / "songs.csv", *SMALL[:4], "--ignore", "song,moods", exits=130)
    assert result.stderr == "nearer: interrupted, the best model so far was written to model.nearer\n"
    assert nearer.load(tmp_path / "model.nearer").row_factor_.any()
