"""One row per estimator: what derives from it agrees with it."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

import pytest

import nearer
from nearer.registry import BY_MODEL, ESTIMATORS, estimator_class
from tests.test_public_api import modules_after

API = Path(__file__).parents[1] / "docs" / "api"
rows = pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ESTIMATORS])


def test_names_and_models_occur_once():
    assert len({row.name for row in ESTIMATORS}) == len(ESTIMATORS)
    assert len(BY_MODEL) == sum(row.model is not None for row in ESTIMATORS)


@rows
def test_an_estimator_is_where_its_row_says(row):
    kind = estimator_class(row.name)
    assert (kind.__name__, kind.__module__) == (row.name, row.module)
    assert hasattr(kind, "_schema")
    assert (getattr(nearer, row.name, None) is kind) == row.at_root


@rows
def test_type_checkers_find_it(row):
    line = f"    from {row.module} import {row.name}\n"
    assert (line in Path(nearer.__file__).read_text(encoding="utf-8")) == row.at_root


@rows
def test_the_options_of_fit_set_parameters_that_exist(row):
    assert row.options.keys() <= inspect.signature(estimator_class(row.name)).parameters.keys()
    assert bool(row.options) == (row.model is not None)


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in BY_MODEL.values()])
def test_the_command_line_has_what_its_row_names(row):
    commands = {name: import_module(f"nearer.cli.{name}") for name in ("fit", *row.commands)}
    known = {
        option
        for name, module in commands.items()
        for option in inspect.signature(getattr(module, name)).parameters
    }
    assert {*row.options.values(), *row.reading} <= known
    if row.cli is not None:
        assert hasattr(import_module(f"nearer.cli.{row.cli}"), "fit")


@rows
def test_its_page_documents_it(row):
    place = f"nearer.{row.name}" if row.at_root else f"{row.module.rpartition('.')[0]}.{row.name}"
    assert f"::: {place}\n" in (API / row.page).read_text(encoding="utf-8") + "\n"


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ESTIMATORS if row.at_root])
def test_the_overview_describes_it(row):
    line = f"| [`nearer.{row.name}`]({row.page}) | {row.about} |\n"
    assert line in (API / "index.md").read_text(encoding="utf-8")


FAMILIES = {"nearer.active", "nearer.kernels", "nearer.pairwise", "nearer.plotting", "nearer.report"}


def test_saving_and_loading_import_only_the_family_of_the_model(tmp_path):
    code = f"""
import nearer
model = nearer.OrdinalEmbedding(1, l2=0.1, max_epochs=1, random_state=0).fit([[0, 1, 2], [1, 0, 2]])
nearer.load(nearer.save(model, {str(tmp_path / "model.nearer")!r}))
"""
    assert modules_after(code) & FAMILIES == set()
