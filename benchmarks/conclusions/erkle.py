"""Conclusions of `erkle`."""

from __future__ import annotations

from typing import Any

from benchmarks._erkle import BATCH, CONVERGED, FIXED, ONE_SIDED, TUNED, UPDATES, batch_name, online_name
from benchmarks._erkle_report import after_steps, last_errors, trials
from benchmarks._tables import digits
from benchmarks.conclusions._words import Rows, middle, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Figure 1b, which does not hold, then 1a and 1c."""
    found = trials(rows)
    first, most = settings["passes"][0], settings["passes"][-1]

    def error(rival: str) -> float:
        return middle(last_errors(found, rival))

    online = {count: [error(online_name(name, count)) for name in UPDATES] for count in (first, most)}
    batch = {
        way: min(error(batch_name(*one)) for one in BATCH if one[0] == way)
        for way in (FIXED, CONVERGED, ONE_SIDED)
    }
    seconds = {
        rival: middle(one[rival]["seconds"] for one in found)
        for rival in (online_name(name, first) for name in UPDATES)
    }
    whole = middle(one[batch_name(CONVERGED, "ste")]["seconds"][-1] for one in found)
    root, constant = (error(name) for name in TUNED)
    few = middle(after_steps(found, settings, "ste", most))
    return [
        "Figure 1b does not hold: batch kernels are far ahead of online ones. The best batch kernel has "
        f"an error of {digits(batch[CONVERGED])} at the minimum and {digits(batch[FIXED])} after the "
        f"paper's 1,000 steps; ERKLE has {span(online[first])} with one pass and {span(online[most])} with "
        f"{most}.",
        f"Batch CKL is behind one pass ({digits(error(batch_name(CONVERGED, 'ckl')))}), and so are batch "
        f"kernels with the one-sided gradients of the public MATLAB routines ({digits(batch[ONE_SIDED])}). "
        "Whether the authors used those is not known: their programs were not run.",
        f"One batch kernel also costs less ({digits(whole)} s to the minimum of STE) than one online pass "
        f"({span(seconds.values())} s).",
        "Figure 1a holds as printed, but the size of the steps matters more than how they shrink: with "
        f"the best factor, c/sqrt(j) has {digits(root)} and a constant step {digits(constant)}.",
        f"Figure 1c holds: after {most} passes ERKLE has {span(online[most])}, and {most} gradient steps "
        f"of batch STE {digits(few)}.",
    ]
