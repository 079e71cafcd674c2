"""Conclusions of `growth`."""

from __future__ import annotations

from typing import Any

from benchmarks import _rank_growth_report as report
from benchmarks.conclusions._words import Rows, middle, share, span

#: columns up to which a minimum has low rank
_LOW = 15


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Where exponential growth is not as much faster as it should be, then where it is, then boosting."""
    low, high = (
        [_times(rows, *one) for one in _problems(rows) if (_rank(rows, *one) > _LOW) == many]
        for many in (False, True)
    )
    certified = {part: _certified_by_boosting(rows, part) for part in report.FASTER}
    return [
        _ahead(rows, report.LABELS, "On labels"),
        _ahead(rows, report.SIMILARITIES, f"On eq. 12 from n = {report.FROM} on"),
        f"The rank of the minimum decides: up to {_LOW} columns, exponential growth is {span(low)} times as fast as "
        f"linear growth, above that {span(high)} times.",
        _most_there_is(rows),
        "Boosting without descent reaches the certificate on "
        f"{share(*certified[report.LABELS])} problems with labels in the time of linear growth, and on "
        f"{share(*certified[report.SIMILARITIES])} of eq. 12, with up to {_most_boosted(rows):,} features.",
    ]


def _problems(rows: Rows) -> list[tuple[str, report.Problem]]:
    return [(part, problem) for part in report.FASTER for problem in report.problems(rows, part)]


def _times(rows: Rows, part: str, problem: report.Problem) -> float:
    return report.ratio(rows, part, problem)[0]


def _rank(rows: Rows, part: str, problem: report.Problem) -> float:
    return middle(row["results"][report.EXPONENTIAL]["rank"] for row in report.of(rows, part, problem))


def _ahead(rows: Rows, part: str, subject: str) -> str:
    """Return how many times as fast exponential growth is, and how often that is what it should be."""
    problems = [one for one in report.problems(rows, part) if part == report.LABELS or one[1] >= report.FROM]
    found = [report.ratio(rows, part, problem) for problem in problems]
    least, times = report.FASTER[part], [one for one, _ in found]
    ended = sum(bound for _, bound in found)
    limits = f" ({share(ended, len(found))} are lower bounds: linear growth was ended)" if ended else ""
    fast = share(sum(one >= least for one in times), len(times))
    return (
        f"{subject}, exponential growth is {span(times)} times as fast as linear growth{limits}: at least {least:g} "
        f"times on {fast} problems."
    )


def _most_there_is(rows: Rows) -> str:
    """Return how much faster the fastest growth could be where ranks are low: one that takes no time."""
    problems = [
        one for one in report.problems(rows, report.LABELS) if _rank(rows, report.LABELS, one) <= _LOW
    ]
    found = [row["results"] for one in problems for row in report.of(rows, report.LABELS, one)]
    after = [report.seconds_at_full_width(one[report.EXPONENTIAL]) for one in found]
    shares = [seconds / one[report.EXPONENTIAL]["seconds"] for seconds, one in zip(after, found, strict=True)]
    most = [one[report.LINEAR]["seconds"] / seconds for seconds, one in zip(after, found, strict=True)]
    reached = sum(times >= report.FASTER[report.LABELS] for times in most)
    return (
        f"On labels with up to {_LOW} columns, exponential growth spends {span(shares, '.0%')} of its time at the "
        "width of the minimum, where both ways descend alike: if it took no time to get there, it would be "
        f"{span(most)} times as fast as linear growth, at least {report.FASTER[report.LABELS]:g} times in "
        f"{share(reached, len(most))} runs."
    )


def _certified_by_boosting(rows: Rows, part: str) -> tuple[int, int]:
    problems = report.problems(rows, part)
    return sum(not report.ratio(rows, part, one, report.BOOSTING)[1] for one in problems), len(problems)


def _most_boosted(rows: Rows) -> int:
    """Return the most features of eq. 12 with which boosting is certified."""
    problems = report.problems(rows, report.SIMILARITIES)
    boosted = [not report.ratio(rows, report.SIMILARITIES, one, report.BOOSTING)[1] for one in problems]
    return max((one[1] for one, done in zip(problems, boosted, strict=True) if done), default=0)
