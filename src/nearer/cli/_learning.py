"""How `nearer fit` learns, with a progress bar and ctrl-C, and what it says about the model afterwards."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer._utils.text import counted, readable_seconds
from nearer.cli._loading import about_model, check_dim, load_online, read_more
from nearer.cli._output import left_out, number_or_name, percent
from nearer.errors import InputError
from nearer.registry import BY_MODEL, estimator_class

if TYPE_CHECKING:
    from nearer._fitting import Model
    from nearer.comparisons import Comparisons
    from nearer.kernels.online import OnlineKernel
    from nearer.kernels.relative import RelativeKernel
    from nearer.ordinal import OrdinalEmbedding

_COUNTS = ("n_seen", "n_steps", "n_projections", "n_skipped", "n_negative")


@dataclass(frozen=True)
class Outcome:
    """How learning ended: how long it took, from how many answers, and what the model holds now."""

    seconds: float
    n_learned: int
    interrupted: bool
    holds: str
    compile_seconds: float = 0.0


def new_model(model: str, options: Mapping[str, Any], answers: Comparisons, dim: int, seed: int) -> Model:
    """Return an estimator with the options that it has; one that was not given keeps the estimator's default."""
    row = BY_MODEL[model]
    # plain strings rather than members of an enumeration: a model file holds only those
    given = {
        name: number_or_name(str(options[option])) if isinstance(options[option], str) else options[option]
        for name, option in row.options.items()
        if options[option] is not None
    }
    if "n_components" not in given:  # a kernel, whose map has at most one dimension per object
        check_dim(dim, answers.n_objects)
    if model == "online" and answers.shape[1] == 4 and "rank" not in given:
        given["direction"] = "minimal"  # the paper's direction is for triplets alone
    return estimator_class(row.name)(random_state=seed, **given)


def continued_model(
    path: Path, answers: Path, read: Callable[..., Comparisons], dim: int
) -> tuple[OnlineKernel, Comparisons, int]:
    """Return a saved online kernel grown to the objects of further answers, these, and the number of new objects."""
    estimator = load_online(path)
    known = about_model(estimator)["n_objects"]
    comparisons = read_more(estimator, answers, read)
    n_objects = about_model(estimator)["n_objects"]
    check_dim(dim, n_objects)
    if comparisons.shape[1] == 4 and estimator.rank is None and estimator.direction != "minimal":
        raise InputError(
            f"{answers}: these are quadruplets, but {path} began with triplets: continue with triplets, or start a "
            "new model"
        )
    return estimator, comparisons, n_objects - known


def learn(estimator: Model, train: Comparisons, about: str) -> Outcome:
    """Fit or continue; ctrl-C ends it early and is raised only if nothing was learned."""
    from nearer._fitting import is_kernel, is_online

    if is_online(estimator):
        return _learn_online(estimator, train)
    fit_with_bar(estimator, train, about)
    result = estimator.result_
    early = result.stop_reason == "interrupted"
    what = "kernel" if is_kernel(estimator) else "map"
    return Outcome(result.seconds, len(train), early, f"the best {what} so far" if early else f"the {what}")


def fit_with_bar(estimator: OrdinalEmbedding | RelativeKernel, train: Comparisons, about: str) -> None:
    """Fit, with a progress bar if stderr is a terminal."""
    if not sys.stderr.isatty():
        estimator.fit(train)
        return
    from nearer._utils.progress import progress_bar

    with progress_bar(about, max_seconds=estimator.max_seconds, keep=False) as callback:
        estimator.set_params(callback=callback).fit(train)
        callback.finish_with(estimator.result_)
    estimator.set_params(callback=None)  # a saved model holds no functions


def _learn_online(estimator: OnlineKernel, answers: Comparisons) -> Outcome:
    from nearer._fitting import that_count
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


def facts_about(
    estimator: Model, outcome: Outcome, train: Comparisons, test: Comparisons | None, dim: int
) -> dict[str, Any]:
    """Return the scores of a model and how it was found, for machines."""
    from nearer._fitting import is_kernel, is_online, map_of, n_objects_of, share_on_map

    facts: dict[str, Any] = {
        "class": type(estimator).__name__,
        "n_objects": n_objects_of(estimator),
        "n_components": dim,
        "n_train": len(train),
        "n_test": 0 if test is None else len(test),
        "train_accuracy": estimator.score(train),
        "test_accuracy": None if test is None else estimator.score(test),
        "seconds": outcome.seconds,
    }
    if is_kernel(estimator):
        judges = train if test is None else test
        facts["map_accuracy"] = share_on_map(estimator, map_of(estimator, dim), judges)
    if is_online(estimator):
        return facts | {name: getattr(estimator, f"{name}_") for name in _COUNTS}
    names = ("objective", "stop_reason", "n_epochs", "n_evaluations", "details")
    return facts | {name: getattr(estimator.result_, name) for name in names}


def lines_about(facts: dict[str, Any], estimator: Model, outcome: Outcome) -> list[tuple[str, str]]:
    """Return the same for people."""
    total, objects = facts["n_train"] + facts["n_test"], counted(facts["n_objects"], "object")
    lines = [
        ("answers", f"{total:,} about {objects}{left_out(facts['n_dropped'])}"),
        ("columns not used", ", ".join(facts["ignored_columns"])),
        ("in no answer", counted(facts["n_uncompared"], "object") if facts["n_uncompared"] else ""),
        ("new", counted(facts["n_new_objects"], "object") if facts["n_new_objects"] else ""),
        *_what_was_found(facts, estimator),
        ("time", _time(estimator, outcome)),
        ("accuracy before", _share(facts["accuracy_before"], facts["n_train"], " before they were learned")),
        ("training accuracy", _share(facts["train_accuracy"], facts["n_train"])),
        ("held-out accuracy", _share(facts["test_accuracy"], facts["n_test"], " that the fit did not see")),
    ]
    lines += [(name, str(facts[name])) for name in ("model", "report") if facts[name] is not None]
    return [line for line in lines if line[1]]


def _share(share: float | None, number: int, which: str = "") -> str:
    return "" if share is None else f"{percent(share)} of {counted(number, 'answer')}{which}"


def _what_was_found(facts: dict[str, Any], estimator: Model) -> list[tuple[str, str]]:
    size = counted(facts["n_components"], "dimension")
    objective = f"{estimator.loss_.name} loss {facts['objective']:.4g}" if "objective" in facts else ""
    if "map_accuracy" not in facts:
        return [("map", f"{size}, {objective}")]
    judged = "held-out" if facts["n_test"] else "training"
    the_map = ("map", f"{size}, in which {percent(facts['map_accuracy'])} of the {judged} answers hold")
    if "n_seen" in facts:
        kernel = f"{counted(facts['n_seen'], 'answer')} learned in {counted(facts['n_steps'], 'step')}"
        if facts["n_projections"] + facts["n_skipped"]:
            kernel += f", {counted(facts['n_projections'], 'projection')}"
    else:
        details = facts["details"]
        kernel = f"rank {details['rank']}, {objective}, trace penalty {details['trace_penalty']:.4g}"
        if "gap" in details:
            kernel += f", at most {max(details['gap'], 0.0):.2g} above the minimum"
    return [("kernel", kernel), the_map]


def _time(estimator: Model, outcome: Outcome) -> str:
    from nearer._fitting import STOP_REASONS, effort, is_online, of_it_compiling

    if is_online(estimator):
        return readable_seconds(outcome.seconds) + of_it_compiling(outcome.compile_seconds)
    result = estimator.result_
    return f"{effort(result)}: {STOP_REASONS[result.stop_reason]}"
