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
from nearer.interactions.splits import BY
from tests.fuzz.model_calls import calls_of

#: what a damaged file may lead to, besides success
ALLOWED = (InputError, NotFittedError)
_READ_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"invalid": "drop"},
    {"first_index": 1},
    {"zero": "undecided"},
)
_PAIR_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"invalid": "drop"},
    {"ids": "names", "invalid": "drop", "duplicates": "last"},
    {"at_least": 2},
)
_POST_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"invalid": "drop"},
    {"ids": "names", "invalid": "drop", "duplicates": "merge"},
)
#: kernels, and 50 times as many points, over numbers of objects in between take gigabytes and minutes by right
_MANY, _TOO_MANY = 2_000, 200_000


def exercise(path: Path, rng: np.random.Generator) -> str:
    """Use a file in every way; return "used", or "refused" where it was refused as it should be."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = nearer.load(path) if path.suffix == ".nearer" else _read(path, rng)
        except ALLOWED:
            return "refused"
        uses: dict[type, Callable[[Any], None]] = {
            nearer.Comparisons: _use_answers,
            nearer.Interactions: _use_pairs,
            nearer.Posts: _use_posts,
        }
        uses.get(type(found), _use_model)(found)
    return "used"


def _read(path: Path, rng: np.random.Generator) -> nearer.Comparisons | nearer.Interactions | nearer.Posts:
    if ".posts_" in path.name:
        return nearer.Posts.read(path, **_POST_OPTIONS[int(rng.integers(len(_POST_OPTIONS)))])
    if ".pairs_" in path.name:
        return nearer.Interactions.read(path, **_PAIR_OPTIONS[int(rng.integers(len(_PAIR_OPTIONS)))])
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
    if answers.n_objects < 50 * _MANY or answers.n_objects > 100 * _TOO_MANY:
        _try(lambda: nearer.OrdinalEmbedding(2, l2=0.01, max_epochs=2, random_state=0).fit(answers))
    if answers.n_objects < _MANY or answers.n_objects > _TOO_MANY:
        _try(lambda: nearer.OnlineKernel().partial_fit(answers[:5]))
        _try(lambda: nearer.RelativeKernel(trace_penalty=0.1, max_epochs=2).fit(answers[:5]))


def _use_pairs(seen: nearer.Interactions) -> None:
    repr(seen), len(seen), seen[: len(seen) // 2], seen == seen.transposed().transposed()
    if max(seen.shape) < 100 * _TOO_MANY:
        _try(lambda: nearer.Interactions.from_sparse(seen.csr()))
        _try(lambda: seen.core(2))
    _try(lambda: seen.at_least(2))
    for by in BY:
        _try(lambda by=by: seen.split(by=by, random_state=0))
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("csv", "jsonl", "parquet", "npz"):
            copy = Path(folder) / f"copy.{ending}"

            def there_and_back(copy: Path = copy) -> None:
                seen.write(copy)
                again = nearer.Interactions.read(copy)
                assert len(again) == len(seen), "pairs changed on the way to a file and back"

            _try(there_and_back)


def _use_posts(posts: nearer.Posts) -> None:
    repr(posts), len(posts), posts.pairs, posts.post_weights()
    if sum(posts.shape) < 100 * _TOO_MANY:
        _try(posts.csr)
        _try(lambda: posts.core(2))
    _try(lambda: posts.split(random_state=0))
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("csv", "jsonl", "parquet"):
            copy = Path(folder) / f"copy.{ending}"

            def there_and_back(copy: Path = copy) -> None:
                posts.write(copy)
                assert len(nearer.Posts.read(copy)) == len(posts), (
                    "posts changed on the way to a file and back"
                )

            _try(there_and_back)
    if sum(posts.shape) < _MANY:
        _try(lambda: nearer.TagRecommender(0.5, max_epochs=2, random_state=0).fit(posts))


def _use_model(model: Any) -> None:
    for call in calls_of(model):
        _try(call)
    with tempfile.TemporaryDirectory() as folder:
        _try(lambda: nearer.load(nearer.save(model, Path(folder) / "again.nearer")))
