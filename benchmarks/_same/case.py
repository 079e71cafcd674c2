"""What a case is, and how its numbers are taken from a fitted model."""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import nearer

#: numbers by name: arrays, single numbers or texts
Numbers = dict[str, Any]

#: default relative tolerance: sums may be taken in another order, nothing else
RTOL = 1e-9
#: modules with a page in the API documentation, searched first
_HOMES = ("solvers", "losses", "pairwise", "objectives", "active", "metrics", "datasets", "selection")
_HISTORY = ("epoch", "objective", "evaluations", "step")


@dataclass(frozen=True)
class Case:
    """A function without arguments that returns numbers, and how closely they must agree.

    A tolerance other than the default needs a reason, which the table prints.
    """

    run: Callable[[], Mapping[str, Any]]
    rtol: float = RTOL
    reason: str = ""

    def __post_init__(self) -> None:
        if (self.rtol != RTOL) != bool(self.reason):
            raise ValueError("a tolerance of its own needs a reason, and only such a one")


def case(function: Callable[..., Mapping[str, Any]], *args: Any, **settings: Any) -> Case:
    """Return the case that calls `function` with these arguments."""
    return Case(partial(function, *args, **settings))


@cache
def public(name: str) -> Any:
    """Return the public object of this name, wherever the imported checkout keeps it."""
    for home in _homes():
        module = import_module(home)
        if name in getattr(module, "__all__", ()) or name in vars(module):
            return getattr(module, name)
    raise LookupError(f"no public module of {nearer.__file__} has {name!r}")


def _homes() -> Iterator[str]:
    there = [found.name for found in pkgutil.iter_modules(nearer.__path__) if found.name[0] != "_"]
    yield "nearer"
    yield from (f"nearer.{name}" for name in _HOMES if name in there)
    yield from (f"nearer.{name}" for name in there if name not in _HOMES)


def source_folder() -> Path:
    """Return the folder that the imported nearer lies in."""
    return Path(nearer.__file__).resolve().parents[1]


def environment(source: Path) -> dict[str, str]:
    """Return the environment of a child process that imports nearer from this folder."""
    others = [path for path in [os.environ.get("PYTHONPATH", "")] if path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), *others])}


def attributes(model: Any, *names: str) -> Numbers:
    """Return these fitted attributes of a model."""
    return {name: getattr(model, name) for name in names}


def course(model: Any) -> Numbers:
    """Return the documented numbers of `result_`; times are left out."""
    result = model.result_
    numbers = {
        name: getattr(result, name) for name in ("objective", "n_epochs", "n_evaluations", "stop_reason")
    }
    return numbers | {f"history {name}": np.asarray(result.history[name]) for name in _HISTORY}
