"""Mistakes that are answered with one sentence instead of a crash or a silent failure."""

import gzip

import numpy as np
import pytest

from nearer import Comparisons, OrdinalEmbedding, datasets, losses, plotting, save
from nearer.cli._wording import in_options
from nearer.errors import InputError

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
    with pytest.raises(InputError, match="random_state must be"):
        quick(random_state=seed).fit(ANSWERS)


def test_what_is_no_array_is_told_its_reader():
    with pytest.raises(InputError, match=r"'answers.csv'.*Comparisons\.read"):
        quick().fit("answers.csv")
    for records in ([{"anchor": 0, "near": 1, "far": 2}], {"anchor": [0], "near": [1], "far": [2]}):
        with pytest.raises(InputError, match="from_records"):
            Comparisons(records)


def test_noise_of_an_unknown_name_is_named():
    with pytest.raises(InputError, match=r"noise must be .* not 'foo'"):
        datasets.planted(10, 2, 10, noise="foo")


def test_a_share_that_is_a_word_is_refused():
    with pytest.raises(InputError, match="test_size=half"):
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


def test_advice_without_an_option_is_left_out():
    message = "(NA and None count as empty unless names=[...] lists them); correct this row"
    assert in_options(message, ["--invalid"]) == "(NA and None count as empty); correct this row"
