"""Files that an earlier version wrote still load, and their models answer as they did."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import nearer
from tests.saved_models import MODELS, asked, taught

FOLDER = Path(__file__).parents[1] / "fixtures" / "models"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


def unpacked(name: str, folder: Path) -> Path:
    """The fixture; those full of zeros are kept compressed."""
    packed = FOLDER / f"{name}.nearer.gz"
    if not packed.exists():
        return FOLDER / f"{name}.nearer"
    path = folder / f"{name}.nearer"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path


def test_there_is_a_fixture_for_every_model():
    newer = {
        name
        for name in MODELS
        if name.startswith(("selector", "towers", "metric", "labels", "links", "tags"))
        or name == "online_projected"
    }
    assert EXPECTED.keys() == MODELS.keys() - newer


@pytest.mark.parametrize("name", [*EXPECTED])
def test_a_file_of_an_earlier_version_loads(name, tmp_path):
    model = nearer.load(unpacked(name, tmp_path))
    found = asked(model)
    assert found.keys() == EXPECTED[name].keys()
    for what, expected in EXPECTED[name].items():
        if isinstance(np.ravel(expected)[0], str):
            assert found[what] == expected
        else:
            np.testing.assert_allclose(found[what], expected, rtol=1e-5, atol=1e-7, err_msg=what)


@pytest.mark.parametrize("name", [*EXPECTED])
def test_it_goes_on_and_is_saved_again(name, tmp_path):
    model = nearer.load(unpacked(name, tmp_path))
    if hasattr(model, "partial_fit"):
        taught(model)
    again = nearer.load(nearer.save(model, tmp_path / "again.nearer"))
    np.testing.assert_equal(asked(again), asked(model))
