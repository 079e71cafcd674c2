from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import nearer
from nearer import datasets, losses
from nearer.errors import InputError, ModelFileError
from nearer.registry import BY_NAME
from nearer.saving import models


@pytest.fixture(scope="module")
def answers():
    return datasets.planted(15, 2, 1500, random_state=0).comparisons


@pytest.fixture(scope="module")
def embedding(answers):
    names = [f"object {number}" for number in range(15)]
    named = nearer.Comparisons(answers.indices, 15, names=names)
    settings = {"loss": losses.TSTE(alpha=3.0), "solver": "svrg-sbb", "max_epochs": 5, "random_state": 0}
    return nearer.OrdinalEmbedding(3, **settings).fit(named)


@pytest.fixture(scope="module")
def feature_map():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(30, 3)), columns=["loud", "bright", "fast"])
    return nearer.FeatureMap().fit(table, rng.normal(size=(30, 2)))


@pytest.fixture
def model_file(feature_map, tmp_path):
    return nearer.save(feature_map, tmp_path / "model.nearer")


def rewritten(path, change=None, arrays=None):
    """The model file with its manifest changed by a function and members replaced."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    if change is not None:
        change(manifest)
    members["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (members | (arrays or {})).items():
            archive.writestr(name, content)
    return path


def one_sentence(error):
    text = str(error.value)
    return "\n" not in text and len(text) < 400


def in_another_process(code, *arguments):
    run = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(run, check=True, capture_output=True, text=True, timeout=120).stdout


class TestRoundTrip:
    def test_feature_map(self, feature_map, model_file):
        loaded = nearer.load(model_file)
        assert loaded.get_params() == feature_map.get_params()
        assert list(loaded.feature_names_in_) == ["loud", "bright", "fast"]
        table = pd.DataFrame(np.random.default_rng(1).normal(size=(5, 3)), columns=loaded.feature_names_in_)
        np.testing.assert_array_equal(loaded.transform(table), feature_map.transform(table))

    def test_ordinal_embedding(self, embedding, answers, tmp_path):
        loaded = nearer.load(nearer.save(embedding, tmp_path / "model.nearer"))
        assert loaded.get_params() == embedding.get_params()
        assert loaded.names_ == embedding.names_
        assert loaded.loss_ == embedding.loss_
        assert loaded.result_.stop_reason == embedding.result_.stop_reason
        assert loaded.result_.details == embedding.result_.details
        assert loaded.result_.history.keys() == embedding.result_.history.keys()
        for name, values in embedding.result_.history.items():
            np.testing.assert_array_equal(loaded.result_.history[name], values)
        np.testing.assert_array_equal(loaded.embedding_, embedding.embedding_)
        np.testing.assert_array_equal(loaded.predict_proba(answers), embedding.predict_proba(answers))

    def test_everything_fitted_is_saved_but_the_answers(self, embedding, feature_map, tmp_path):
        for estimator in (embedding, feature_map):
            loaded = nearer.load(nearer.save(estimator, tmp_path / "model.nearer"))
            assert vars(loaded).keys() == vars(estimator).keys() - {"_comparisons"}

    @pytest.mark.parametrize("loss", [*losses.LOSSES])
    def test_every_loss(self, loss, answers, tmp_path):
        fitted = nearer.OrdinalEmbedding(2, loss=losses.find(loss), max_epochs=1, random_state=0).fit(answers)
        loaded = nearer.load(nearer.save(fitted, tmp_path / "model.nearer"))
        assert loaded.loss == losses.find(loss)
        np.testing.assert_array_equal(loaded.predict(answers), fitted.predict(answers))

    def test_float32_stays(self, answers, tmp_path):
        fitted = nearer.OrdinalEmbedding(2, dtype="float32", max_epochs=2, random_state=0).fit(answers)
        loaded = nearer.load(nearer.save(fitted, tmp_path / "model.nearer"))
        assert loaded.embedding_.dtype == np.float32
        np.testing.assert_array_equal(loaded.embedding_, fitted.embedding_)

    def test_learning_goes_on_after_loading(self, embedding, answers, tmp_path):
        loaded = nearer.load(nearer.save(embedding, tmp_path / "model.nearer"))
        loaded.partial_fit(answers)
        assert loaded.score(answers) > 0.8

    def test_another_process_predicts_the_same_bits(self, embedding, feature_map, answers, tmp_path):
        code = """
import sys, numpy, nearer
points, answers, place, features = sys.argv[1:]
numpy.save(answers + ".out.npy", nearer.load(points).predict_proba(numpy.load(answers)))
numpy.save(features + ".out.npy", nearer.load(place).transform(numpy.load(features)))
"""
        questions, features = answers.indices, np.random.default_rng(2).normal(size=(20, 3))
        plain = nearer.FeatureMap().fit(features, features[:, :2])
        paths = [tmp_path / name for name in ("points.nearer", "answers.npy", "place.nearer", "features.npy")]
        nearer.save(embedding, paths[0])
        np.save(paths[1], questions)
        nearer.save(plain, paths[2])
        np.save(paths[3], features)
        in_another_process(code, *paths)
        np.testing.assert_array_equal(np.load(f"{paths[1]}.out.npy"), embedding.predict_proba(questions))
        np.testing.assert_array_equal(np.load(f"{paths[3]}.out.npy"), plain.transform(features))


class TestFile:
    def test_equal_models_give_equal_bytes(self, feature_map, tmp_path):
        one, other = (nearer.save(feature_map, tmp_path / name) for name in ("one.nearer", "other.nearer"))
        assert one.read_bytes() == other.read_bytes()

    def test_manifest_says_what_it_is(self, model_file):
        with zipfile.ZipFile(model_file) as archive:
            manifest = json.loads(archive.read("manifest.json"))
        assert manifest["format"] == "nearer model"
        assert manifest["format_version"] == models.FORMAT_VERSION
        assert manifest["nearer_version"] == nearer.__version__
        assert manifest["class"] == "FeatureMap"
        assert manifest["params"] == {"gamma": "auto", "alpha": "auto", "standardise": True}

    def test_a_failed_save_leaves_the_old_file_and_nothing_else(self, feature_map, model_file, monkeypatch):
        before = model_file.read_bytes()

        def full_disk(*args, **kwargs):
            raise OSError("no space left on device")

        monkeypatch.setattr(np.lib.format, "write_array", full_disk)
        with pytest.raises(OSError, match="no space"):
            nearer.save(feature_map, model_file)
        assert model_file.read_bytes() == before
        assert list(model_file.parent.iterdir()) == [model_file]

    def test_folder_must_exist(self, feature_map, tmp_path):
        with pytest.raises(InputError, match=r"folder .*nowhere.*create"):
            nearer.save(feature_map, tmp_path / "nowhere" / "model.nearer")

    def test_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            nearer.load(tmp_path / "nothing.nearer")


@dataclass(frozen=True)
class HomeMade(losses.STE):
    """A user's own loss."""


class TestRefusals:
    def test_not_fitted(self, tmp_path):
        with pytest.raises(NotFittedError, match=r"FeatureMap.*fit"):
            nearer.save(nearer.FeatureMap(), tmp_path / "model.nearer")

    def test_foreign_objects(self, feature_map, tmp_path):
        class FeatureMap(nearer.FeatureMap):
            """Of the same name, but not ours."""

        for foreign in (feature_map.features_, FeatureMap()):
            with pytest.raises(InputError, match=type(foreign).__name__) as error:
                nearer.save(foreign, tmp_path / "model.nearer")
            assert all(name in str(error.value) for name in BY_NAME)

    def test_callback(self, answers, tmp_path):
        fitted = nearer.OrdinalEmbedding(2, max_epochs=1, callback=lambda progress: False).fit(answers)
        with pytest.raises(InputError, match=r"callback.*function.*None") as error:
            nearer.save(fitted, tmp_path / "model.nearer")
        assert one_sentence(error)
        assert not list(tmp_path.iterdir())
        fitted.set_params(callback=None)  # the remedy works
        assert nearer.load(nearer.save(fitted, tmp_path / "model.nearer")).callback is None

    def test_a_loss_of_ones_own(self, answers, tmp_path):
        fitted = nearer.OrdinalEmbedding(2, loss=HomeMade(), max_epochs=1, random_state=0).fit(answers)
        with pytest.raises(InputError, match=r"loss .*HomeMade.*numpy\.savez") as error:
            nearer.save(fitted, tmp_path / "model.nearer")
        assert one_sentence(error)

    @pytest.mark.parametrize("source", [np.random.default_rng(3), np.random.RandomState(3)])
    def test_a_random_generator_becomes_none(self, source, answers, tmp_path):
        fitted = nearer.OrdinalEmbedding(2, max_epochs=1, random_state=source).fit(answers)
        loaded = nearer.load(nearer.save(fitted, tmp_path / "model.nearer"))
        assert loaded.random_state is None
        np.testing.assert_array_equal(loaded.embedding_, fitted.embedding_)


class TestDamage:
    @pytest.mark.parametrize("content", [b"", b"anchor,near,far\n0,1,2\n", b"PK\x03\x04 and then nothing"])
    def test_foreign_files(self, content, tmp_path):
        path = tmp_path / "foreign.nearer"
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=r"foreign\.nearer.*save the model again") as error:
            nearer.load(path)
        assert one_sentence(error)

    def test_foreign_zip(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "foreign.zip", "w") as archive:
            archive.writestr("note.txt", "hello")
        with pytest.raises(ModelFileError, match=r"manifest\.json"):
            nearer.load(tmp_path / "foreign.zip")

    @pytest.mark.parametrize("name", ["answers.csv", "answers.csv.gz", "answers.parquet", "answers.npz"])
    def test_a_table_is_no_model(self, tmp_path, name):
        nearer.Comparisons([[0, 1, 2]]).write(tmp_path / name)
        with pytest.raises(ModelFileError, match=f"{name}.*`nearer fit`") as error:
            nearer.load(tmp_path / name)
        assert one_sentence(error)

    def test_truncated_anywhere(self, model_file):
        content = model_file.read_bytes()
        for length in range(0, len(content) - 1, 97):
            model_file.write_bytes(content[:length])
            with pytest.raises(ModelFileError):
                nearer.load(model_file)

    def test_any_flipped_byte_is_noticed_or_harmless(self, feature_map, model_file):
        content = bytearray(model_file.read_bytes())
        features = pd.DataFrame(np.ones((1, 3)), columns=feature_map.feature_names_in_)
        expected = feature_map.transform(features)
        noticed = 0
        for place in range(0, len(content), 61):
            broken = content.copy()
            broken[place] ^= 0xFF
            model_file.write_bytes(broken)
            try:
                loaded = nearer.load(model_file)
            except ModelFileError:
                noticed += 1
            else:
                np.testing.assert_array_equal(loaded.transform(features), expected)
        assert noticed > 0.7 * len(range(0, len(content), 61))

    def test_newer_format(self, model_file):
        newer = {"format_version": models.FORMAT_VERSION + 1, "nearer_version": "9.9", "class": "Unheard"}
        with pytest.raises(ModelFileError, match=r"9\.9.*2.*upgrade") as error:
            nearer.load(rewritten(model_file, lambda manifest: manifest.update(newer)))
        assert one_sentence(error)

    @pytest.mark.parametrize(
        ("part", "entry"), [("params", "warp"), ("fitted", "transform"), ("fitted", "__class__")]
    )
    def test_unknown_entries(self, model_file, part, entry):
        with pytest.raises(ModelFileError, match=f"FeatureMap.*'{entry}'.*version that wrote it"):
            nearer.load(rewritten(model_file, lambda manifest: manifest[part].update({entry: 1})))

    @pytest.mark.parametrize(
        "manifest",
        [
            [],
            {},
            {"format": "nearer model"},
            {"format": "other"},
            {"format": "nearer model", "format_version": "x"},
        ],
    )
    def test_manifests_of_another_shape(self, model_file, manifest):
        with zipfile.ZipFile(model_file, "w") as archive:
            archive.writestr("manifest.json", json.dumps(manifest))
        with pytest.raises(ModelFileError):
            nearer.load(model_file)

    def test_an_array_longer_than_it_says(self, model_file):
        with zipfile.ZipFile(model_file) as archive:
            longer = archive.read("arrays/0.npy") + b"more"
        with pytest.raises(ModelFileError, match=r"arrays/0\.npy.*longer"):
            nearer.load(rewritten(model_file, arrays={"arrays/0.npy": longer}))

    def test_deep_nesting(self, model_file):
        with zipfile.ZipFile(model_file, "w") as archive:
            archive.writestr("manifest.json", "[" * 100_000 + "]" * 100_000)
        with pytest.raises(ModelFileError):
            nearer.load(model_file)


class TestNothingIsExecuted:
    @pytest.mark.parametrize(
        "entry",
        [
            {"$type": "os.system", "fields": {"command": "echo"}},
            {"$type": "builtins.eval", "fields": {}},
            {"$type": "losses.np", "fields": {}},
            {"$type": "losses.find", "fields": {"loss": "ste"}},
            {"$type": "losses.distances.Loss", "fields": {}},
            {"$type": "losses.Loss", "fields": {}},
            {"$type": "losses.__loader__", "fields": {}},
            {"$type": "losses.STE", "fields": {"unknown": 1}},
            {"$type": "losses.GNMDS", "fields": {"margin": -1}},
            {"$type": 3, "fields": {}},
            {"$scalar": "object", "value": 1},
            {"$scalar": "float64", "value": [1]},
            {"$array": "../../secret.npy"},
            {"$array": "manifest.json"},
            {"$call": "print"},
            {"unmarked": 1},
            {},
        ],
    )
    def test_made_up_entries(self, model_file, entry):
        with pytest.raises(ModelFileError) as error:
            nearer.load(rewritten(model_file, lambda manifest: manifest["fitted"].update(gamma_=entry)))
        assert one_sentence(error)

    @pytest.mark.parametrize(
        "name", ["os.system", "subprocess.Popen", "BaseEstimator", "", None, ["FeatureMap"]]
    )
    def test_made_up_classes(self, model_file, name):
        with pytest.raises(ModelFileError):
            nearer.load(rewritten(model_file, lambda manifest: manifest.update({"class": name})))

    def test_pickled_arrays(self, model_file, tmp_path):
        class Harmful:
            def __reduce__(self):
                return (Path.touch, (tmp_path / "executed",))

        pickled = tmp_path / "pickled.npy"
        np.save(pickled, np.array([Harmful()], dtype=object), allow_pickle=True)
        rewritten(model_file, arrays={"arrays/0.npy": pickled.read_bytes()})
        with pytest.raises(ModelFileError):
            nearer.load(model_file)
        assert not (tmp_path / "executed").exists()

    def test_loading_imports_no_pickle_or_named_module(self, model_file):
        rewritten(model_file, lambda manifest: manifest["fitted"].update(gamma_={"$type": "antigravity.X"}))
        code = """
import sys, nearer
try:
    nearer.load(sys.argv[1])
except nearer.errors.ModelFileError:
    print("antigravity" in sys.modules)
"""
        assert in_another_process(code, model_file).strip() == "False"
