"""Conclusions of `pairwise_nonlinear`."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.conclusions._words import Rows, span


def _compared(rows: Rows, settings: dict[str, Any], one: str, other: str, what: str) -> list[float]:
    """Return by data set the mean difference in AUC, or the median ratio of seconds, over the splits."""
    found = []
    for data in settings["data"]:
        there = [row["results"] for row in rows if row["cell"]["data"] == data]
        mine, others = ([results[name][what] for results in there] for name in (one, other))
        found.append(
            np.mean(np.subtract(mine, others)) if what == "auc" else np.median(np.divide(mine, others))
        )
    return [float(value) for value in found]


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """What gradient boosting does better, then what bends gain."""
    count = settings["features"][-1]
    ours, several = f"random features, {count}", f"several kernels, {count}"
    sampler, nystroem, boosted = f"RBFSampler + LR, {count}", f"Nyström + LR, {count}", "gradient boosting"
    gain = _compared(rows, settings, "network", boosted, "auc")
    return [
        "Gradient boosting is the one to beat, and the network does not pay beside it: it takes "
        f"{span(_compared(rows, settings, 'network', boosted, 'seconds'))} times as long for "
        f"{span(gain, '+.4f')} AUC (mean differences on the same splits).",
        "Random features end "
        f"{span([-value for value in _compared(rows, settings, ours, boosted, 'auc')], '.3f')} below "
        "gradient boosting.",
        "Several kernels are not worth their time: "
        f"{span(_compared(rows, settings, several, ours, 'auc'), '+.4f')} AUC beside one kernel with as "
        f"many features, for {span(_compared(rows, settings, several, ours, 'seconds'))} times the time.",
        f"Random features gain {span(_compared(rows, settings, ours, 'linear', 'auc'), '.3f')} AUC over a "
        "line. Beside logistic regression on scikit-learn's random features they are ahead by "
        f"{span(_compared(rows, settings, ours, sampler, 'auc'), '.3f')} in "
        f"{span(_compared(rows, settings, ours, sampler, 'seconds'))} times the time; beside Nyström "
        f"features by {span(_compared(rows, settings, ours, nystroem, 'auc'), '+.4f')}.",
    ]
