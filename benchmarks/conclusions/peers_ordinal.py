"""Conclusions of `peers_ordinal`."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._peers_report import (
    DEFAULT,
    LARGE,
    ONE_FIT,
    QUICK,
    behind_hindsight,
    best_peer,
    by_data,
    close_peers,
    difference,
    kept_away,
    measured,
    times,
    winner,
)
from benchmarks.conclusions._words import Rows, listed, share, span

Results = list[dict[str, Any]]


def lost(data: dict[str, Results], settings: dict[str, Any]) -> dict[str, str]:
    """Return the data sets on which our default is behind cblearn's best by over a standard error, and by how much."""
    found = {
        name: difference(results, DEFAULT, str(best_peer(results, settings)))
        for name, results in data.items()
    }
    return {name: f"{apart.mean:.4f}" for name, apart in found.items() if not apart.no_worse}


def not_beaten(data: dict[str, Results], settings: dict[str, Any]) -> list[str]:
    """Return the estimators of cblearn that neither our default nor the quick setting beats in both respects."""
    return [
        f"{peer} on {name}"
        for name, found in data.items()
        for peer in measured(found, settings["cblearn"])
        if winner(found, peer) is None
    ]


def quickest_close(found: Results, settings: dict[str, Any]) -> float:
    """Return the time of cblearn's quickest estimator of about equal accuracy or better divided by the default's."""
    return min((times(found, peer, DEFAULT) for peer in close_peers(found, settings)), default=np.inf)


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Where cblearn is better or quicker, then where nearer is."""
    data, unseen = by_data(rows, settings), kept_away(rows, settings)
    behind, open_front = lost(data, settings), not_beaten(data, settings)
    total = sum(len(measured(found, settings["cblearn"])) for found in data.values())
    mean = np.mean([difference(f, DEFAULT, str(best_peer(f, settings))).mean for f in data.values()])
    fresh = np.mean([difference(f, DEFAULT, str(best_peer(f, settings))).mean for f in unseen.values()])
    hindsight = np.mean([behind_hindsight(found)[0] for found in data.values()])
    large, small = _apart(data)
    fits = span([times(found, DEFAULT, ONE_FIT) for found in large], ".1f")
    close = [span([quickest_close(found, settings) for found in each], ".1f") for each in (large, small)]
    quick = span([times(found, QUICK, DEFAULT) for found in data.values()], ".2f")
    return [
        "cblearn's best estimator has less held-out error than our default, by more than one standard error, on "
        f"{listed([f'{name} (by {apart})' for name, apart in behind.items()])} of the data sets.",
        f'Our default or `effort="quick"` is both quicker and no worse, within one standard error, in '
        f"{share(total - len(open_front), total)} pairs of data set and estimator of cblearn; the exceptions: "
        f"{listed(open_front)}.",
        f"On average over the data sets our default makes {-100 * mean:.2f} percentage points fewer errors than "
        f"cblearn's best estimator of each ({-100 * fresh:.2f} on splits and data sets that had no part in setting "
        f"its constants), and {100 * hindsight:+.2f} compared with the best loss and strength in hindsight.",
        f"With 1,000 objects or more, the default takes {fits} times the time of one L-BFGS fit at the loss and "
        "strength that it chose, and cblearn's quickest estimator within 0.015 of its error takes "
        f"{close[0]} times its time.",
        f'With fewer objects that estimator takes {close[1]} times the default\'s time; `effort="quick"` takes '
        f"{quick} of it.",
    ]


def _apart(data: dict[str, Results]) -> tuple[list[Results], list[Results]]:
    """Return the data sets of 1,000 objects or more, and the others."""
    large = [found for name, found in data.items() if name in LARGE]
    return large, [found for name, found in data.items() if name not in LARGE]
