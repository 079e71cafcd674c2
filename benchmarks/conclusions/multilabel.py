"""Conclusions of `multilabel`."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import _label_report as report
from benchmarks.conclusions._words import Rows, listed, share, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Which targets are missed, then where ours stands."""
    judged = list(report.standings(rows, settings))
    missed = [f"{what} ({measured})" for what, _, measured, holds in judged if not holds]
    held = share(len(judged) - len(missed), len(judged))
    targets = (
        f"Missed: {'; '.join(missed)}. {held[:1].upper()}{held[1:]} targets hold."
        if missed
        else f"{held} targets hold."
    )
    shown = report.names(rows)
    leads = {name: [report.lead(rows, data, name)[0] for data in shown] for name in report.CRITERIA}
    best = [data for data in shown if _best(rows, data)]
    times = [report.certificate(rows, settings, data)[1] for data in shown if report.speeds(rows, data)]
    return [
        targets[:1].upper() + targets[1:],
        "Compared with logistic regression per label, both with cuts validated for the criterion: "
        + "; ".join(f"{report.CRITERIA[name]} {span(found, '+.1f')} points" for name, found in leads.items())
        + f" on {len(shown)} data sets.",
        f"Of all rivals with validated cuts, ours has the highest micro-F1 on {listed(best)}.",
        f"At fixed beta, a certificate of 1e-4 takes {span(times)} times the CPU time of "
        "logistic regression per label.",
    ]


def _best(rows: Rows, data: str) -> bool:
    there = [row["results"] for row in rows if row["cell"]["data"] == data]
    rivals = [name for name in there[0] if name != "speed"]
    means = {name: np.mean(report.values(rows, data, name, "micro-f1")) for name in rivals}
    return max(means, key=lambda name: float(means[name])) == report.OURS
