"""Conclusions of `extreme_ranks`."""

from __future__ import annotations

from typing import Any

from benchmarks import extreme_ranks as ranks
from benchmarks._tables import digits
from benchmarks.conclusions._words import Rows, listed, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Where two processes gain little, what they send, and how close they are to one."""
    rows = ranks.complete(rows)
    kinds = ("gradient", "product")
    gains = {kind: [ranks.speed_up(row, kind) for row in rows] for kind in ranks.KINDS}
    slow = [ranks.KINDS[kind] for kind, found in gains.items() if min(found) < 1]
    slower = f"In some cells two processes take longer than one: {listed(slow)}. " if slow else ""
    largest = rows[-1]
    bytes_sent = [ranks.sent(largest, kind) for kind in kinds]
    same = max(ranks.growth(rows, kind) for kind in kinds)
    grows = "as much" if same < 1.001 else f"{digits(same)} times as much"
    wire = [row["results"]["two"][kind]["wire"] / ranks.sent(row, kind) for row in rows for kind in kinds]
    worst = max(ranks.apart(row) for row in rows)
    close = "at most" if worst <= ranks.MOST_APART else "more than the target of 1e-6:"
    return [
        f"{slower}CPU time of one process over that of the busiest of two: "
        f"{span(gains['gradient'])} for a gradient, {span(gains['product'])} for a Gauss-Newton product, and "
        f"{span(gains['sogram'])} for a step of SOGram, which is short and sends several small messages.",
        f"With {largest['cell']['left']:,} left and {largest['cell']['right']:,} right entities "
        f"({largest['cell']['towers']}), a process sends {bytes_sent[0] / 1e6:.2f} MB per gradient and "
        f"{bytes_sent[1] / 1e6:.2f} MB per product. It sends {grows} with four times as many left entities.",
        f"Linux counted {span(wire)} times these bytes on the wire.",
        f"The objective of two processes differs from that of one by {close} {worst:.1g} of its value (float32).",
    ]
