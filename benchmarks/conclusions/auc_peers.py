"""Conclusions of `auc_peers`."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import _auc_peers_report as report
from benchmarks._auc_report import LR, Results, sure
from benchmarks.conclusions._words import Rows, listed, middle, share, span

Sets = dict[str, list[Results]]


def signs(sets: Sets, rival: str, over: str) -> dict[str, int]:
    """Return by data set 1 where a rival's AUC is surely above another's, -1 where below, else 0."""
    return {name: sure(lead) for name, found in sets.items() if (lead := report.leads(found, rival, over))}


def names_of(found: dict[str, int], sign: int) -> list[str]:
    """Return the data sets of one sign."""
    return [name for name, value in found.items() if value == sign]


def whole_times(sets: Sets) -> list[float]:
    """Return by data set the CPU time of the whole `AUCClassifier` divided by that of logistic regression."""
    return [
        middle(
            one["AUCClassifier"]["seconds"] / one[LR]["seconds"] for one in found if "AUCClassifier" in one
        )
        for found in sets.values()
    ]


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Where logistic regression and others are as good or better, then where AdaDSG is ahead."""
    sets = report.sets_of(rows, settings)
    lr = signs(sets, "AdaDSG", LR)
    trees, pairwise = signs(sets, "xgboost", "AdaDSG"), signs(sets, "LibAUC pairwise", "AdaDSG")
    solam = [
        report.faster(found, rival) for found in sets.values() for rival in ("SOLAM", "SOLAM as it comes")
    ]
    whole = whole_times(sets)
    return [
        f"On {share(len(names_of(lr, 0)), len(sets))} sets AdaDSG and logistic regression end in a tie; "
        f"AdaDSG is ahead on {listed(names_of(lr, 1))}, by "
        f"{span([float(np.mean(report.leads(sets[n], 'AdaDSG'))) for n in names_of(lr, 1)], '.3f')}.",
        f"The whole estimator, `AUCClassifier`, takes {span(whole, '.1f')} times the CPU time of logistic "
        f"regression and is slower on {share(sum(ratio > 1 for ratio in whole), len(whole))} sets.",
        f"xgboost's trees end ahead of AdaDSG on {listed(names_of(trees, 1))} (behind on "
        f"{len(names_of(trees, -1))} sets), LibAUC's pairwise loss on {listed(names_of(pairwise, 1))} "
        f"(behind on {len(names_of(pairwise, -1))}).",
        "AdaDSG is not faster than SOLAM everywhere: to a good AUC its median time is shorter in "
        f"{share(solam.count(1), len(solam))} comparisons, longer in {solam.count(-1)}.",
        "It is faster than OLP and OPAUC in "
        f"{share(*_faster(sets, ('OLP', 'OLP whole buffer', 'OPAUC', 'OPAUC low rank')))} comparisons. All "
        "of these are our own programs, with settings tuned to no data set.",
    ]


def _faster(sets: Sets, rivals: tuple[str, ...]) -> tuple[int, int]:
    """Return in how many comparisons AdaDSG is faster, and how many there are."""
    found = [
        one
        for trials in sets.values()
        for rival in rivals
        if (one := report.faster(trials, rival)) is not None
    ]
    return found.count(1), len(found)
