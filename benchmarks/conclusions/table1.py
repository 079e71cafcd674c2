"""Conclusions of `table1`."""

from __future__ import annotations

from typing import Any

from benchmarks import _race, table1
from benchmarks._tables import digits
from benchmarks.conclusions import kernel_limit
from benchmarks.conclusions._words import Rows, listed, middle, rows_of, share, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """What the paper's Table 1 says that does not hold, then what does."""
    losses = settings["losses"]
    targets = {loss: _race.hardest(rows, loss, settings) or settings["targets"][0] for loss in losses}
    best = {loss: table1.best_batch(rows, loss, settings, targets[loss]) for loss in losses}
    gained, saved = (
        [table1.ratio(rows, loss, what, rival, best[loss], targets[loss]) for loss in losses]
        for what, rival in (("seconds", "SVRG"), ("evaluations", "batch"))
    )
    times = {loss: _times(rows, loss, settings, targets[loss]) for loss in losses}
    quickest = [min(times[loss], key=lambda name: times[loss][name]) for loss in losses]
    slower = [times[loss][best[loss]] / times[loss]["SGD"] for loss in losses]
    loops = rows_of("kernel_limit")
    same = kernel_limit.ratio_at(loops, "sgd", settings["n_components"], settings["n_objects"])
    return [
        "The paper's factor over SVRG did not reproduce: SVRG with a tuned constant step takes "
        f"{span(gained)} times as long as the best SVRG-SBB (in the paper {span(_paper())} times).",
        f"SGD with a tuned constant step is the quickest on {share(quickest.count('SGD'), len(losses))} "
        f"losses; the best SVRG-SBB takes {span(slower)} times as long.",
        *_missed(rows, settings, targets),
        f"Our stochastic steps take up to {digits(max(kernel_limit.ratios(loops, 'sgd')), 2)} times as "
        f"long as those of a C++ loop ({digits(same, 2)} times at this size, "
        f"[`kernel_limit`](kernel_limit.md){_version(rows, loops)}), so times flatter `batch`; evaluations do "
        "not depend on the program.",
        f"What SVRG-SBB gives is a step that nobody has to tune, and {span(saved)} times fewer evaluations "
        "than `batch`.",
    ]


def _version(rows: Rows, loops: Rows) -> str:
    """Return a remark if the loops were measured in another version of nearer than the times of this page."""
    same = {row["source"] for row in rows} == {row["source"] for row in loops}
    return "" if same else ", measured with other versions of the loops than the times on this page"


def _times(rows: Rows, loss: str, settings: dict[str, Any], target: float) -> dict[str, float]:
    """Return median seconds until the target, by solver."""
    found = _race.of_loss(rows, loss)
    names = _race.rivals(settings)
    return {name: middle(_race.reached(r[name], "seconds", target) for r in found) for name in names}


def _paper() -> list[float]:
    """Return how many times as long as the best SVRG-SBB the paper's SVRG takes, by loss."""
    ratios = []
    for times in table1.PAPER.values():
        best = min(time for name, time in times.items() if name.startswith("SBB-") and time is not None)
        ratios.append((times["SVRG"] or 0.0) / best)
    return ratios


def _missed(rows: Rows, settings: dict[str, Any], targets: dict[str, float]) -> list[str]:
    """Return a sentence about the losses that no solver brings to the paper's target, if there are any."""
    wanted = settings["targets"][-1]
    names = [loss for loss, target in targets.items() if target != wanted]
    if not names:
        return []
    least = min(min(r[rival]["error"]) for loss in names for r in _race.of_loss(rows, loss) for rival in r)
    shown = listed([table1.LOSS_NAMES[loss] for loss in names])
    return [
        f"With {shown} no solver reaches the paper's test error of {wanted} (least {digits(least)}); it is "
        f"judged at {span([targets[loss] for loss in names])}."
    ]
