"""Conclusions of `multilabel`."""

from __future__ import annotations

from typing import Any

from benchmarks import _label_report as report
from benchmarks._tables import digits
from benchmarks.conclusions._words import Rows, listed, share, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Which targets are missed, then where ours stands."""
    judged = list(report.standings(rows, settings))
    missed = [f"{_short(what)} ({measured})" for what, _, measured, holds in judged if not holds]
    held = share(len(judged) - len(missed), len(judged))
    targets = (
        f"Missed: {'; '.join(missed)}. {held[:1].upper()}{held[1:]} targets hold."
        if missed
        else f"{held} targets hold."
    )
    shown = report.names(rows)
    leads, plain = (
        "; ".join(
            f"{title} {span([report.lead(rows, data, name, plain=cut)[0] for data in shown], '+.1f')} points"
            for name, title in report.CRITERIA.items()
        )
        for cut in (False, True)
    )
    behind = [
        f"{data} {title}"
        for data in shown
        for name, title in report.CRITERIA.items()
        if sum(report.lead(rows, data, name, plain=True)) < 0
    ]
    best = [data for data in shown if _best(rows, data)]
    certified = report.names(rows, report.SPEED)
    times = [report.certificate(rows, settings, data)[1] for data in certified]
    return [
        targets[:1].upper() + targets[1:],
        "Compared with logistic regression per label, both with probabilities calibrated per label and cut for the "
        f"criterion: {leads} on {len(shown)} data sets.",
        f"Compared with logistic regression per label that has plain cuts of its scores: {plain}; behind by more than "
        f"one standard error: {listed(behind) if behind else 'nowhere'}.",
        f"No rival has a higher micro-F1 with a validated cut on {share(len(best), len(shown))} data sets: "
        f"{listed(best)}.",
        f"At fixed beta, a certificate of {settings['tolerances'][-1]:g} takes {span(times)} times the CPU time of "
        f"logistic regression per label.{_memory(rows)}",
    ]


def _memory(rows: Rows) -> str:
    found = report.memory(rows)
    if found is None:
        return ""
    times = digits(found[1], 2)
    return f" A fit to all of {found[0]} allocates {times} times what X, Y, Q and the history of L-BFGS take."


def _short(what: str) -> str:
    return what.removesuffix(", both with validated cuts").replace(" minus that of ", " against ")


def _best(rows: Rows, data: str) -> bool:
    """Return whether ours has the highest micro-F1; rivals are compared on the splits that they have."""
    rivals = [name for name in report.shown_rivals(rows) if name != report.OURS]
    there = [name for name in rivals if report.results_of(rows, data, report.OURS, name)]
    return all(report.lead(rows, data, "micro-f1", name)[0] >= 0 for name in there)
