"""Ctrl-C before the fit to all rows has begun: there is nothing to keep."""

import pytest

MODELS = {
    "tags": ("posts", "posts.csv --model tags"),
    "links": ("friends", "friends.csv --model links --graph undirected"),
    "multilabel": ("songs", "songs.csv --model multilabel --labels happy,sad --ignore song,moods,kind"),
    "metric": ("cups", "cups.csv --model metric --labels kind --ignore cup,shop"),
}


@pytest.fixture
def arguments(request, name):
    folder, rest = MODELS[name]
    return f"fit {request.getfixturevalue(folder)}/{rest}"


@pytest.mark.parametrize("name", MODELS)
def test_while_beta_is_chosen_nothing_is_written(run, arguments, press_in, tmp_path, name):
    press_in("choosing beta")
    result = run(arguments, exits=130)
    assert (result.stdout, result.stderr) == (
        "",
        "nearer: interrupted while choosing beta, nothing was written\n",
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", MODELS)
def test_an_older_model_of_that_name_stays(run, arguments, press_in, tmp_path, name):
    (tmp_path / "old.nearer").write_text("old")
    press_in("choosing beta")
    run(f"{arguments} --out old.nearer", exits=130)
    assert (tmp_path / "old.nearer").read_text() == "old"


@pytest.mark.parametrize("name", ["links", "multilabel"])
def test_while_rows_are_held_out_nothing_is_written(run, arguments, press_in, tmp_path, name):
    press_in("holding rows out")
    result = run(f"{arguments} --beta 0.1", exits=130)
    assert result.stderr == "nearer: interrupted while holding rows out, nothing was written\n"
    assert list(tmp_path.iterdir()) == []
