"""What `nearer fit` tells about a model, for machines and for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nearer._utils.text import counted, readable_seconds
from nearer.cli._output import left_out, percent

if TYPE_CHECKING:
    from nearer._fitting.models import Model
    from nearer.cli._learning import Outcome
    from nearer.comparisons import Comparisons

_COUNTS = ("n_seen", "n_steps", "n_projections", "n_skipped", "n_negative")


def facts_about(
    estimator: Model, outcome: Outcome, train: Comparisons, test: Comparisons | None, dim: int
) -> dict[str, Any]:
    """Scores, and how they came about."""
    from nearer._fitting.models import map_of, n_objects_of, share_on_map

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
    if _is_kernel(estimator):
        judges = train if test is None else test
        facts["map_accuracy"] = share_on_map(estimator, map_of(estimator, dim), judges)
    if _is_online(estimator):
        return facts | {name: getattr(estimator, f"{name}_") for name in _COUNTS}
    result = estimator.result_
    names = ("objective", "stop_reason", "n_epochs", "n_evaluations", "details")
    return facts | {name: getattr(result, name) for name in names}


def lines_about(facts: dict[str, Any], estimator: Model, outcome: Outcome) -> list[tuple[str, str]]:
    """The same as a person wants to read it."""
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
    if not _is_kernel(estimator):
        return [("map", f"{size}, {_objective(facts, estimator)}")]
    judged = "held-out" if facts["n_test"] else "training"
    the_map = ("map", f"{size}, in which {percent(facts['map_accuracy'])} of the {judged} answers hold")
    if _is_online(estimator):
        kernel = f"{counted(facts['n_seen'], 'answer')} learned in {counted(facts['n_steps'], 'step')}"
        if facts["n_projections"] + facts["n_skipped"]:
            kernel += f", {counted(facts['n_projections'], 'projection')}"
    else:
        details = facts["details"]
        kernel = f"rank {details['rank']}, {_objective(facts, estimator)}, trace penalty {details['trace_penalty']:.4g}"
        if "gap" in details:
            kernel += f", at most {max(details['gap'], 0.0):.2g} above the minimum"
    return [("kernel", kernel), the_map]


def _objective(facts: dict[str, Any], estimator: Model) -> str:
    return f"{estimator.loss_.name} loss {facts['objective']:.4g}"


def _time(estimator: Model, outcome: Outcome) -> str:
    from nearer._fitting.models import STOP_REASONS, effort, of_it_compiling

    if _is_online(estimator):
        return readable_seconds(outcome.seconds) + of_it_compiling(outcome.compile_seconds)
    result = estimator.result_
    return f"{effort(result)}: {STOP_REASONS[result.stop_reason]}"


def _is_kernel(estimator: Model) -> bool:
    from nearer.kernels.base import KernelModel

    return isinstance(estimator, KernelModel)


def _is_online(estimator: Model) -> bool:
    from nearer.kernels.online import OnlineKernel

    return isinstance(estimator, OnlineKernel)
