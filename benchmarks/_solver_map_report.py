"""Tables of `solver_map`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks._solver_fits import RIVALS, TIMED
from benchmarks._solver_standings import (
    Rows,
    Size,
    Standing,
    closer_is_better,
    first_near,
    problems,
    quickest,
    times_of_lbfgs,
    words,
)
from benchmarks._tables import Table, digits

Problems = dict[Size, dict[str, Standing]]

LOSSES = {"soe": "SOE", "tste": "t-STE", "ste": "STE", "ckl": "CKL", "gnmds": "GNMDS"}

STAR = "*: L-BFGS to a tolerance of 1e-5 is as accurate, and quicker."


def tables(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """Who stands where, the maps, where L-BFGS is behind, other penalties, busy loops, then all numbers."""
    found = problems(rows)
    usual, others = split(found, settings)
    return [
        _overall(found),
        *_maps(usual),
        _behind(found),
        *([_penalties(others, usual)] if others else []),
        *_loops(rows),
        _numbers("CPU seconds", found, lambda one: _seconds(one)),
        _numbers(
            "Held-out error", found, lambda one: f"{one.error:.4f}{'' if one.accurate else ' (behind)'}"
        ),
        _numbers("Evaluations per answer", found, lambda one: digits(one.evaluations)),
        _numbers(
            "Objective at the end, per cent above the lowest of all",
            found,
            lambda one: f"{100 * one.above:.1f}",
        ),
        _numbers(
            "CPU seconds until the objective is within 1% of the lowest",
            found,
            lambda one: digits(one.until_near),
        ),
        _numbers(
            "Held-out error at a tolerance of 1e-5",
            {size: one for size, one in found.items() if one["L-BFGS"].closer_error is not None},
            lambda one: "-" if one.closer_error is None else f"{one.closer_error:.4f}",
        ),
    ]


def split(found: Problems, settings: dict[str, Any]) -> tuple[Problems, Problems]:
    """Return the problems with the usual penalty of their loss, and those with another."""
    usual = {size: one for size, one in found.items() if size.l2 == settings["l2"][size.loss]}
    return usual, {size: one for size, one in found.items() if size not in usual}


def _seconds(one: Standing) -> str:
    return f"{'over ' if one.timed_out else ''}{digits(one.seconds)}"


def _overall(found: Problems) -> Table:
    table = Table(
        "Where each solver stands",
        [
            "",
            "ran",
            "time-outs",
            "accurate enough",
            "wins",
            "time / L-BFGS",
            "over 1% above the lowest",
            "first within 1%",
        ],
        note="Numbers of problems, and quartiles of the CPU time divided by that of L-BFGS if both finished. A "
        "problem is a loss, a penalty and a size.",
    )
    wins = [win.name for one in found.values() if (win := quickest(one))]
    firsts = [win.name for one in found.values() if (win := first_near(one))]
    for name in RIVALS:
        ran = [one for one in found.values() if name in one]
        if not ran:
            continue
        ratios = times_of_lbfgs(ran, name)
        table.add(
            name,
            len(ran),
            sum(one[name].timed_out for one in ran),
            sum(one[name].accurate for one in ran),
            wins.count(name),
            " / ".join(digits(value, 2) for value in np.quantile(ratios, [0.25, 0.5, 0.75])),
            sum(one[name].above > 0.01 for one in ran),
            firsts.count(name),
        )
    return table


def _maps(usual: Problems) -> Iterator[Table]:
    """Yield a table per loss and dimension: objects by answers per object."""
    for loss, p in dict.fromkeys((size.loss, size.p) for size in usual):
        here = {(size.n, size.per): one for size, one in usual.items() if (size.loss, size.p) == (loss, p)}
        columns = sorted({per for _, per in here})
        table = Table(
            f"{LOSSES[loss]}, p = {p}: the winner and its lead",
            ["objects", *(f"{per} answers per object" for per in columns)],
            note=STAR if any(closer_is_better(one) for one in here.values()) else "",
        )
        for n in sorted({n for n, _ in here}):
            cells = (_words(here[n, per]) if (n, per) in here else "" for per in columns)
            table.add(f"{n:,}", *cells)
        yield table


def _words(standings: dict[str, Standing]) -> str:
    return words(quickest(standings)) + ("*" if closer_is_better(standings) else "")


def _behind(found: Problems) -> Table:
    table = Table(
        "Where L-BFGS is behind: held-out error, and CPU seconds",
        ["loss, l2, p, objects, answers per object", "the winner", "", "L-BFGS", "L-BFGS to 1e-5"],
        note="An epoch of TNC is an iteration of Newton's method, with ten or more gradients. So the same tolerance "
        "lets it come closer to the minimum than L-BFGS.",
    )
    for size, standings in found.items():
        ours, win = standings["L-BFGS"], quickest(standings)
        if ours.accurate:
            continue
        best = standings[win.name] if win else None
        closer = (
            "-" if ours.closer_error is None else f"{ours.closer_error:.4f}, {digits(ours.closer_seconds)} s"
        )
        table.add(
            describe(size),
            win.name if win else "none finished",
            *("-" if one is None else f"{one.error:.4f}, {_seconds(one)} s" for one in (best, ours)),
            closer,
        )
    return table


def describe(size: Size) -> str:
    """Return a problem on one line."""
    return f"{LOSSES[size.loss]}, {size.l2:g}, {size.p}, {size.n:,}, {size.per}"


def _penalties(others: Problems, usual: Problems) -> Table:
    one = next(iter(others))
    same = {size: usual[size] for size in usual if size._replace(l2=0) == one._replace(l2=0)}
    table = Table(
        f"Other penalties: {LOSSES[one.loss]}, p = {one.p}, {one.n:,} objects, {one.per} answers per object",
        ["l2", "winner and lead", "error of the winner", "error of L-BFGS"],
    )
    for size, found in sorted({**others, **same}.items(), key=lambda item: item[0].l2):
        win = quickest(found)
        error = f"{found[win.name].error:.4f}" if win else "-"
        table.add(size.l2, words(win), error, f"{found['L-BFGS'].error:.4f}")
    return table


def slowdowns(rows: Rows) -> dict[int, dict[str, tuple[float, float]]]:
    """Return median seconds alone and beside busy loops, by objects and solver."""
    return {
        row["cell"]["busy"]: {
            name: tuple(float(np.median(one["seconds"][name])) for one in row["results"].values())  # type: ignore[misc]
            for name in TIMED
        }
        for row in rows
        if "busy" in row["cell"]
    }


def _loops(rows: Rows) -> Iterator[Table]:
    loads = [one["load"] for row in rows if "busy" in row["cell"] for one in row["results"].values()]
    if not loads:
        return
    table = Table(
        "Beside two busy loops: seconds by the clock on the wall, no thread variables",
        [
            "objects",
            *(f"{name}, {part}" for name in TIMED for part in ("alone", "with loops", "alone / with loops")),
        ],
        note=f"Other work kept the machine busy, too: its load was {loads[0]:.1f} before the first loops. A ratio of 1 "
        "means that the loops cost nothing.",
    )
    for n, by_name in slowdowns(rows).items():
        cells = [
            text
            for alone, beside in by_name.values()
            for text in (digits(alone), digits(beside), f"{alone / beside:.2f}")
        ]
        table.add(f"{n:,}", *cells)
    yield table


def _numbers(title: str, found: Problems, show: Callable[[Standing], str]) -> Table:
    table = Table(title, ["loss, l2, p, objects, answers per object", *RIVALS])
    for size, standings in found.items():
        table.add(
            describe(size), *(show(standings[rival]) if rival in standings else "-" for rival in RIVALS)
        )
    return table
