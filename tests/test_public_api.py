"""The package root: quick to import, complete, and without names that do nothing."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import nearer

SOURCE = Path(nearer.__file__).parents[1]
MODULES = ("active", "datasets", "losses", "metrics", "plotting", "solvers")
HEAVY = (
    "torch",
    "sklearn",
    "scipy",
    "numba",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
    "starlette",
    "uvicorn",
)


def fresh(code: str) -> str:
    """What a new process prints."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def modules_after(code: str) -> set[str]:
    """Return the modules that a new process has imported after running some code."""
    return set(json.loads(fresh(f"{code}\nimport json, sys\nprint(json.dumps(list(sys.modules)))")))


def loaded_after(statement: str) -> set[str]:
    return {name.partition(".")[0] for name in modules_after(statement)}


def test_import_loads_nothing_heavy():
    assert loaded_after("import nearer") & set(HEAVY) == set()


def test_looking_at_the_package_loads_nothing_heavy():
    assert loaded_after("import nearer; dir(nearer); nearer.__version__; repr(nearer)") & set(HEAVY) == set()


def test_command_line_answers_without_loading_the_library():
    assert loaded_after("import nearer.cli") & {"torch", "sklearn", "numba", "matplotlib", "pandas"} == set()


def test_a_fit_loads_neither_torch_nor_pictures_nor_the_web():
    code = "import nearer; nearer.OrdinalEmbedding(1, l2=0.1, max_epochs=1).fit([[0, 1, 2], [1, 0, 2]])"
    assert loaded_after(code) & {"torch", "polars", "starlette", "uvicorn", "matplotlib"} == set()


def test_dir_is_what_is_public():
    assert dir(nearer) == sorted(nearer.__all__)
    assert set(nearer.__all__) >= {"Comparisons", "OrdinalEmbedding", "FeatureMap", "save", "load", *MODULES}


@pytest.mark.parametrize("name", nearer.__all__)
def test_every_public_name_is_there(name):
    assert getattr(nearer, name) is not None


def test_star_import_gives_what_is_public():
    namespace: dict[str, object] = {}
    exec("from nearer import *", namespace)
    assert set(nearer.__all__) <= set(namespace)


def test_names_are_looked_up_once():
    assert nearer.OrdinalEmbedding is nearer.OrdinalEmbedding
    assert "OrdinalEmbedding" in vars(nearer)


@pytest.mark.parametrize("name", ["OrdinalEmbeding", "RelativeKernels", "TwoTowers", "numpy"])
def test_unknown_name_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match=f"module 'nearer' has no attribute '{name}'"):
        getattr(nearer, name)


def public_objects() -> list[tuple[str, object]]:
    found = [
        (name, getattr(nearer, name)) for name in nearer.__all__ if name not in (*MODULES, "__version__")
    ]
    for module in MODULES:
        home = import_module(f"nearer.{module}")
        found += [(f"{module}.{name}", getattr(home, name)) for name in home.__all__]
    return [(name, thing) for name, thing in found if callable(thing)]


@pytest.mark.parametrize("thing", [pytest.param(thing, id=name) for name, thing in public_objects()])
def test_public_names_say_what_they_are(thing):
    assert inspect.getdoc(thing)
    if inspect.isclass(thing) and dataclasses.is_dataclass(
        thing
    ):  # its own words, not the generated signature
        assert not inspect.getdoc(thing).startswith(f"{thing.__name__}(")


def functions_of(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """Functions and methods that are meant to do something: not those of protocols, nor abstract ones."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases):
            continue
        marks = {ast.unparse(mark) for mark in getattr(node, "decorator_list", [])}
        if isinstance(node, ast.FunctionDef) and not marks & {"abstractmethod", "overload"}:
            yield node
        yield from functions_of(node)


def is_stub(function: ast.FunctionDef) -> bool:
    """Nothing but a docstring, `pass`, `...` or `raise NotImplementedError`."""
    return all(
        isinstance(line, ast.Pass)
        or (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
        or (isinstance(line, ast.Raise) and "NotImplementedError" in ast.unparse(line))
        for line in function.body
    )


def test_a_stub_is_known_when_seen():
    stub, real = functions_of(ast.parse("def f():\n    'Soon.'\n    ...\ndef g():\n    return None"))
    assert is_stub(stub)
    assert not is_stub(real)


def test_nothing_public_is_a_stub():
    stubs = [
        f"{file.name}: {function.name}"
        for file in sorted(Path(nearer.__file__).parent.rglob("*.py"))
        for function in functions_of(ast.parse(file.read_text(encoding="utf-8")))
        if is_stub(function) and not function.name.startswith("_")
    ]
    assert stubs == []
