"""Conclusions of `tags`."""

from __future__ import annotations

from typing import Any

from benchmarks import _tag_report as report
from benchmarks._tables import digits, median
from benchmarks.conclusions._words import Rows, listed, share, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Which gaps are missed, then F1 compared with the rivals, columns and time."""
    judged = list(report.standings(rows, settings))
    held = share(sum(holds is True for *_, holds in judged), len(judged))
    gaps = [report.gap(rows, level, beta) for level in report.levels(rows) for beta in settings["betas"]]
    return [
        f"The target, a certified relative gap of {settings['tol']:g} within the budget of derivatives, is met in "
        f"{held} problems: gaps of {span(gaps, '.3g')} are left, and where they are near 1, nothing is certified.",
        _solvers(rows, settings),
        *(_compared(rows, settings, level) for level in report.levels(rows)),
        _columns(rows, settings),
    ]


def _solvers(rows: Rows, settings: dict[str, Any]) -> str:
    """Return by how much either solver ends above the other."""
    words = []
    for level in report.levels(rows):
        own, path = (
            [
                median(one["objective"] for one in report.found(rows, level, name(beta)))
                for beta in settings["betas"]
            ]
            for name in (report.ours, report.central)
        )
        excess = [100 * (first / second - 1) for first, second in zip(own, path, strict=True)]
        seconds = [
            span(
                median(one["seconds"] for one in report.found(rows, level, name(beta)))
                for beta in settings["betas"]
            )
            for name in (report.ours, report.central)
        ]
        words.append(
            f"by {span(excess, '+.2g')}% on post-core {level} ({seconds[0]} s of growth, {seconds[1]} s of the path)"
        )
    return f"From the objective of the central path, that of growing factors differs {listed(words)}."


def _compared(rows: Rows, settings: dict[str, Any], level: str) -> str:
    names = [name(beta) for name in (report.ours, report.central) for beta in settings["betas"]]
    ours = [report.f1(rows, level, name).mean() for name in names]
    rivals = {rival: report.f1(rows, level, rival).mean() for rival in (report.FACTORS, report.POPULARITY)}
    words = [
        f"{span([mean - found for mean in ours], '+.1f')} points from {rival}'s {found:.1f}%"
        for rival, found in rivals.items()
    ]
    return (
        f"Post-core {level}: at the {len(settings['betas'])} strengths, ours has by either solver an F1 of "
        f"{span(ours, '.1f')}%, which is {listed(words)}."
    )


def _columns(rows: Rows, settings: dict[str, Any]) -> str:
    level = report.levels(rows)[0]
    every = [report.enough(rows, level, beta) for beta in settings["betas"]]
    ranks = [
        one["rank"] for beta in settings["betas"] for one in report.found(rows, level, report.ours(beta))
    ]
    whole = median(one["seconds"] for one in report.found(rows, level, report.FACTORS))
    columns, seconds = (span(values) for values in zip(*every, strict=True))
    return (
        f"On post-core {level}, {columns} columns and {seconds} s are enough: from there on, F1 stays within 1% of its "
        f"last value, which comes with {span(ranks)} columns. The choice of settings of PITF and its fit take "
        f"{digits(whole, 2)} s."
    )
