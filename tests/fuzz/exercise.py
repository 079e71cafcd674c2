"""What a user would do with a file: read it, then call everything on what came out."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

import nearer
from nearer.errors import InputError

#: what a damaged file may lead to, besides success
ALLOWED = (InputError, NotFittedError)
_READ_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"invalid": "drop"},
    {"first_index": 1},
    {"zero": "undecided"},
)
#: kernels over numbers of objects in between are large by right: they take gigabytes and minutes
_MANY, _TOO_MANY = 2_000, 200_000
#: methods and attributes that exist only for some losses or states raise AttributeError by scikit-learn's manners
_ASKED = (
    "rank_",
    "kernel_",
    "points_",
    "coef_",
    "intercept_",
    "kernel_weights_",
    "components_",
    "threshold_",
)


def exercise(path: Path, rng: np.random.Generator) -> str:
    """Use a file in every way; return "used", or "refused" where it was refused as it should be."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = nearer.load(path) if path.suffix == ".nearer" else _read(path, rng)
        except ALLOWED:
            return "refused"
        use = _use_model if path.suffix == ".nearer" else _use_answers
        use(found)
    return "used"


def _read(path: Path, rng: np.random.Generator) -> nearer.Comparisons:
    return nearer.Comparisons.read(path, **_READ_OPTIONS[int(rng.integers(len(_READ_OPTIONS)))])


def _try(call: Callable[[], object]) -> None:
    try:
        call()
    except ALLOWED:
        return


def _use_answers(answers: nearer.Comparisons) -> None:
    repr(answers), len(answers), list(answers.head(3))
    for name in ("uncompared", "unique", "conflicts", "quadruplets", "shuffled", "to_frame", "to_cblearn"):
        _try(lambda name=name: getattr(answers, name)())
    _try(lambda: answers.split(test_size=0.3, random_state=0))
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("csv", "jsonl", "parquet", "npz"):
            copy = Path(folder) / f"copy.{ending}"

            def there_and_back(copy: Path = copy) -> None:
                answers.write(copy)
                again = nearer.Comparisons.read(copy)
                assert len(again) == len(answers), "answers changed on the way to a file and back"

            _try(there_and_back)
    _try(lambda: nearer.OrdinalEmbedding(2, l2=0.01, max_epochs=2, random_state=0).fit(answers))
    if answers.n_objects < _MANY or answers.n_objects > _TOO_MANY:
        _try(lambda: nearer.OnlineKernel().partial_fit(answers[:5]))
        _try(lambda: nearer.RelativeKernel(trace_penalty=0.1, max_epochs=2).fit(answers[:5]))


def _use_model(model: Any) -> None:
    repr(model)
    for name in _ASKED:
        try:
            getattr(model, name, None)
        except ALLOWED:
            continue
    if isinstance(model, nearer.active.Selector):
        _use_selector(model)
    elif isinstance(model, nearer.OrdinalEmbedding | nearer.RelativeKernel | nearer.OnlineKernel):
        _use_objects(model)
    else:
        _use_rows(model)
    with tempfile.TemporaryDirectory() as folder:
        _try(lambda: nearer.load(nearer.save(model, Path(folder) / "again.nearer")))


def _use_selector(selector: Any) -> None:
    answers = nearer.Comparisons([(0, 1, 2), (3, 4, 5)])
    for call in (
        lambda: selector.next(2),
        lambda: selector.tell(answers),
        selector.refit,
        lambda: selector.answers,
    ):
        _try(call)


def _use_objects(model: Any) -> None:
    indices = [(0, 1, 2), (1, 2, 3), (4, 5, 6), (7, 0, 1)]
    names = getattr(model, "names_", None)
    answers = nearer.Comparisons(indices, 8)
    if names is not None and len(names) == 8:
        _try(lambda: nearer.Comparisons(indices, names=names))
        try:
            answers = nearer.Comparisons(indices, names=names)
        except ALLOWED:
            return
    for name in ("predict", "predict_proba", "score", "partial_fit"):
        _call(model, name, answers)
    if hasattr(model, "embedding"):
        _try(lambda: model.embedding(2))
    if hasattr(model, "add_objects"):
        _try(lambda: model.add_objects(1, None if names is None else ["another"]))
    if hasattr(model, "max_epochs"):
        _try(lambda: model.set_params(max_epochs=2, max_seconds=1.0).fit(answers))


def _use_rows(model: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    y = np.arange(12) % 2
    for name in ("decision_function", "predict", "predict_proba", "transform"):
        _call(model, name, X)
    if isinstance(model, nearer.FeatureMap):
        _call(model, "score", X, X[:, :2])
        return
    _call(model, "score", X, y)
    _call(model, "partial_fit", X, y)
    if hasattr(model, "max_seconds"):
        _try(lambda: model.set_params(max_seconds=1.0))


def _call(model: Any, name: str, *arguments: Any) -> None:
    try:
        method = getattr(model, name)
    except (AttributeError, *ALLOWED):
        return
    _try(lambda: method(*arguments))
