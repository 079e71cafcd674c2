"""Conclusions of `eurodist`."""

from __future__ import annotations

from typing import Any

from benchmarks import eurodist
from benchmarks._tables import digits
from benchmarks.conclusions._words import Rows, listed, middle, share, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """The losses that lose, the default that gains nothing, then what holds."""
    losses, names = settings["losses"], eurodist.NAMES

    def found(rival: str, what: str) -> float:
        return middle(row["results"][rival][what] for row in rows)

    metric = found("metric", "error")
    sbb, default = ({loss: found(f"{loss} {how}", "error") for loss in losses} for how in ("SBB", "default"))
    behind = [loss for loss in losses if min(sbb[loss], default[loss]) > metric]
    ahead = [loss for loss in losses if sbb[loss] < metric]
    worse = [loss for loss in losses if default[loss] > sbb[loss]]
    slower = [found(f"{loss} default", "seconds") / found(f"{loss} SBB", "seconds") for loss in losses]
    apart = {how: [found(f"{loss} {how}", "procrustes") for loss in losses] for how in ("SBB", "default")}
    return [
        f"{listed([names[loss] for loss in behind])} (in two dimensions one and the same loss) stay behind "
        f"the metric map: held-out error {span(min(sbb[loss], default[loss]) for loss in behind)} against "
        f"its {digits(metric)}.",
        "The default does not pay here: its error is above that of one run of Algorithm 1 (`SBB`) for "
        f"{share(len(worse), len(losses))} losses, and it takes {span(slower)} times as long.",
        f"{listed([names[loss] for loss in ahead])} by `SBB` have a lower held-out error than metric "
        f"scaling, which sees every distance ({span(sbb[loss] for loss in ahead)}).",
        "All maps have nearly the metric map's shape: Procrustes distances of "
        f"{span(apart['SBB'] + apart['default'])}.",
    ]
