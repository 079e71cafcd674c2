"""Conclusions of `blas_threads`."""

from __future__ import annotations

from typing import Any

from benchmarks.blas_threads import ratio
from benchmarks.conclusions._words import Rows, listed, share, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Which fits are slower as installed, and by how much."""
    most = settings["largest_ratio"]
    slow = [f"{row['cell']['job']} ({row['cell']['load']})" for row in rows if ratio(row) > most]
    by_load = {
        load: [ratio(row) for row in rows if row["cell"]["load"] == load] for load in settings["loads"]
    }
    return [
        f"Slower than {most} times the same fit on one thread: {share(len(slow), len(rows))} fits ({listed(slow)}).",
        *(
            f"On {'an idle' if load == 'idle' else 'a busy'} machine a fit as installed takes "
            f"{span(ratios, '.2f')} times as long as with BLAS limited to one thread."
            for load, ratios in by_load.items()
        ),
        "Eigenproblems of 4,000 rows or more keep the user's threads; none of these fits is that large.",
    ]
