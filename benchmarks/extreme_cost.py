"""The sum over all pairs at the cost of the rows: seconds and memory from a thousand to a million entities.

As many left as right entities, 20 observed pairs per left entity, one-hot ids, towers of 32-32-32 with ELU, logistic
loss, float32, one thread. Entities and pairs grow together, so linear cost has the slope 1 in logarithms. The *naive*
gradient computes the scores of all pairs; it ends where they no longer fit into memory.

- Seconds are CPU time of one thread, the median of several calls after a first one. Above 10^5 entities the embeddings
  no longer fit into the caches, and the pairs meet them in random order. What this alone costs shows in *copying*: the
  rows of the right entities in the order of the left entities' pairs, and the other way round, copied once each into a
  small buffer. A gradient reads the former twice and the latter once.
- Memory is the peak of a process of its own beyond what it holds after imports and a small problem. Its parts are the
  pairs (two whole numbers of 8 bytes), both embeddings, and the parameter-sized vectors: parameters and gradient, or
  parameters, direction and product. Activations are kept for `chunk_rows` entities at a time. If there are more, a
  gradient repeats the forward pass; from 10^4 entities on, it does here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks._figures import grid, legend_below, log_scale, looks, tidy_chart
from benchmarks._runner import Job, Skip
from benchmarks._store import Cell
from benchmarks._tables import Table, checks, digits

SETTINGS: dict[str, Any] = {
    "entities": [1000, 10_000, 100_000, 1_000_000],
    "naive_to": 10_000,
    "pairs_per_entity": 20,
    "hidden": 32,
    "n_components": 32,
    "chunk_rows": 4096,
    "turns": 9,
}
QUICK = {"entities": [200, 2000], "naive_to": 200, "turns": 1}

KINDS = {
    "gradient": "gradient",
    "product": "Gauss-Newton product",
    "naive": "naive gradient",
    "gather": "copying the rows of all pairs, without arithmetic",
}
MOST_SLOPE = 1.1
MOST_MEMORY = 2.0

Rows = list[dict[str, Any]]


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a number of entities."""
    return [{"entities": n} for n in settings["entities"]]


def warm_up(settings: dict[str, Any]) -> None:
    """Skip without torch; each measurement warms up in its own process."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise Skip("torch is not installed") from None


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each kind in a process of its own."""
    from benchmarks import _tower_cost

    for kind in KINDS:
        if kind in job.done or (kind == "naive" and cell["entities"] > job.settings["naive_to"]):
            continue
        yield kind, _tower_cost.in_a_child({**job.settings, **cell, "kind": kind})


def values(rows: Rows, kind: str, key: str) -> tuple[list[int], list[float]]:
    """Return the numbers of entities and what was measured there."""
    there = [row for row in rows if key in row["results"].get(kind, {})]
    return [row["cell"]["entities"] for row in there], [row["results"][kind][key] for row in there]


def slope(rows: Rows, kind: str) -> float | None:
    """Return the power with which seconds grew over the last two tenfold steps; None with less."""
    n, seconds = values(rows, kind, "seconds")
    if len(n) < 3:
        return None
    return float(np.polyfit(np.log(n[-3:]), np.log(seconds[-3:]), 1)[0])


def memory(row: dict[str, Any], kind: str) -> float:
    """Return the peak of memory as a multiple of its parts."""
    found = row["results"][kind]
    return found["peak"] / sum(found["parts"].values())


def summarise(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """The checks, seconds and memory."""
    return [checks(_checks(rows)), _seconds(rows), _memory(rows, settings)]


def _checks(rows: Rows) -> Iterator[tuple[str, str, str, bool | None]]:
    for kind in ("gradient", "product"):
        found = slope(rows, kind)
        holds = None if found is None else found <= MOST_SLOPE
        yield f"{KINDS[kind]}: slope over the last two decades", f"at most {MOST_SLOPE}", digits(found), holds
    copied = slope(rows, "gather")
    if copied is not None:
        yield f"{KINDS['gather']}: slope over the last two decades", "none", digits(copied), None
    last = rows[-1]
    for kind in ("gradient", "product"):
        if "peak" in last["results"].get(kind, {}):
            ratio = memory(last, kind)
            what = f"{KINDS[kind]}, {last['cell']['entities']:,} entities: peak of memory / its parts"
            yield what, f"at most {MOST_MEMORY:g}", digits(ratio), ratio <= MOST_MEMORY


def _seconds(rows: Rows) -> Table:
    table = Table("Seconds per call", ["", *(f"{row['cell']['entities']:,}" for row in rows)])
    for kind, name in KINDS.items():
        table.add(name, *(digits(row["results"].get(kind, {}).get("seconds")) for row in rows))
    return table


def _memory(rows: Rows, settings: dict[str, Any]) -> Table:
    note = f"MB, and as a multiple of pairs + embeddings + vectors; chunk_rows = {settings['chunk_rows']:,}."
    table = Table("Peak of memory", ["", *(f"{row['cell']['entities']:,}" for row in rows)], note=note)
    for kind, name in KINDS.items():
        if kind == "gather":  # it needs nothing beyond embeddings and pairs
            continue
        cells = [
            f"{row['results'][kind]['peak'] / 1e6:,.0f} ({digits(memory(row, kind))})"
            if "peak" in row["results"].get(kind, {})
            else "-"
            for row in rows
        ]
        table.add(name, *cells)
    return table


def draw(rows: Rows, settings: dict[str, Any]) -> dict[str, Figure]:
    """Seconds and memory against the number of entities."""
    figure, (left, right) = grid(2, columns=2, size=(4.6, 3.6))
    for kind, look in looks(list(KINDS)).items():
        style: dict[str, Any] = {
            "label": KINDS[kind].partition(",")[0],
            "markersize": 5,
            "linewidth": 1.6,
            **look,
        }
        left.plot(*values(rows, kind, "seconds"), **style)
        if kind == "gather":
            continue
        n, peaks = values(rows, kind, "peak")
        right.plot(n, np.array(peaks) / 1e6, **style)
    for ax, what in ((left, "seconds per call"), (right, "peak of memory, MB")):
        log_scale(ax, "x", "y")
        tidy_chart(ax, "entities", what, "")
    legend_below(figure, left, columns=2)
    return {"cost": figure}
