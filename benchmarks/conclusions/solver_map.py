"""Conclusions of `solver_map`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from benchmarks._solver_map_report import Problems, slowdowns
from benchmarks._solver_standings import ENOUGH, Size, Standing, problems, quickest, times_of_lbfgs
from benchmarks.conclusions._words import Rows, listed, middle, share, span

OURS, BEFORE, PREPARED = "L-BFGS", "Adam 30 + SVRG-SBB", "Adam 30 + L-BFGS"


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Where L-BFGS fails, what the default so far costs, what Adam gains and spoils, and what busy loops cost."""
    found = problems(rows)
    return [_failures(found), _before(found), _wins(found), _adam(found), _beside_loops(rows)]


def behind(found: Problems) -> dict[Size, float]:
    """Return by how much the error of L-BFGS is above the lowest, where it is not accurate enough."""
    return {
        size: one[OURS].error - _lowest_error(one) for size, one in found.items() if not one[OURS].accurate
    }


def _lowest_error(standings: dict[str, Standing]) -> float:
    return min(one.error for one in standings.values())


def _failures(found: Problems) -> str:
    failed = behind(found)
    hinge = {size for size in failed if size.loss == "gnmds"}
    gains = [found[size][OURS].error - found[size][PREPARED].error for size in hinge]
    others = [size for size in failed if size not in hinge]
    winners = Counter(win.name for size in others if (win := quickest(found[size]))).most_common()
    tried = [found[size] for size in others if found[size][OURS].closer_error is not None]
    caught = sum(_catches_up(one) for one in tried)
    return (
        f"L-BFGS to the usual tolerance is not accurate enough on {share(len(failed), len(found))} problems: "
        f"{len(hinge)} with GNMDS, where {PREPARED} has a lower held-out error by {span(gains, '.3f')}, and "
        f"{len(others)} others, where it is behind by {span([failed[size] for size in others], '.3f')} "
        f"({listed([f'{name} wins {count}' for name, count in winners])}); a tolerance of 1e-5, tried on "
        f"{len(tried)} of the {len(others)}, repairs {caught}."
    )


def _catches_up(standings: dict[str, Standing]) -> bool:
    error = standings[OURS].closer_error
    return error is not None and error <= _lowest_error(standings) + ENOUGH


def _before(found: Problems) -> str:
    wins = [size for size, one in found.items() if (win := quickest(one)) and win.name == BEFORE]
    slow = sum(one[BEFORE].timed_out for one in found.values())
    high = sum(one[BEFORE].above > 0.01 and one[BEFORE].above > one[OURS].above for one in found.values())
    ratios = times_of_lbfgs(found.values(), BEFORE)
    return (
        f"{BEFORE}, the solver behind `auto` so far, wins {share(len(wins), len(found))}: it takes "
        f"{span(ratios, '.1f')} times the CPU time of L-BFGS (median {middle(ratios):.1f}; {slow} time-outs left out), "
        f"and on {high} problems it ends at a higher objective than L-BFGS that is more than 1% above the lowest."
    )


def _wins(found: Problems) -> str:
    won = {size: win for size, one in found.items() if (win := quickest(one)) and win.name == OURS}

    def lead(least: int, most: int) -> float:
        return middle(win.lead for size, win in won.items() if least <= size.n <= most)

    sizes = [size.n for size in won]
    return (
        f"L-BFGS wins {len(won)} of {len(found)} problems, from {min(sizes):,} to {max(sizes):,} objects; the second "
        f"takes {lead(0, 100):.1f} times as long up to 100 objects, {lead(101, 1000):.1f} times at 1,000 and "
        f"{lead(1001, 10**9):.1f} times above (medians)."
    )


def _adam(found: Problems) -> str:
    sparse = [
        one for size, one in found.items() if (size.loss, size.p, size.per) == ("soe", 2, 5) and size.n <= 100
    ]
    spoilt = [one[PREPARED].error - one[OURS].error for one in sparse]
    gained = sum(one[PREPARED].error < one[OURS].error - ENOUGH for one in found.values())
    lost = sum(one[PREPARED].error > one[OURS].error + ENOUGH for one in found.values())
    return (
        f"{PREPARED} takes {middle(times_of_lbfgs(found.values(), PREPARED)):.1f} times the CPU time of L-BFGS "
        f"(median); the held-out error is lower by over {ENOUGH} on {gained} problems and higher on {lost}, among them "
        f"by {span(spoilt, '.3f')} with 5 answers per object in two dimensions and at most 100 objects."
    )


def _beside_loops(rows: Rows) -> str:
    found = slowdowns(rows)
    ours, before = (
        [beside / alone for alone, beside in (one[name] for one in found.values())] for name in (OURS, BEFORE)
    )
    return (
        f"Two busy loops beside a fit, on a machine with other work, make L-BFGS take {span(ours, '.1f')} times as "
        f"long and {BEFORE} {span(before, '.1f')} times."
    )
