"""`nearer plot` of models of labels, tags and links."""

import pytest

from tests.cli.conftest import facts_of


@pytest.fixture
def space(run, request, name):
    """Return the path of a fitted model."""
    if name != "multilabel":
        return request.getfixturevalue({"tags": "posts", "links": "friends"}[name]) / f"{name}.nearer"
    songs = request.getfixturevalue("songs") / "songs.csv"
    options = "--model multilabel --labels happy,sad --ignore song,moods,kind --beta 0.5 --test-size 0"
    run(f"fit {songs} {options}", exits=0)
    return "model.nearer"


@pytest.mark.parametrize("name", ["multilabel", "tags", "links"])
def test_spaces_are_drawn(run, space, tmp_path, name):
    assert facts_of(run("plot", space, "--title", name, "--json")) == {"out": "map.png", "what": "map"}
    assert (tmp_path / "map.png").read_bytes()[1:4] == b"PNG"
    run("plot", space, "--out", "space.svg", exits=0)
    drawn = (tmp_path / "space.svg").read_text()
    run("plot", space, "--what", "objective", "--out", "course.svg", exits=0)
    assert drawn != (tmp_path / "course.svg").read_text()


@pytest.mark.parametrize("name", ["links"])
@pytest.mark.parametrize(
    ("option", "value"), [("--what", "steps"), ("--dim", 3), ("--labels", "colours.csv")]
)
def test_what_is_about_maps_alone_is_refused(run, space, tmp_path, option, value):
    (tmp_path / "colours.csv").write_text("object,label\np1,a\n")
    run("plot", space, option, value, exits=2, says=[f"{option}", "leave"])
    assert not (tmp_path / "map.png").exists()
