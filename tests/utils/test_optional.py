"""Packages that are imported only where they are needed."""

from __future__ import annotations

import json

import pytest

from nearer._utils.optional import optional
from tests.refusals import refused


def test_what_is_there_is_imported():
    assert optional("json", "reading") is json


def test_what_is_not_there_is_one_sentence():
    with pytest.raises(ModuleNotFoundError) as caught:
        optional("no_such_package", "the picture", "'nearer[pictures]'")
    assert str(caught.value) == (
        "the picture needs the package 'no_such_package'; run: pip install 'nearer[pictures]'"
    )
    assert caught.value.name == "no_such_package"


def test_what_is_broken_speaks_for_itself(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import no_such_package")
    monkeypatch.syspath_prepend(tmp_path)
    with refused("no_such_package", error=ModuleNotFoundError) as caught:
        optional("broken_package", "the picture")
    assert caught.value.name == "no_such_package"


def test_a_module_of_a_package_that_is_not_there_is_one_sentence():
    with pytest.raises(ModuleNotFoundError, match="run: pip install no_such_package"):
        optional("no_such_package.index", "the index", "no_such_package")
