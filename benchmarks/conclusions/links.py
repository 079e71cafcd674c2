"""Conclusions of `links`."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import _link_report as report
from benchmarks._tables import digits
from benchmarks.conclusions._words import Rows, listed, share


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Which targets are missed, then where ours stands, what it costs, and how far tuning reached."""
    judged = list(report.standings(rows))
    missed = [f"{what} ({measured})" for what, _, measured, holds in judged if not holds]
    held = share(len(judged) - len(missed), len(judged))
    start = f"Missed: {'; '.join(missed)}. " if missed else ""
    graphs = report.names(rows)
    return [
        f"{start}{held[:1].upper()}{held[1:]} targets hold.",
        f"Ours has {_means(rows, 'auc')}, and {_means(rows, 'ap')}.",
        f"Time: {'; '.join(_cost(rows, data) for data in graphs)}.",
        _border(rows),
    ]


def _means(rows: Rows, measure: str) -> str:
    parts = []
    for data in report.names(rows):
        best, _ = report.lead(rows, data, measure)
        own, other = (report.values(rows, data, name, measure).mean() for name in (report.OURS, best))
        parts.append(f"{own:.3f} on {data}, where the best rival ({best}) has {other:.3f}")
    return f"{'an AUC' if measure == 'auc' else 'an average precision'} of {' and of '.join(parts)}"


def _cost(rows: Rows, data: str) -> str:
    found = report.certified(rows, data)
    if not found:
        return f"no fit to {data} was certified to {report.GAP:g}"
    fit, loose = found[0]
    rival = np.median([one["seconds"] for one in report.tested(rows, data, "factorisation")])
    return (
        f"on {data} a certified gap of {fit['gap']:.0e} takes {digits(fit['seconds'])} CPU seconds "
        f"({digits(loose['seconds'])} to {loose['gap']:.0e}, which changes the AUC by {abs(change(fit, loose)):.4f}), "
        f"and the factorisation {digits(float(rival))}"
    )


def change(fit: dict[str, Any], loose: dict[str, Any]) -> float:
    """Return by how much the AUC of a certified fit is above that of a looser one."""
    return float(fit["auc"] - loose["auc"])


def _border(rows: Rows) -> str:
    found = [f"{name} on {data}" for data in report.names(rows) for name in report.at_border(rows, data)]
    if not found:
        return "No best setting lies at the border of what was tried."
    return f"The best setting lies at the border of what was tried for {listed(found)}: it may do better elsewhere."
