"""Damaged model files in child processes: whatever a file holds, only `InputError` or `NotFittedError` may come of it.

`outcomes` loads each file in a child process with little memory, and if it loads, calls everything that a model offers
(`exercise`). A crash, a hang or another error must not be.

    PYTHONPATH=src python -m tests.fuzz_runs 300  # variants of every model; run it in the root of the project
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import nearer
from nearer.errors import InputError
from tests.fuzzing import variants

# -- everything that a model offers ------------------------------------------------------------------------------


def exercise(path: Path) -> str:
    """Load a file and call everything; returns what came of it, and raises what must not."""
    from sklearn.exceptions import NotFittedError

    try:
        model = nearer.load(path)
    except InputError as error:
        return f"refused: {error}"
    for call in _calls(model):
        with contextlib.suppress(InputError, NotFittedError):
            call()
    with contextlib.suppress(InputError):
        nearer.load(nearer.save(model, path.with_suffix(".again")))
    return "loaded"


def _calls(model: Any) -> Iterator[Callable[[], Any]]:
    yield lambda: repr(model)
    if isinstance(model, nearer.active.Selector):
        yield from _calls_of_selector(model)
        return
    if "max_seconds" in model.get_params():
        model.set_params(max_seconds=0.3)
    yield from _calls_about_objects(model) if hasattr(model, "names_") else _calls_about_rows(model)


def _calls_of_selector(model: Any) -> Iterator[Callable[[], Any]]:
    yield lambda: (model.answers, model.pending, model.points, model.n_answers)
    yield lambda: model.named(model.pending)
    yield lambda: model.tell(model.next(5))
    yield model.refit
    yield lambda: model.next(20)
    yield model.forget
    yield lambda: model.grow(model.n_objects + 1)
    yield lambda: model.grow(names=["a new one"])
    yield lambda: model.next(3)


def _calls_about_objects(model: Any) -> Iterator[Callable[[], Any]]:
    from nearer._models import map_of, n_objects_of

    given = nearer.datasets.planted(max(min(n_objects_of(model), 20), 4), 2, 40, random_state=4).comparisons
    for name in ("predict", "predict_proba", "score"):
        yield lambda name=name: getattr(model, name)(given) if hasattr(model, name) else None
    for name in ("rank_", "points_", "kernel_", "n_steps_", "n_projections_"):
        yield lambda name=name: getattr(model, name, None)
    yield lambda: map_of(model, 2)
    if hasattr(model, "partial_fit"):
        yield lambda: model.partial_fit(given)
        yield lambda: model.partial_fit(given)
    if hasattr(model, "add_objects"):
        yield lambda: model.add_objects(2)
        yield lambda: model.add_objects(names=["one", "two"])
        yield lambda: model.partial_fit(given)
    yield lambda: model.predict(given)
    yield lambda: model.fit(given)


def _calls_about_rows(model: Any) -> Iterator[Callable[[], Any]]:
    from scipy import sparse

    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, min(model.n_features_in_, 50)))
    y = np.arange(40) % 2
    labels = model.classes_[y] if hasattr(model, "classes_") else y
    is_map = isinstance(model, nearer.FeatureMap)
    target = rng.normal(size=(40, model.dual_coef_.shape[1])) if is_map else labels
    for rows in (X, X.astype(np.float32)) if is_map else (X, sparse.csr_matrix(X)):
        for name in ("predict", "predict_proba", "decision_function", "transform"):
            yield lambda name=name, rows=rows: getattr(model, name)(rows) if hasattr(model, name) else None
        yield lambda rows=rows: model.score(rows, target)
        if hasattr(model, "partial_fit"):
            yield lambda rows=rows: model.partial_fit(rows, target)
    for name in ("coef_", "intercept_", "components_", "kernel_weights_", "threshold_"):
        yield lambda name=name: getattr(model, name, None)
    yield lambda: model.pair_distance(X, X) if hasattr(model, "pair_distance") else None
    yield lambda: model.get_feature_names_out() if hasattr(model, "get_feature_names_out") else None
    yield lambda: model.fit(X, target)


# -- children ----------------------------------------------------------------------------------------------------


def outcomes(
    paths: list[Path], *, gigabytes: float = 4.0, seconds: float = 60.0
) -> Iterator[tuple[Path, str]]:
    """What came of each file in a child process; "crash", "hang" and "error" must not be.

    One child tries one file after the other. Where it dies or does not answer for so many seconds, the next one goes
    on behind that file.
    """
    left = list(paths)
    while left:
        child = _child(left, gigabytes)
        assert child.stdout is not None
        try:
            while left:
                ready, _, _ = select.select([child.stdout], [], [], seconds)
                line = child.stdout.readline() if ready else b""
                if not line:
                    yield left.pop(0), f"crash ({child.wait()})" if ready else "hang"
                    break
                yield left.pop(0), json.loads(line)
        finally:
            child.kill()
            child.wait()
            child.stdout.close()


def _child(paths: list[Path], gigabytes: float) -> subprocess.Popen[bytes]:
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as listed:
        json.dump([str(path) for path in paths], listed)
    command = [sys.executable, "-m", "tests.fuzz_runs", "--child", listed.name, str(int(gigabytes * 2**30))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent, bufsize=0)


def _be_a_child(listed: str, memory: int) -> None:
    import faulthandler
    import resource

    from tests.saved_models import as_with_many_objects

    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    paths = json.loads(Path(listed).read_text())
    os.unlink(listed)
    for path in paths:
        many = as_with_many_objects() if "projected" in path else contextlib.nullcontext()
        try:
            with many:
                outcome = exercise(Path(path))
        except Exception as error:  # what a user must never see
            outcome = f"error: {_described(error)}"
        print(json.dumps(outcome), flush=True)


def _described(error: Exception) -> str:
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/nearer/" in frame.filename] or frames
    where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
    return f"{type(error).__name__} at {where}: {str(error)[:150]}"


def fuzz(count: int, seed: int = 0, only: list[str] | None = None) -> dict[str, int]:
    """Try so many variants of every model; prints what must not be, and returns how often each outcome came."""
    from tests.saved_models import MODELS

    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in only or MODELS:
            content = nearer.save(MODELS[name](), Path(folder) / "model.nearer").read_bytes()
            paths, told = [], {}
            for number, (how, broken) in enumerate(variants(content, count, seed)):
                path = Path(folder) / f"{name}-{number}.nearer"
                path.write_bytes(broken)
                paths.append(path)
                told[path] = how
            for path, outcome in outcomes(paths):
                kind = outcome.partition(":")[0].partition(" ")[0]
                counts[kind] = counts.get(kind, 0) + 1
                if kind not in ("refused", "loaded"):
                    print(f"{name}, {told[path]}: {outcome}", flush=True)
                    if keep := os.environ.get("FUZZ_KEEP"):
                        (Path(keep) / path.name).write_bytes(path.read_bytes())
                path.unlink(missing_ok=True)
                path.with_suffix(".again").unlink(missing_ok=True)
            print(name, counts, flush=True)
    return counts


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        _be_a_child(sys.argv[2], int(sys.argv[3]))
    else:
        fuzz(int(sys.argv[1]), *(int(value) for value in sys.argv[2:3]), only=sys.argv[3:] or None)
