"""Model files that are tampered with or made up: refused in one sentence, whatever they hold."""

from __future__ import annotations

import contextlib
import json
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import nearer
from nearer.errors import InputError, ModelFileError
from nearer.pairwise import OPAUC, AdaDSG
from tests import refusals
from tests.fuzz import model_files
from tests.saved_models import MODELS, rows

SOME = (
    "ordinal",
    "relative",
    "online_factored",
    "online_whole",
    "feature_map",
    "auc_stream_sparse",
    "selector",
)


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    made: dict[str, bytes] = {}

    def content(name):
        if name not in made:
            made[name] = nearer.save(MODELS[name](), folder / f"{name}.nearer").read_bytes()
        return made[name]

    return content


@pytest.fixture
def load(tmp_path):
    def load(content):
        path = tmp_path / "hostile.nearer"
        path.write_bytes(content)
        return nearer.load(path)

    return load


def refused(load, content, match=None):
    with pytest.raises(ModelFileError, match=match) as error:
        load(content)
    text = str(error.value)
    assert "hostile.nearer" in text
    assert "\n" not in text
    assert len(text) < 450


def array_of(content, *path):
    """The member that holds an array of the manifest."""
    found = json.loads(model_files.members_of(content)["manifest.json"])["fitted"]
    for key in path:
        found = found[key]
    return found["$array"]


STATE = ("learned_", "fields", "state", "fields")
#: a file whose state is that of an earlier version
FORMER = Path(__file__).parents[1] / "fixtures" / "models" / "auc_stream.nearer"


class TestArrays:
    @pytest.mark.parametrize(
        "array",
        [
            np.full((8, 2), np.nan),
            np.full((8, 2), np.inf),
            np.full((8, 2), 1j),
            np.full((8, 2), "far"),
            np.zeros(8),
            np.zeros((7, 2)),
            np.zeros((0, 2)),
            np.zeros((8, 2, 1)),
            np.array(3.0),
            np.zeros((8, 2), dtype="float16"),
            np.zeros((8, 2), dtype=int),
            np.zeros((8, 2), dtype=[("x", "f8")]),
        ],
    )
    def test_points_that_are_none(self, contents, load, array):
        content = contents("ordinal")
        refused(
            load,
            model_files.with_array(content, array_of(content, "embedding_"), array),
            "embedding_|arrays/|where 7 is",
        )

    @pytest.mark.parametrize("change", [np.asfortranarray, lambda points: points.astype(">f8")])
    def test_points_in_another_order_load(self, contents, load, change):
        content = contents("ordinal")
        member = array_of(content, "embedding_")
        points = load(content).embedding_
        got = load(model_files.with_array(content, member, change(points))).embedding_
        assert got.dtype.isnative
        np.testing.assert_array_equal(got, points)

    @pytest.mark.parametrize("index", [10**6, 8, -1])
    def test_kept_answers_about_objects_that_are_not_there(self, contents, load, index):
        content = contents("online_factored")
        hostile = np.full((60, 3), index, dtype=np.int32)
        refused(
            load,
            model_files.with_array(content, array_of(content, "kept_indices_"), hostile),
            "kept_indices_",
        )

    @pytest.mark.parametrize("name", ["auc_stream", "auc_olp", "auc_solam", "pairs_metric"])
    @pytest.mark.parametrize("part", ["v", "lag", "held"])
    def test_weights_cut_short(self, contents, load, name, part):
        content = contents(name)
        member = array_of(content, *STATE, "arrays", "$dict", part)
        refused(load, model_files.with_array(content, member, np.ones(1)), "state")

    @pytest.mark.parametrize("part", ["factors", "means", "counts", "latest"])
    def test_moments_of_another_size(self, contents, load, part):
        content = contents("auc_opauc")
        member = array_of(content, *STATE, "arrays", "$dict", part)
        refused(
            load,
            model_files.with_array(content, member, np.ones((2, 1, 4))[..., : 3 if part == "factors" else 4]),
        )

    @pytest.mark.parametrize(
        ("part", "array"),
        [
            ("positive indices", np.full(9, 77, dtype=np.int32)),
            ("positive indptr", np.array([0, 10**6], dtype=np.int32)),
            ("positive shape", np.array([10**9, 4])),
        ],
    )
    def test_kept_rows_that_lead_outside(self, contents, load, part, array):
        content = contents("auc_stream_sparse")
        member = array_of(content, *STATE, "arrays", "$dict", part)
        refused(load, model_files.with_array(content, member, array), "positive")


class TestNumbers:
    @pytest.mark.parametrize("count", [1e308, -1, 2**70, True, "many", None, {"$float": "inf"}])
    def test_counters(self, contents, load, count):
        def change(manifest):
            manifest["fitted"]["learned_"]["fields"]["state"]["fields"]["numbers"]["$dict"]["positives"] = (
                count
            )

        refused(load, model_files.with_manifest(contents("auc_stream"), change), "positives")

    @pytest.mark.parametrize("column", ["epoch", "evaluations", "seconds"])
    @pytest.mark.parametrize("last", [np.nan, np.inf, -1.0, 1e300])
    def test_counts_at_the_end_of_a_history(self, contents, load, column, last):
        content = contents("auc_stream")
        member = array_of(content, *STATE, "history", "$dict", column)
        records = np.ones_like(load(content).learned_.state.history[column])
        records[-1] = last
        refused(load, model_files.with_array(content, member, records), column)

    @pytest.mark.parametrize("count", [1e308, -1, 2**70, True, "many", None, {"$float": "inf"}])
    @pytest.mark.parametrize("name", ["steps", "positives", "stage"])
    def test_counters_of_files_of_earlier_versions(self, load, name, count):
        def change(manifest):
            manifest["fitted"]["learned_"]["fields"]["state"]["fields"][name] = count

        refused(load, model_files.with_manifest(FORMER.read_bytes(), change), name)

    @pytest.mark.parametrize("part", ["arrays", "numbers", "history", "w"])
    @pytest.mark.parametrize("value", [None, [], 3.0, {"$dict": {"strange": 1.0}}, {"$strings": ["a"]}])
    def test_parts_of_files_of_earlier_versions(self, load, part, value):
        def change(manifest):
            manifest["fitted"]["learned_"]["fields"]["state"]["fields"][part] = value

        hostile = model_files.with_manifest(FORMER.read_bytes(), change)
        if part == "numbers" and value == {"$dict": {"strange": 1.0}}:
            assert load(hostile).learned_.state.numbers["strange"] == 1.0  # a number of a solver's own
        else:
            refused(load, hostile)

    @pytest.mark.parametrize(
        ("name", "part", "key", "value"),
        [
            ("ordinal", "params", "n_components", 0),
            ("ordinal", "params", "l2", -1.0),
            ("ordinal", "params", "solver", "unheard"),
            ("ordinal", "params", "dtype", "complex128"),
            ("ordinal", "params", "max_seconds", "long"),
            ("ordinal", "params", "callback", "print"),
            ("ordinal", "fitted", "l2_", {"$float": "nan"}),
            ("ordinal", "fitted", "loss_", {"$type": "losses.TSTE", "fields": {}}),
            ("ordinal", "fitted", "names_", {"$tuple": ["a", "b"]}),
            ("relative", "params", "max_rank", -2),
            ("online_factored", "params", "passes", 10**12),
            ("online_factored", "fitted", "seed_", -1),
            ("online_factored", "fitted", "n_seen_", 3),
            ("feature_map", "params", "alpha", 0),
            ("feature_map", "fitted", "n_features_in_", 3),
            ("feature_map", "fitted", "gamma_", {"$float": "inf"}),
            ("auc", "params", "held_out", 1.0),
            ("auc", "params", "scale", "big"),
            ("auc", "fitted", "threshold_", {"$float": "nan"}),
            ("auc", "fitted", "n_features_in_", 400),
            ("pairs", "params", "pair", "metric"),
            ("selector", "params", "random_share", 2.0),
            ("selector", "fitted", "n_objects", 2),
            ("selector", "fitted", "rng", {"$dict": {"bit_generator": "MT19937"}}),
        ],
    )
    def test_settings_and_fitted_numbers(self, contents, load, name, part, key, value):
        hostile = model_files.with_manifest(
            contents(name), lambda manifest: manifest[part].update({key: value})
        )
        refused(load, hostile, f"{key.removesuffix('_')}|where {value} is|kept of {value}")

    @pytest.mark.parametrize("name", SOME)
    def test_nothing_may_be_missing(self, contents, load, name):
        content = contents(name)
        fitted = json.loads(model_files.members_of(content)["manifest.json"])["fitted"]
        may_lack = {"feature_names_in_"} | ({"result_"} if name.startswith("online") else set())
        for key in fitted.keys() - may_lack:
            broken = model_files.with_manifest(
                content, lambda manifest, key=key: manifest["fitted"].pop(key) and None
            )
            refused(load, broken, f"{key} is missing")


class TestArchives:
    @pytest.mark.parametrize("name", SOME)
    def test_hostile_archives(self, contents, load, name):
        for how, content in model_files.hostile_archives(contents(name)):
            try:
                load(content)
            except ModelFileError:
                continue
            pytest.fail(f"{how} was loaded")

    def test_a_bomb_takes_no_memory(self, contents, load):
        content = dict(model_files.hostile_archives(contents("ordinal")))["compressed bomb"]
        assert len(content) < 10**6  # and 240 MB when expanded
        tracemalloc.start()
        try:
            refused(load, content, "compressed")
            assert tracemalloc.get_traced_memory()[1] < 20 * 10**6
        finally:
            tracemalloc.stop()

    def test_every_offset_flipped(self, contents, load):
        content = contents("ordinal")
        begin = content.find(b"PK\x01\x02")
        for place in range(begin, len(content)):
            for bit in (0, 7):
                broken = bytearray(content)
                broken[place] ^= 1 << bit
                with contextlib.suppress(ModelFileError):
                    load(bytes(broken))

    def test_a_pipe_is_not_waited_for(self, tmp_path):
        os.mkfifo(tmp_path / "pipe.nearer")
        with refusals.refused("pipe.nearer", "copy", error=ModelFileError):
            nearer.load(tmp_path / "pipe.nearer")

    def test_not_json_but_python(self, contents, load):
        members = model_files.members_of(contents("ordinal"))
        members["manifest.json"] = members["manifest.json"].replace(b"3.0", b"NaN")
        refused(load, model_files.packed(members.items()), "NaN")


class TestSaving:
    def test_what_would_not_load_is_not_saved(self, tmp_path):
        model = MODELS["ordinal"]()
        model.embedding_[2] = np.nan
        with pytest.raises(InputError, match=r"OrdinalEmbedding would not load again .*embedding_"):
            nearer.save(model, tmp_path / "model.nearer")
        assert not list(tmp_path.iterdir())

    def test_settings_that_cannot_be_are_not_saved(self, tmp_path):
        model = MODELS["ordinal"]().set_params(l2=-3.0)
        with pytest.raises(InputError, match="l2 must be"):
            nearer.save(model, tmp_path / "model.nearer")

    @pytest.mark.parametrize("name", [*MODELS])
    def test_every_model_returns(self, contents, load, name):
        assert type(load(contents(name))).__name__ in str(
            model_files.members_of(contents(name))["manifest.json"]
        )


class TestStreamsWithOtherSettings:
    def test_a_smaller_buffer(self):
        model = nearer.AUCClassifier(solver=AdaDSG(buffer=20), random_state=0).partial_fit(*rows())
        model.set_params(solver=AdaDSG(buffer=4)).partial_fit(*rows(1))
        assert len(model.learned_.state.arrays["positive rows"]) == 4

    def test_another_rank_of_moments(self):
        model = nearer.AUCClassifier("square", OPAUC(), random_state=0).partial_fit(*rows())
        with refusals.refused("rank", "OPAUC", "fit"):
            model.set_params(solver=OPAUC(rank=2)).partial_fit(*rows(1))
