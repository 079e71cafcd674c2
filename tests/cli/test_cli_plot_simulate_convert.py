"""`nearer plot`, `nearer simulate` and `nearer convert`."""

import csv
import json

import numpy as np
import pytest

import nearer

SIGNATURES = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "jpg": b"\xff\xd8"}


@pytest.mark.parametrize("ending", SIGNATURES)
def test_plot_writes_the_format_of_the_ending(run, fitted, tmp_path, ending):
    run("plot", fitted / "model.nearer", "--out", f"map.{ending}", exits=0)
    assert (tmp_path / f"map.{ending}").read_bytes().startswith(SIGNATURES[ending])


@pytest.mark.parametrize("n_objects", [12, 120])
def test_plot_labels_objects_without_names_by_their_index(run, tmp_path, n_objects):
    points = np.random.default_rng(0).normal(size=(n_objects, 2))
    model = nearer.OrdinalEmbedding(2, init=points, max_epochs=1, l2=0.1).fit([[0, 1, n_objects - 1]])
    nearer.save(model, tmp_path / "model.nearer")
    assert run("plot model.nearer --out map.svg").exit_code == 0
    picture = (tmp_path / "map.svg").read_text()
    assert sum(f"<!-- {index} -->" in picture for index in range(n_objects)) > 0.7 * n_objects


@pytest.mark.parametrize("what", ["objective", "steps"])
def test_plot_draws_the_course_of_the_fit(run, fitted, tmp_path, what):
    assert run("plot", fitted / "model.nearer", "--what", what, "--out", "fit.svg").exit_code == 0
    run("plot", fitted / "model.nearer", "--out", "map.svg")
    assert (tmp_path / "fit.svg").read_bytes() != (tmp_path / "map.svg").read_bytes()


def test_plot_colours_by_labels_in_any_order(run, fitted, tmp_path):
    lines = [f"thing{number},{'even' if number % 2 == 0 else 'odd'}" for number in reversed(range(12))]
    (tmp_path / "labels.csv").write_text("\n".join(["object,label", *lines]) + "\n")
    result = run("plot", fitted / "model.nearer", "--labels", "labels.csv", "--out", "map.png", "--json")
    assert json.loads(result.stdout) == {"out": "map.png", "what": "map", "n_objects": 12}
    from nearer.cli.plot import _read_labels

    names = list(nearer.load(fitted / "model.nearer").names_)
    found = _read_labels(tmp_path / "labels.csv", names)
    assert found[names.index("thing3")] == "odd"
    assert found[names.index("thing4")] == "even"


@pytest.mark.parametrize(
    ("lines", "facts"),
    [
        (["object,label", "thing0,a"], ["'thing1'", "label"]),
        (["object,label", "nothing,a"], ["row 2", "'nothing'"]),
        (["object,label", "thing0,a,b"], ["row 2", "two columns", "3"]),
    ],
)
def test_plot_refuses_bad_labels(run, fitted, tmp_path, lines, facts):
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    result = run("plot", fitted / "model.nearer", "--labels", "labels.csv", exits=2)
    assert [fact for fact in ("labels.csv", *facts) if fact not in result.stderr] == []
    assert not (tmp_path / "map.png").exists()


def test_plot_refuses_unknown_formats_and_idle_options(run, fitted):
    assert "png" in run("plot", fitted / "model.nearer", "--out", "map.xyz").stderr
    (fitted / "labels.csv").write_text("object,label\n")
    run("plot", fitted / "model.nearer", "--what", "steps", "--labels", fitted / "labels.csv", exits=2)


def test_plot_options_reach_the_picture(run, fitted, tmp_path):
    from PIL import Image

    run("plot", fitted / "model.nearer", "--dpi", 50, "--out", "small.png")
    run("plot", fitted / "model.nearer", "--dpi", 100, "--out", "large.png")
    with Image.open(tmp_path / "small.png") as small, Image.open(tmp_path / "large.png") as large:
        assert large.size == (2 * small.width, 2 * small.height)
    run("plot", fitted / "model.nearer", "--title", "Things", "--out", "titled.png", "--dpi", 100)
    assert (tmp_path / "titled.png").read_bytes() != (tmp_path / "large.png").read_bytes()


def test_plot_says_when_no_font_has_the_letters(run, tmp_path):
    (tmp_path / "answers.csv").write_text("anchor,near,far\n" + "\U00012000,\U00012001,\U00012002\n" * 5)
    run("fit", "answers.csv", "--test-size", 0, "--max-epochs", 2)
    result = run("plot model.nearer", exits=0)
    assert result.stderr.startswith("nearer: map.png: no installed font")


def test_simulate_writes_answers_and_truth(run, tmp_path):
    options = ["--objects", 30, "--dim", 3, "--comparisons", 500, "--noise", 0.1, "--truth", "truth.csv"]
    facts = json.loads(run("simulate", *options, "--out", "answers.parquet", "--json").stdout)
    assert (facts["n_comparisons"], facts["right"]) == (500, pytest.approx(0.9))
    answers = nearer.Comparisons.read(tmp_path / "answers.parquet")
    with open(tmp_path / "truth.csv") as stream:
        rows = list(csv.reader(stream))
    assert rows[0] == ["object", "x1", "x2", "x3"]
    points = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
    assert points.shape == (30, 3)
    assert nearer.metrics.triplet_error(points, answers) == pytest.approx(0.1)


def test_simulate_depends_on_the_seed_alone(run, tmp_path):
    contents = []
    for seed in (1, 1, 2):
        assert run("simulate", "--comparisons", 100, "--seed", seed, "--force").exit_code == 0
        contents.append((tmp_path / "answers.csv").read_bytes())
    assert contents[0] == contents[1] != contents[2]


def test_simulate_kinds_and_noise_models(run, tmp_path):
    run("simulate", "--comparisons", 100, "--kind", "quadruplets", "--out", "four.csv")
    assert nearer.Comparisons.read(tmp_path / "four.csv").shape == (100, 4)
    run("simulate", "--comparisons", 100, "--out", "clean.csv")
    run("simulate", "--comparisons", 100, "--noise", "ste", "--out", "ste.csv")
    run("simulate", "--comparisons", 100, "--noise", "ste", "--scale", 1, "--out", "wide.csv")
    assert len({(tmp_path / f"{name}.csv").read_bytes() for name in ("clean", "ste", "wide")}) == 3


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "jsonl", "npz"])
def test_convert_there_and_back(run, fitted, tmp_path, ending):
    there = run("convert", fitted / "answers.csv", f"copy.{ending}", exits=0)
    assert "1,500 comparisons" in there.stdout
    assert run("convert", f"copy.{ending}", "back.csv").exit_code == 0
    assert (tmp_path / "back.csv").read_text() == (fitted / "answers.csv").read_text()


def test_convert_drops_invalid_rows_when_asked(run, tmp_path):
    (tmp_path / "bad.csv").write_text("anchor,near,far\n0,1,2\n0,0,2\n")
    assert run("convert bad.csv good.csv").exit_code == 2
    assert not (tmp_path / "good.csv").exists()
    facts = json.loads(run("convert bad.csv good.csv --invalid drop --json").stdout)
    assert (facts["n_comparisons"], facts["n_dropped"]) == (1, 1)


def test_convert_reads_as_it_is_told(run, tmp_path):
    (tmp_path / "bare.csv").write_text("tea,coffee,cars\ncoffee,tea,milk\n")
    refused = run("convert bare.csv out.jsonl", exits=2)
    assert "--no-header" in refused.stderr  # the advice is in the words of the command line
    assert "--columns" in refused.stderr
    assert json.loads(run("convert bare.csv out.jsonl --no-header --json").stdout)["n_comparisons"] == 2
    (tmp_path / "zeros.csv").write_text("anchor,a,b,response\n0,1,2,1\n0,1,3,0\n")
    run("convert zeros.csv out.csv", exits=2, says=["--zero second"])
    run("convert zeros.csv out.csv --zero second")
    assert (tmp_path / "out.csv").read_text() == "anchor,near,far\n0,1,2\n0,3,1\n"
    run("convert zeros.csv out.csv --zero undecided")
    assert (tmp_path / "out.csv").read_text() == "anchor,near,far\n0,1,2\n"


def test_convert_names_the_output_that_was_asked_for(run, tmp_path):
    (tmp_path / "odd.jsonl").write_text('{"anchor": " a", "near": "b", "far": "c"}\n')
    result = run("convert odd.jsonl odd.csv", exits=2)
    assert ".nearer-" not in result.stderr
    assert run("convert odd.jsonl odd.xyz").exit_code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["odd.jsonl"]
