"""Kernels from the command line: `nearer fit --model kernel|online`, going on with `--start`, and what follows."""

import json
import re
import signal

import numpy as np
import pytest

import nearer
from nearer.cli._fit_options import StepName, UpdateName
from nearer.kernels._rules import STEPS, UPDATES
from nearer.report import render_report

KINDS = {
    "kernel": ["--model", "kernel", "--trace-penalty", 0.01],
    "online": ["--model", "online"],
    "factored": ["--model", "online", "--rank", 3],
}


@pytest.fixture
def answers(tmp_path, named_answers):
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(named_answers.splitlines()[:401]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def more(tmp_path):
    """Answers about things that are known, and about two that are new."""
    path = tmp_path / "more.csv"
    path.write_text("anchor,near,far\nthing1,thing2,thing3\nmoon,sun,thing1\nsun,moon,thing2\n")
    return path


def facts_of(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("kind", KINDS)
def test_everything_works_with_a_kernel(run, answers, tmp_path, kind):
    told = run("fit", answers, *KINDS[kind], "--dim", 3, "--out", "k.nearer", "--report", "k.html")
    assert (told.exit_code, told.stderr) == (0, "")
    for part in ("kernel ", "map  ", "3 dimensions, in which", "held-out accuracy", "k.html"):
        assert part in told.stdout
    model = nearer.load("k.nearer")
    evaluated = facts_of(run("evaluate", "k.nearer", answers, "--json"))
    assert evaluated["accuracy"] == model.score(nearer.Comparisons.read(answers)) > 0.7
    assert evaluated["log_loss"] < 0.7
    (tmp_path / "questions.csv").write_text("anchor,a,b\nthing1,thing2,thing3\n")
    predicted = facts_of(run("predict k.nearer questions.csv --json"))["predictions"][0]
    first = bool(model.predict([("thing1", "thing2", "thing3")])[0])
    assert predicted["predicted_near"] == ("thing2" if first else "thing3")
    assert 0.5 <= predicted["probability"] <= 1
    run("plot k.nearer --out plane.png")
    run("plot", "k.nearer", "--out", "space.png", "--dim", 3)
    plane, space = ((tmp_path / f"{name}.png").read_bytes() for name in ("plane", "space"))
    assert plane.startswith(b"\x89PNG")
    assert plane != space


@pytest.mark.parametrize("kind", KINDS)
def test_facts_are_those_of_the_model(run, answers, kind):
    facts = facts_of(run("fit", answers, *KINDS[kind], "--json"))
    model = nearer.load("model.nearer")
    train, test = nearer.Comparisons.read(answers).split(test_size=0.2, random_state=0)
    assert facts["class"] == type(model).__name__
    assert facts["test_accuracy"] == model.score(test)
    assert facts["train_accuracy"] == model.score(train)
    assert facts["map_accuracy"] == 1 - nearer.metrics.triplet_error(model.embedding(2), test)
    if kind == "kernel":
        assert facts["objective"] == model.result_.objective
        assert facts["details"]["gap"] >= 0
    else:
        assert (facts["n_seen"], facts["n_steps"]) == (len(train), model.n_steps_)


def test_the_command_learns_what_the_library_learns(run, answers):
    run("fit", answers, "--model", "online", "--test-size", 0, "--update", "ste", "--step", "1/sqrt(j)")
    read = nearer.Comparisons.read(answers)
    same = nearer.OnlineKernel(update="ste", step="1/sqrt(j)", random_state=0).fit(read)
    np.testing.assert_array_equal(nearer.load("model.nearer").kernel_, same.kernel_)
    run(f"fit {answers} --model kernel --test-size 0 --loss gnmds --trace-penalty 0.1 --force")
    same = nearer.RelativeKernel("gnmds", trace_penalty=0.1, random_state=0).fit(read)
    np.testing.assert_array_equal(nearer.load("model.nearer").kernel_, same.kernel_)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("kernel", ["--loss", "gnmds"]),
        ("kernel", ["--trace-penalty", 0.1]),
        ("kernel", ["--trace-penalty", "auto"]),
        ("kernel", ["--rank", 1]),
        ("kernel", ["--max-epochs", 1]),
        ("kernel", ["--tol", 1e-9]),
        ("online", ["--update", "gnmds"]),
        ("online", ["--step", "1/j"]),
        ("online", ["--max-step", 0.01]),
        ("online", ["--passes", 3]),
        ("online", ["--trace-penalty", 0.1]),
        ("online", ["--rank", 2]),
        ("factored", ["--seed", 1]),
    ],
    ids=str,
)
def test_every_setting_changes_the_kernel(run, answers, kind, options):
    kernels = []
    for more_options in ([], options):
        assert run("fit", answers, *KINDS[kind], "--force", "--test-size", 0, *more_options).exit_code == 0
        kernels.append(nearer.load("model.nearer").kernel_)
    assert not np.array_equal(*kernels)


def test_seconds_reach_a_kernel(run, answers):
    facts = facts_of(run("fit", answers, "--model", "kernel", "--max-seconds", 1e-9, "--json"))
    assert facts["stop_reason"] == "seconds"


def test_names_of_updates_and_steps_are_the_estimators():
    assert set(UpdateName) == set(UPDATES)
    assert set(StepName) == set(STEPS)


def test_the_defaults_of_the_help_are_the_estimators(run):
    from inspect import signature

    from nearer.cli.fit import fit

    command = {name: parameter.default for name, parameter in signature(fit).parameters.items()}
    online = nearer.OnlineKernel().get_params()
    shared = ("update", "step", "max_step", "passes", "rank")
    assert {name: command[name] for name in shared} == {name: online[name] for name in shared}
    assert command["tol"] == nearer.RelativeKernel().tol
    shown = " ".join(run("fit --help").stdout.replace("│", "").split())
    embedding, kernel = nearer.OrdinalEmbedding(), nearer.RelativeKernel()
    assert f"[default: ({embedding.loss}, {kernel.loss} for a kernel, " in shown
    assert f"[default: ({kernel.trace_penalty}, or {online['trace_penalty']:g} online)]" in shown


def test_quadruplets_are_learned_online(run):
    run("simulate", "--objects", 8, "--comparisons", 300, "--kind", "quadruplets", "--out", "four.csv")
    for kind in KINDS.values():
        assert facts_of(run("fit", "four.csv", *kind, "--json", "--force"))["n_train"] == 240
    run("simulate", "--objects", 8, "--comparisons", 30, "--out", "three.csv")
    run("fit three.csv --model online --force")
    run(
        "fit four.csv --start model.nearer",
        exits=2,
        says=["four.csv: these are quadruplets, but model.nearer began with triplets"],
    )


# -- going on ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["online", "factored"])
def test_going_on_gives_the_kernel_of_all_answers(run, answers, tmp_path, kind):
    lines = answers.read_text().splitlines()
    (tmp_path / "first.csv").write_text("\n".join(lines[:301]))
    (tmp_path / "second.csv").write_text("\n".join([lines[0], *lines[301:]]))
    whole = [*KINDS[kind], "--test-size", 0, "--passes", 2]
    run("fit", answers, *whole, "--out", "whole.nearer")
    run("fit", "first.csv", *whole, "--out", "part.nearer")
    before = nearer.load("part.nearer").score(nearer.Comparisons.read("second.csv"))
    facts = facts_of(run("fit second.csv --start part.nearer --json"))
    assert (facts["model"], facts["n_seen"], facts["n_train"], facts["n_test"]) == (
        "part.nearer",
        400,
        100,
        0,
    )
    assert facts["accuracy_before"] == before
    np.testing.assert_array_equal(nearer.load("part.nearer").kernel_, nearer.load("whole.nearer").kernel_)


def test_going_on_under_another_name_leaves_the_model(run, answers, more, tmp_path):
    run("fit", answers, "--model", "online")
    before = (tmp_path / "model.nearer").read_bytes()
    told = run(
        "fit", more, "--start", "model.nearer", "--out", "next.nearer", "--report", "next.html", exits=0
    )
    assert re.search(r"^accuracy before +\d+\.\d% of 3 answers before they were learned$", told.stdout, re.M)
    assert re.search(r"^new +2 objects$", told.stdout, re.M)
    assert (tmp_path / "model.nearer").read_bytes() == before
    assert "323 answers learned" in (tmp_path / "next.html").read_text()


def test_new_names_are_added_and_the_old_keep_their_places(run, answers, more):
    run("fit", answers, "--model", "online")
    old = nearer.load("model.nearer").names_
    facts = facts_of(run("fit", more, "--start", "model.nearer", "--json"))
    assert (facts["n_new_objects"], facts["n_objects"]) == (2, 14)
    model = nearer.load("model.nearer")
    assert model.names_[:12] == old
    assert sorted(model.names_[12:]) == ["moon", "sun"]
    assert model.predict([("moon", "sun", "thing1"), ("sun", "moon", "thing2")]).all()
    assert facts_of(run("fit", more, "--start", "model.nearer", "--json"))["n_new_objects"] == 0


def test_new_numbers_are_added(run, tmp_path):
    (tmp_path / "few.csv").write_text("anchor,near,far\n0,1,2\n1,0,2\n")
    (tmp_path / "next.csv").write_text("anchor,near,far\n3,1,2\n")
    run("fit", "few.csv", "--model", "online", "--test-size", 0)
    facts = facts_of(run("fit next.csv --start model.nearer --json"))
    assert (facts["n_new_objects"], facts["n_objects"]) == (1, 4)


def test_names_that_look_like_numbers_go_on_as_names(run, tmp_path):
    (tmp_path / "years.csv").write_text("anchor,near,far\n1900,1910,now\nnow,1910,1900\n1910,now,1900\n")
    (tmp_path / "later.csv").write_text("anchor,near,far\nnow,1910,1900\n1910,1900,now\n")
    run("fit", "years.csv", "--model", "online", "--test-size", 0)
    assert facts_of(run("fit later.csv --start model.nearer --json"))["n_objects"] == 3
    (tmp_path / "numbers.csv").write_text("anchor,near,far\n0,1,2\n")
    run(
        "fit numbers.csv --start model.nearer",
        exits=2,
        says=["numbers.csv: the objects have numbers, but the model knows them by name"],
    )


def test_contradictions_are_learned_too(run, answers, tmp_path):
    run("fit", answers, "--model", "online")
    (tmp_path / "both.csv").write_text(
        "anchor,near,far\n" + "thing1,thing2,thing3\nthing1,thing3,thing2\n" * 9
    )
    facts = facts_of(run("fit both.csv --start model.nearer --json"))
    assert facts["train_accuracy"] == 0.5
    assert np.isfinite(nearer.load("model.nearer").kernel_).all()


def test_an_interrupted_save_leaves_the_old_model_whole(run, answers, more, tmp_path, monkeypatch):
    run("fit", answers, "--model", "online")
    before = (tmp_path / "model.nearer").read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device", "model.nearer")

    monkeypatch.setattr("os.replace", fail)
    failed = run("fit", more, "--start", "model.nearer")
    assert (failed.exit_code, failed.stderr) == (2, "nearer: model.nearer: no space left on device\n")
    assert (tmp_path / "model.nearer").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.csv", "model.nearer", "more.csv"]


@pytest.fixture(scope="module")
def models(tmp_path_factory, named_answers):
    """A folder with one model of each kind."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "answers.csv").write_text("\n".join(named_answers.splitlines()[:101]) + "\n", encoding="utf-8")
    read = nearer.Comparisons.read(folder / "answers.csv")
    nearer.save(nearer.OnlineKernel(random_state=0).fit(read), folder / "online.nearer")
    nearer.save(nearer.RelativeKernel(trace_penalty=0.1).fit(read), folder / "kernel.nearer")
    nearer.save(nearer.OrdinalEmbedding(max_epochs=1, l2=0.1).fit(read), folder / "points.nearer")
    return folder


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--passes", 2], ["--passes", "--model online", "leave it out"]),
        (["--rank", 2], ["--rank", "--model kernel, online", "leave it out"]),
        (["--model", "kernel", "--l2", 1], ["--l2", "--model embedding", "leave it out"]),
        (["--model", "kernel", "--update", "ste"], ["--update", "--model online", "leave it out"]),
        (["--model", "online", "--loss", "ste"], ["--loss", "--model embedding, kernel"]),
        (["--model", "online", "--tol", 0.1], ["--tol", "--model embedding, kernel"]),
        (["--model", "kernel", "--loss", "auto"], ["--loss", "gnmds, ckl, ste", "'auto'"]),
        (["--model", "online", "--trace-penalty", "auto"], ["--trace-penalty", "number", "'auto'"]),
        (["--model", "kernel", "--trace-penalty", "much"], ["--trace-penalty", '"auto"', "'much'"]),
        (["--model", "online", "--max-step", 0], ["--max-step", "above 0"]),
        (["--model", "online", "--update", "ste", "--max-step", 1], ["--max-step", "passive-aggressive"]),
        (["--model", "kernel", "--dim", 13], ["--dim is 13", "12 objects"]),
        (
            ["--start", "online.nearer", "--passes", 2],
            ["--passes", "online.nearer", "leave it or --start out"],
        ),
        (["--start", "online.nearer", "--model", "kernel"], ["--model", "online.nearer", "--start"]),
        (["--start", "online.nearer", "--dim", 15], ["--dim is 15", "12 objects"]),
        (["--start", "kernel.nearer"], ["kernel.nearer", "RelativeKernel", "without --start"]),
        (["--start", "points.nearer"], ["points.nearer", "OrdinalEmbedding", "without --start"]),
        (["--start", "answers.csv"], ["answers.csv", "not a model", "nearer fit"]),
        (["--start", "nowhere.nearer"], ["nowhere.nearer", "no such file"]),
    ],
    ids=str,
)
def test_bad_input_is_one_sentence(run, models, tmp_path, monkeypatch, options, named):
    monkeypatch.chdir(models)
    result = run("fit", "answers.csv", *options, "--out", tmp_path / "new.nearer", exits=2)
    for part in named:
        assert part in result.stderr
    assert result.stderr.startswith("nearer: ")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "new.nearer").exists()


def test_pictures_that_a_model_does_not_have(run, answers, fitted):
    run("fit", answers, "--model", "online", "--out", "online.nearer")
    refused = run("plot online.nearer --what steps", exits=2)
    assert all(part in refused.stderr for part in ("online.nearer", "steps", "leave out --what"))
    refused = run("plot", fitted / "model.nearer", "--dim", 3, exits=2)
    assert all(part in refused.stderr for part in ("--dim", "2 dimensions", "leave it out"))
    assert "--dim is about the map" in run("plot", "online.nearer", "--what", "steps", "--dim", 2).stderr
    assert "--dim is 20, but" in run("plot", "online.nearer", "--dim", 20).stderr
    run("fit", answers, "--model", "kernel", "--trace-penalty", 0.1, "--out", "kernel.nearer")
    assert run("plot kernel.nearer --what objective").exit_code == 0


def test_evaluate_knows_nothing_of_new_objects(run, answers, more):
    run("fit", answers, "--model", "online")
    run("evaluate", "model.nearer", more, exits=2, says=["more.csv, line 3"])


# -- reports -----------------------------------------------------------------------------------------------------


def test_a_report_judges_the_map_by_the_models_own_places(answers):
    read = nearer.Comparisons.read(answers)
    turned = nearer.Comparisons(11 - read.indices, names=read.names[::-1])
    model = nearer.OnlineKernel(random_state=0).fit(read)
    share = 1 - nearer.metrics.triplet_error(model.embedding(2), read)
    for train in (read, turned):
        page = render_report(model, train=train)
        assert f"On the map</dt><dd>{share:.1%}<small>of the training comparisons" in page
    assert page.count("<svg") == 1
    assert "What was learned" in page
    assert "Projections</dt>" in page
    assert "Projections</dt>" not in render_report(nearer.OnlineKernel(rank=2, random_state=0).fit(read))


def test_a_report_draws_a_kernel_in_the_dimensions_wanted(answers):
    train, test = nearer.Comparisons.read(answers).split(random_state=0)
    model = nearer.RelativeKernel(trace_penalty=0.01).fit(train)
    page = render_report(model, test=test, n_components=3)
    assert "12 objects, a kernel drawn in 3 dimensions; the objective stopped falling." in page
    assert "of the unseen comparisons" in page
    assert page.count("<svg") == 3


# -- ctrl-C ------------------------------------------------------------------------------------------------------


def test_ctrl_c_keeps_what_was_learned_and_it_can_go_on(start, process, tmp_path):
    process("simulate", "--objects", 60, "--comparisons", 300_000, "--noise", 0.2, "--out", "many.csv")
    fit = start("fit", "many.csv", "--model", "online", "--test-size", 0, "--json")
    fit.screen.wait_for(r" [1-9]\d?%")
    fit.send_signal(signal.SIGINT)
    facts = json.loads(fit.stdout.read())
    assert fit.wait(timeout=60) == 130
    screen = fit.screen.wait_for(r"was written to model\.nearer")
    assert f"interrupted, what the first {facts['n_seen']:,} of 300,000 answers taught was" in screen
    assert "Traceback" not in screen
    model = nearer.load(tmp_path / "model.nearer")
    assert (model.n_seen_, model.verbose) == (facts["n_seen"], False)
    assert facts["n_train"] == facts["n_seen"] < 300_000
    assert process("simulate", "--objects", 60, "--comparisons", 9, "--out", "next.csv").returncode == 0
    gone_on = process("fit next.csv --start model.nearer --json")
    assert json.loads(gone_on.stdout)["n_seen"] == facts["n_seen"] + 9


def test_ctrl_c_before_the_first_answer_writes_nothing(run, answers, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(nearer.OnlineKernel, "_begin", interrupt)
    result = run("fit", answers, "--model", "online")
    assert (result.exit_code, result.stderr) == (130, "nearer: interrupted, nothing was written\n")
    assert [path.name for path in tmp_path.iterdir()] == ["answers.csv"]


def test_ctrl_c_in_a_kernel_fit_keeps_the_best_so_far(run, answers, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("nearer.kernels.relative.Fit.minimise", interrupt)
    result = run("fit", answers, "--model", "kernel", "--trace-penalty", 0.1, exits=130)
    assert result.stderr == "nearer: interrupted, the best kernel so far was written to model.nearer\n"
    assert nearer.load("model.nearer").result_.stop_reason == "interrupted"
