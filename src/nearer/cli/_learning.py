"""How `nearer fit` learns: an estimator of the wanted kind, a bar while it works, and what ctrl-C leaves."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer._utils.progress import progress_bar
from nearer._utils.text import counted
from nearer.cli._fit_options import SETTINGS, ModelKind
from nearer.cli._loading import about_model, check_dim, load_online, read_more
from nearer.errors import InputError

if TYPE_CHECKING:
    from nearer._fitting.models import Model
    from nearer.comparisons import Comparisons
    from nearer.kernels.online import OnlineKernel
    from nearer.kernels.relative import RelativeKernel
    from nearer.ordinal import OrdinalEmbedding


@dataclass(frozen=True)
class Outcome:
    """How learning ended: how long it took, from how many answers, and what the model holds now."""

    seconds: float
    n_learned: int
    interrupted: bool
    holds: str
    compile_seconds: float = 0.0


def new_model(
    kind: ModelKind, options: Mapping[str, Any], answers: Comparisons, dim: int, seed: int
) -> Model:
    """An estimator with the options that its kind has; where one was not given, its own default counts."""
    from nearer.kernels.online import OnlineKernel
    from nearer.kernels.relative import RelativeKernel
    from nearer.ordinal import OrdinalEmbedding

    settings = {name: options[option] for name, option in SETTINGS[kind].items()}
    # plain strings rather than members of an enumeration: a model file knows only those
    given: dict[str, Any] = {
        name: str(value) if isinstance(value, str) else value
        for name, value in settings.items()
        if value is not None
    }
    if kind is ModelKind.embedding:
        return OrdinalEmbedding(dim, random_state=seed, **given)
    check_dim(dim, answers.n_objects)
    if kind is ModelKind.kernel:
        if given.get("loss") == "auto":
            raise InputError("--loss auto is for embeddings: name the loss of a kernel")
        return RelativeKernel(random_state=seed, **given)
    # the paper's direction is for triplets alone
    direction = "minimal" if answers.shape[1] == 4 and "rank" not in given else None
    return OnlineKernel(direction=direction, random_state=seed, **given)


def go_on_with(
    path: Path, answers: Path, read: Callable[..., Comparisons], dim: int
) -> tuple[OnlineKernel, Comparisons, int]:
    """A saved online kernel with room for the objects of more answers, these, and how many objects are new."""
    estimator = load_online(path)
    known = about_model(estimator)["n_objects"]
    comparisons = read_more(estimator, answers, read)
    n_objects = about_model(estimator)["n_objects"]
    check_dim(dim, n_objects)
    if comparisons.shape[1] == 4 and estimator.rank is None and estimator.direction != "minimal":
        raise InputError(
            f"{answers}: these are quadruplets, but {path} began with triplets: go on with triplets, or begin anew"
        )
    return estimator, comparisons, n_objects - known


def learn(estimator: Model, train: Comparisons, about: str) -> Outcome:
    """Fit, or go on; ctrl-C ends it early, and is raised only where nothing was learned."""
    from nearer.kernels.online import OnlineKernel

    if isinstance(estimator, OnlineKernel):
        return _learn_online(estimator, train)
    fit_with_bar(estimator, train, about)
    result = estimator.result_
    early = result.stop_reason == "interrupted"
    what = "map" if hasattr(estimator, "embedding_") else "kernel"
    holds = f"the best {what} so far" if early else f"the {what}"
    return Outcome(result.seconds, len(train), early, holds)


def fit_with_bar(estimator: OrdinalEmbedding | RelativeKernel, train: Comparisons, about: str) -> None:
    """Fit, with a progress bar where stderr is a terminal."""
    if not sys.stderr.isatty():
        estimator.fit(train)
        return
    with progress_bar(about, max_seconds=estimator.max_seconds, keep=False) as callback:
        estimator.set_params(callback=callback).fit(train)
        callback.finish_with(estimator.result_)
    estimator.set_params(callback=None)  # a saved model holds no functions


def _learn_online(estimator: OnlineKernel, answers: Comparisons) -> Outcome:
    from nearer._fitting.fit import that_count
    from nearer._utils.runtime import compiling

    answers = that_count(answers)
    before = getattr(estimator, "n_seen_", 0)
    estimator.set_params(verbose=sys.stderr.isatty())
    interrupted, began = False, time.perf_counter()
    with compiling() as compile_seconds:
        try:
            estimator.partial_fit(answers)
        except KeyboardInterrupt:
            interrupted = True
    estimator.set_params(verbose=False)
    learned = getattr(estimator, "n_seen_", before) - before
    if interrupted and not learned:
        raise KeyboardInterrupt
    part = f"what the first {learned:,} of {counted(len(answers), 'answer')} taught"
    holds = part if interrupted else "the kernel"
    return Outcome(time.perf_counter() - began, learned, interrupted, holds, compile_seconds())
