"""Mistakes that are answered with one sentence instead of a crash or a silent failure."""

import copy
import gzip
import pickle
import re

import numpy as np
import pytest

from nearer import Comparisons, OrdinalEmbedding, datasets, losses, plotting, save
from nearer.cli._wording import in_options
from nearer.errors import InputError, ModelFileError, Place, Suggestion
from tests.refusals import refused, says

ANSWERS = datasets.planted(12, 2, 300, random_state=0).comparisons


def quick(**settings):
    return OrdinalEmbedding(2, **{"l2": 0.01, "max_epochs": 2, "random_state": 0, **settings})


@pytest.mark.parametrize(
    ("init", "sentence"),
    [
        (np.zeros((12, 2)), "all objects at one point"),
        (np.ones((12, 2)), "all objects at one point"),
        (1e200 * np.arange(24.0).reshape(12, 2), "squares of init overflow in float64"),
    ],
)
def test_a_start_that_leads_nowhere_is_refused(init, sentence):
    with pytest.raises(InputError, match=sentence):
        quick(init=init).fit(ANSWERS)


@pytest.mark.parametrize("seed", ["x", -1, 1.5])
def test_a_bad_seed_is_named(seed):
    with refused(repr(seed), parameter="random_state"):
        quick(random_state=seed).fit(ANSWERS)


def test_what_is_no_array_is_told_its_reader():
    with pytest.raises(InputError, match=r"'answers.csv'.*Comparisons\.read"):
        quick().fit("answers.csv")
    for records in ([{"anchor": 0, "near": 1, "far": 2}], {"anchor": [0], "near": [1], "far": [2]}):
        with pytest.raises(InputError, match="from_records"):
            Comparisons(records)


def test_noise_of_an_unknown_name_is_named():
    with refused("'foo'", parameter="noise"):
        datasets.planted(10, 2, 10, noise="foo")


def test_a_share_that_is_a_word_is_refused():
    with refused("'half'", parameter="test_size"):
        ANSWERS.split(test_size="half")


def test_comparisons_are_no_points_to_draw():
    with pytest.raises(ValueError, match="not a Comparisons"):
        plotting.plot_map(ANSWERS)


@pytest.mark.parametrize("ending", ["csv.gz", "jsonl.gz"])
@pytest.mark.parametrize("damage", ["not packed", "cut off"])
def test_damaged_gzip_files_are_named(tmp_path, ending, damage):
    path = tmp_path / f"answers.{ending}"
    text = (
        b"anchor,near,far\ncat,dog,car\n" if ending == "csv.gz" else b'{"anchor": 0, "near": 1, "far": 2}\n'
    )
    packed = gzip.compress(text)
    path.write_bytes(b"hello" if damage == "not packed" else packed[:-12])
    with pytest.raises(InputError, match=rf"answers\.{ending}: this is not a whole gzipped file"):
        Comparisons.read(path)


def test_an_unwritable_place_goes_by_its_own_name(tmp_path):
    with pytest.raises(IsADirectoryError) as caught:
        save(quick().fit(ANSWERS), tmp_path)
    assert caught.value.filename == str(tmp_path)


def test_partial_fit_heeds_what_was_set_since():
    model = quick().fit(ANSWERS)
    model.set_params(loss="ste", l2=0.1).partial_fit(ANSWERS.head(50))
    assert model.loss_ == losses.STE()
    assert model.l2_ == 0.1


def test_partial_fit_keeps_automatic_choices():
    model = quick(loss="auto", l2="auto").fit(ANSWERS)
    before = model.loss_, model.l2_
    assert (model.partial_fit(ANSWERS.head(50)).loss_, model.l2_) == before


ERROR = InputError(
    "holds an empty cell",
    parameter="first_index",
    place=Place("a.csv", line=3, column="near"),
    remedy=["correct it", Suggestion("names", [...]), Suggestion("invalid", "drop", "to leave it out")],
)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize(
    "error", [ERROR, ModelFileError("damaged", place=Place("a.nearer")), InputError("plain")]
)
def test_fields_survive_copies(again, error):
    copied = again(error)
    assert type(copied) is type(error)
    assert copied.__dict__ == error.__dict__
    assert str(copied) == str(error)


def test_a_sentence_is_made_of_the_fields():
    says(
        ERROR,
        "empty cell",
        parameter="first_index",
        file="a.csv",
        line=3,
        column="near",
        offers=["names", "invalid"],
    )
    assert str(ERROR).endswith("correct it, pass names=[...], or invalid='drop' to leave it out")
    elsewhere = InputError("is odd", place=Place(row=3)).within("b.csv")
    assert (elsewhere.place.file, elsewhere.place.row) == ("b.csv", 3)
    assert ERROR.within("b.csv").place.file == "a.csv"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--invalid"],
            "first_index holds an empty cell; correct it, or pass --invalid drop to leave it out",
        ),
        (["--first-index"], "--first-index holds an empty cell; correct it"),
        (["--json"], "--first-index holds .* --invalid drop to leave it out .options of nearer convert"),
    ],
)
def test_a_command_words_fields_as_its_options(options, expected):
    worded = in_options(ERROR, options)
    assert re.match("a.csv, line 3, column 'near': " + expected, worded)
    assert "names=" not in worded
