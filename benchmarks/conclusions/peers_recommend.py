"""Conclusions of `peers_recommend`."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import _recommend_standings as standings
from benchmarks._recommend_ours import DEFAULT, LINEAR, SEARCH
from benchmarks._recommend_peers import IMPLICIT, IRSPACK, IRSPACK_FEATURES
from benchmarks._recommend_report import PUBLISHED
from benchmarks.conclusions._words import Rows, share
from nearer._utils.text import counted


def mean(rows: Rows, protocol: str, rival: str, measure: str) -> float:
    """Return the mean over splits."""
    return float(np.mean(standings.values(rows, protocol, rival, measure)))


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Which targets of ours are missed, then what the baselines reach."""

    def reached(protocol: str, measure: str, *rivals: str) -> str:
        measured = [name for name in rivals if len(standings.values(rows, protocol, name, measure))]
        return ", ".join(f"{name} {mean(rows, protocol, name, measure):.3f}" for name in measured)

    ease = standings.lead(rows, "warm", "EASE", IRSPACK, "map5")
    assert ease is not None
    recalls = [mean(rows, "warm", name, "recall20") for name in ("EASE", IRSPACK)]
    warm = reached("warm", "map5", DEFAULT, LINEAR, "EASE", IRSPACK, IMPLICIT, "popularity")
    from_history = reached("history", "recall20", DEFAULT, SEARCH, "EASE", IRSPACK, "popularity")
    from_side = reached("side", "recall20", SEARCH, "ridge", IRSPACK_FEATURES, "popularity")
    items = reached(
        "items",
        "recall20",
        DEFAULT,
        SEARCH,
        IRSPACK_FEATURES,
        "ridge per user",
        "ridge, mean of users",
        "random",
    )
    ncf = reached("ncf", "hr10", DEFAULT, SEARCH, IRSPACK, "EASE", IMPLICIT, "popularity")
    return [
        _targets(rows),
        f"Warm, MAP@5: {warm}. EASE minus iALS is {ease.mean:+.4f} ± {ease.error:.4f} there, and "
        f"{recalls[0] - recalls[1]:+.4f} in recall@20; "
        f"the choice among settings with nearly equal validation scores can move MAP@5 by more.{_linear(rows)}",
        f"New users, recall@20: from their history {from_history}; gender, age and occupation alone are worth little "
        f"({from_side}).",
        f"New movies from genres and year, recall@20: {items}.",
        f"On the split of He et al., HR@10: {ncf} (published, not measured: NeuMF "
        f"{next(iter(PUBLISHED.values()))[0]:.3f}).",
    ]


def _linear(rows: Rows) -> str:
    """Return what is left between linear towers and iALS, if both chose the same setting."""
    found = [_setting(rows, name) for name in (LINEAR, IRSPACK)]
    if found[0] is None or found[0] != found[1]:
        return ""
    ours, theirs = (
        standings.mean(standings.values(rows, "warm", name, "map5")) for name in (LINEAR, IRSPACK)
    )
    return (
        f" Linear towers minimise the objective of irspack's iALS and chose the same setting: {ours} and {theirs}, "
        "from other random starts."
    )


def _setting(rows: Rows, rival: str) -> Any:
    chosen = [row["results"] for row in rows if row["cell"]["protocol"] == "warm" and rival in row["results"]]
    return next((found[rival]["setting"] for found in chosen if "setting" in found[rival]), None)


def _targets(rows: Rows) -> str:
    judged = [
        (what, measured, holds) for what, _, measured, holds in standings.checks(rows) if holds is not None
    ]
    if not judged:
        return "Our own estimator was not measured yet: this page has the baselines alone."
    missed = [f"{what} ({measured})" for what, measured, holds in judged if not holds]
    if not missed:
        return f"Our estimator reaches all {len(judged)} targets."
    held = share(len(judged) - len(missed), len(judged))
    return f"Our estimator misses {counted(len(missed), 'target')}: {'; '.join(missed)}. It reaches {held}."
