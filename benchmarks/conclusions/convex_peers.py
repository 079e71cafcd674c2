"""Conclusions of `convex_peers`."""

from __future__ import annotations

from typing import Any

from benchmarks import _convex_peers_report as report
from benchmarks._tables import digits, median
from benchmarks.conclusions._words import Rows, listed, share, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """What is slower or less accurate than it should be, then what holds."""
    judged = [one for one in report.standings(rows) if "time of" in one[0]]
    rest = [
        f"{what.replace(': time of', ',')} ({measured})" for what, _, measured, holds in judged if not holds
    ]
    fast = share(len(judged) - len(rest), len(judged))
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
    slower = {name: [_times(rows, one, name) for one in _measured(rows, data, name)] for name in report.PEERS}
    certified = [
        _until_certified(rows, problem, p)
        for problem in report.PROBLEMS
        for p in report.sizes(rows)
        if p >= report.FROM
    ]
    return [
        f"From p = {report.FROM} on, ILA is at least {report.FASTER:g} times faster in {fast} comparisons"
        + (f"; missed, or undecided (≥) because the run was ended: {'; '.join(rest)}. " if rest else ". ")
        + f"FISTA, which has no certificate, takes at least {digits(min(certified))} times as long as ILA to its own.",
        f"Over all sizes FISTA takes {span(ratios[report.FISTA])} and SCS {span(ratios[report.SCS])} times as long to "
        "an error of 1e-4.",
        "Objectives agree with the closed form of eq. 12 and with SCS on small problems to "
        f"{max(report.farthest(rows, name) for name in (report.ILA, report.AGREES)):.0e}.",
        f"For three nearest neighbours, `MetricLearner` is less accurate than the plain distance on {listed(worse)} of "
        f"{len(data)} data sets, and less accurate than "
        + ", ".join(
            f"{name} on {count} of the {total} that it finished" for name, (count, total) in behind.items()
        )
        + ".",
        "With its choice of `beta` it takes "
        + ", ".join(f"{span(times)} times the CPU time of {name}" for name, times in slower.items())
        + ", which choose nothing.",
    ]


def _until_certified(rows: Rows, problem: str, p: int) -> float:
    """Return FISTA's time in times of ours to the certificate."""
    there = report.of(rows, problem, p)
    return median(one[report.FISTA]["seconds"] / one[report.ILA]["certified_seconds"] for one in there) or 0.0


def _measured(rows: Rows, data: list[str], name: str) -> list[str]:
    return [one for one in data if len(report.metrics_of(rows, one, name, "accuracy"))]


def _behind(rows: Rows, data: list[str], name: str) -> tuple[int, int]:
    """Return on how many data sets a peer is more accurate, of those on which it was measured."""
    there = _measured(rows, data, name)
    accuracies = [
        [report.metrics_of(rows, one, which, "accuracy").mean() for which in (report.OURS, name)]
        for one in there
    ]
    return sum(ours < theirs for ours, theirs in accuracies), len(there)


def _times(rows: Rows, data: str, name: str) -> float:
    ours, theirs = (median(report.metrics_of(rows, data, one, "seconds")) for one in (report.OURS, name))
    return (ours or 0.0) / (theirs or 1.0)
