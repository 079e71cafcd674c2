"""Conclusions of `convex_peers`."""

from __future__ import annotations

from typing import Any

from benchmarks import _convex_peers_report as report
from benchmarks._tables import median
from benchmarks.conclusions._words import Rows, listed, share, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """What is slower or less accurate than it should be, then what holds."""
    judged = [one for one in report.standings(rows) if "time of" in one[0]]
    missed = [
        f"{what.replace(': time of', ',')} ({measured})" for what, _, measured, holds in judged if not holds
    ]
    fast = share(len(judged) - len(missed), len(judged))
    ratios = {
        rival: [
            report.ratio(rows, problem, p, rival)[0]
            for problem in report.PROBLEMS
            for p in report.sizes(rows)
        ]
        for rival in (report.FISTA, report.SCS)
    }
    data = report.sets(rows)
    means = {
        name: {one: report.metrics_of(rows, one, name, "accuracy").mean() for one in data}
        for name in (report.PLAIN, report.OURS)
    }
    worse = [one for one in data if means[report.OURS][one] < means[report.PLAIN][one]]
    behind = {name: _behind(rows, data, name) for name in report.PEERS}
    slower = [_times(rows, one, name) for one in data for name in report.PEERS]
    return [
        f"From p = {report.FROM} on, ILA is at least {report.FASTER:g} times faster in {fast} comparisons"
        + (f"; missed: {'; '.join(missed)}." if missed else "."),
        f"Over all sizes FISTA takes {span(ratios[report.FISTA])} and SCS {span(ratios[report.SCS])} times as long to "
        "an error of 1e-4, and neither knows when it is there; ILA certifies it.",
        "Objectives agree with the closed form of eq. 12 and with SCS on small problems to "
        f"{max(report.farthest(rows, name) for name in (report.ILA, report.AGREES)):.0e}.",
        f"As a metric for neighbours, `MetricLearner` is less accurate than the plain distance on {listed(worse)}, and "
        + "; ".join(f"less accurate than {name} on {share(*count)}" for name, count in behind.items())
        + " data sets.",
        f"With its choice of `beta` it takes {span(slower)} times the CPU time of metric-learn's defaults, which "
        "choose nothing.",
    ]


def _behind(rows: Rows, data: list[str], name: str) -> tuple[int, int]:
    """Return on how many data sets a peer is more accurate, of those on which it was measured."""
    there = [one for one in data if len(report.metrics_of(rows, one, name, "accuracy"))]
    accuracies = [
        [report.metrics_of(rows, one, which, "accuracy").mean() for which in (report.OURS, name)]
        for one in there
    ]
    return sum(ours < theirs for ours, theirs in accuracies), len(there)


def _times(rows: Rows, data: str, name: str) -> float:
    ours, theirs = (median(report.metrics_of(rows, data, one, "seconds")) for one in (report.OURS, name))
    return (ours or 0.0) / theirs if theirs else float("inf")
