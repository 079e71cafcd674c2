"""The rooms of the package: imports run one way, and a name means one thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import nearer

SOURCE = Path(nearer.__file__).parent
#: from the bottom to the top: each imports only those before it
ROOMS = [
    "errors",
    "registry",
    "_utils",
    "losses",
    "comparisons",
    "interactions",
    "_compiled",
    "datasets",
    "metrics",
    "objectives",
    "solvers",
    "starts",
    "_fitting",
    "calibration",
    "features",
    "ordinal",
    "kernels",
    "pairwise",
    "coembedding",
    "towers",
    "selection",
    "active",
    "plotting",
    "saving",
    "report",
    "cli",
    "__main__",
]
#: imports that run the other way, each for a reason
EXCEPTIONS = {
    ("selection.py", "plotting"): "a choice draws itself when asked: DimensionChoice.plot",
    ("active/study.py", "plotting"): "a study draws itself when asked: Study.plot",
    ("_fitting.py", "kernels"): "for type checkers alone: what a model may be",
    ("_fitting.py", "ordinal"): "for type checkers alone: what a model may be",
}


def files() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def room_of(path: str) -> str:
    return path.partition("/")[0].removesuffix(".py")


def imported_rooms(tree: ast.Module) -> set[str]:
    """Return what a module imports of nearer, wherever in the file; the version may be imported anywhere."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "nearer":
            found |= {f"nearer.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found.add(str(node.module))
    return {name.split(".")[1] for name in found if name.startswith("nearer.")} - {"__version__"} | {
        "the package root" for name in found if name == "nearer"
    }


def upward_imports() -> list[tuple[str, str]]:
    allowed = {room: {room, *ROOMS[:place]} for place, room in enumerate(ROOMS)}
    return [
        (path, room)
        for path, tree in files()
        if path != "__init__.py"
        for room in sorted(imported_rooms(tree) - allowed[room_of(path)])
    ]


def test_imports_are_found_wherever_they_are():
    code = "def f():\n    from nearer.cli import app\nfrom nearer import plotting, __version__\nimport nearer.saving"
    assert imported_rooms(ast.parse(code)) == {"cli", "plotting", "saving"}
    assert imported_rooms(ast.parse("import nearer, numpy")) == {"the package root"}


def test_imports_run_one_way():
    assert sorted(upward_imports()) == sorted(EXCEPTIONS)


def test_every_room_is_known():
    assert {room_of(path) for path, _ in files()} - {"__init__"} == set(ROOMS)


def test_the_package_root_holds_few_modules():
    modules = {path.stem for path in SOURCE.glob("*.py")}
    assert modules == {
        *(
            "__init__",
            "__main__",
            "_fitting",
            "calibration",
            "errors",
            "features",
            "ordinal",
            "registry",
        ),
        *("report", "selection", "starts"),
    }


def public_classes() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path, tree in files():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path)
    return found


def test_no_public_class_name_occurs_twice():
    assert {name: places for name, places in public_classes().items() if len(places) > 1} == {}


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("Budget", "solvers/result.py"),
        ("Progress", "solvers/result.py"),
        ("Result", "solvers/result.py"),
        ("Run", "solvers/run.py"),
    ],
)
def test_one_class_each_for_budget_progress_result_and_run(name, home):
    assert public_classes()[name] == [home]
