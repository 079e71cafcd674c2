"""What the rivals of `peers_recommend` reached, split by split, and which targets hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import peers_recommend as experiment
from benchmarks._recommend_metrics import MEASURES, standard_error
from benchmarks._recommend_ours import DEFAULT, LINEAR, SEARCH
from benchmarks._recommend_peers import IRSPACK, IRSPACK_FEATURES

Rows = list[dict[str, Any]]
Check = tuple[str, str, str, bool | None]

TITLES = {"map5": "MAP@5", "recall20": "recall@20", "ndcg10": "NDCG@10", "hr10": "HR@10"}
#: what decides in each protocol
DECISIVE = {
    "warm": ("map5", "recall20"),
    "history": ("recall20",),
    "side": ("recall20",),
    "items": ("recall20",),
    "ncf": ("hr10", "ndcg10"),
}
#: EASE and iALS, where they can play
STRONG = ("EASE", IRSPACK, IRSPACK_FEATURES)
LEAST_SHARE, MOST_SECONDS = 0.95, 300


@dataclass(frozen=True)
class Mean:
    """A mean with its standard error over splits."""

    mean: float
    error: float

    def __str__(self) -> str:
        return f"{self.mean:.4f} ± {self.error:.4f}"


def measures(protocol: str) -> tuple[str, ...]:
    """Return the measures of a protocol."""
    return ("hr10", "ndcg10") if protocol == "ncf" else MEASURES


def results(rows: Rows, protocol: str, rival: str) -> list[dict[str, Any]]:
    """Return what a rival reached on every split, failures left out."""
    found = {
        row["cell"]["split"]: row["results"][rival]
        for row in rows
        if row["cell"]["protocol"] == protocol
        and row["cell"]["split"] != experiment.CHOICE
        and "cpu" in row["results"].get(rival, {})
    }
    return [found[split] for split in sorted(found)]


def values(rows: Rows, protocol: str, rival: str, measure: str) -> np.ndarray:
    """Return a measure on every split, of `ncf` in every group of users; empty if it was not measured."""
    found = results(rows, protocol, rival)
    if protocol == "ncf":
        return np.array(found[0]["groups"][measure] if found else [])
    return np.array([one[measure][0] for one in found])


def mean(numbers: np.ndarray) -> Mean:
    """Return mean and standard error."""
    return Mean(float(np.mean(numbers)), standard_error(numbers) if len(numbers) > 1 else 0.0)


def rivals(rows: Rows, protocol: str) -> list[str]:
    """Return the rivals that were measured, ours last."""
    names = [*experiment.BASELINES[protocol], *experiment.ours.RIVALS[protocol]]
    return [name for name in names if results(rows, protocol, name)]


def lead(rows: Rows, protocol: str, one: str, other: str, measure: str) -> Mean | None:
    """Return how far a rival is ahead of another on the same splits."""
    mine, others = (values(rows, protocol, name, measure) for name in (one, other))
    return mean(mine - others) if len(mine) and len(mine) == len(others) else None


def strongest(rows: Rows, protocol: str, measure: str) -> str | None:
    """Return the best of EASE and iALS."""
    found = {
        name: float(np.mean(numbers))
        for name in STRONG
        if len(numbers := values(rows, protocol, name, measure))
    }
    return max(found, key=lambda name: found[name]) if found else None


# -- checks -----------------------------------------------------------------------------------------------------------


def checks(rows: Rows) -> list[Check]:
    """Return the targets of the estimator, what was measured, and whether they hold."""
    found = [_level(rows, "warm", LINEAR, IRSPACK, measure) for measure in DECISIVE["warm"]]
    for protocol, decisive in DECISIVE.items():
        for measure in decisive:
            best = strongest(rows, protocol, measure)
            if best:
                found.append(_level(rows, protocol, SEARCH, best, measure))
    found += [_default(rows), _quick(rows)]
    for rival in (DEFAULT, SEARCH):
        found += [
            _times(rows, "history", rival, "popularity", 2.0),
            _level(rows, "history", rival, "EASE", "recall20"),
            _level(rows, "side", rival, "popularity", "recall20"),
            _times(rows, "items", rival, "ridge, mean of users", 2.0),
        ]
    return list(dict.fromkeys(found))


def _level(rows: Rows, protocol: str, one: str, other: str, measure: str) -> Check:
    """Not behind by more than one standard error of the difference."""
    ahead = lead(rows, protocol, one, other, measure)
    text = f"{ahead.mean:+.4f} ± {ahead.error:.4f}" if ahead else "-"
    holds = ahead.mean + ahead.error >= 0 if ahead else None
    return f"{protocol}: {TITLES[measure]} of {one} minus that of {other}", "0, within one error", text, holds


def _times(rows: Rows, protocol: str, one: str, other: str, least: float) -> Check:
    mine, others = (values(rows, protocol, name, "recall20") for name in (one, other))
    ratio = float(np.mean(mine) / np.mean(others)) if len(mine) and len(others) else None
    text = f"{ratio:.2f}" if ratio else "-"
    holds = ratio >= least if ratio else None
    return f"{protocol}: recall@20 of {one} divided by that of {other}", f"at least {least:g}", text, holds


def _default(rows: Rows) -> Check:
    mine, others = (values(rows, "warm", name, "map5") for name in (DEFAULT, "EASE"))
    share = float(np.mean(mine) / np.mean(others)) if len(mine) and len(others) else None
    text = f"{share:.1%}" if share else "-"
    holds = share >= LEAST_SHARE if share else None
    return f"warm: MAP@5 of {DEFAULT} as a share of EASE's", f"at least {LEAST_SHARE:.0%}", text, holds


def _quick(rows: Rows) -> Check:
    longest = max((one["seconds"] for one in results(rows, "warm", DEFAULT)), default=None)
    text = f"{longest:.0f}" if longest else "-"
    holds = longest <= MOST_SECONDS if longest else None
    return f"warm: seconds of {DEFAULT} on two cores, the longest", f"at most {MOST_SECONDS}", text, holds
