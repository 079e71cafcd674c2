"""Conclusions of `extreme_scale`."""

from __future__ import annotations

from typing import Any

from benchmarks import _scale_report as scale
from benchmarks._extreme_report import gap_after, least
from benchmarks._tables import digits
from benchmarks.conclusions._words import Rows, listed, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """What misses its target, then times, growth, accuracy and fits."""
    found = [_fits(rows), _growth(rows, settings), *_times(rows, settings), _accuracy(rows)]
    said = [" ".join(sentences) for sentences in found if sentences]
    missed = [sentence for sentence in said if "missed" in sentence]
    return [*missed, *(sentence for sentence in said if sentence not in missed)]


def _fits(rows: Rows) -> list[str]:
    results = scale.part(rows, "fits")
    if not results:
        return []
    first = scale.quickest(rows, scale.GAP)
    wanted = f"The target for a fit, a relative gap of {scale.GAP:g} in less than {scale.SECONDS:g} s,"
    ends = {name: gap_after(results, name, scale.SECONDS) for name in results}
    best = min(ends, key=lambda name: ends[name])
    after = f"After {scale.SECONDS:g} s the smallest gap is {digits(ends[best])} ({best})"
    lowest = min(results, key=lambda name: results[name]["objective"][-1])
    seconds = digits(results[lowest]["seconds"][-1])
    said = f"{after}; L* = {least(results):,.0f} is where {lowest} ended after {seconds} s."
    if first is None or first[1] >= scale.SECONDS:
        got = "no fit gets there" if first is None else f"{first[0]} gets there after {digits(first[1])} s"
        return [f"{wanted} is missed: {got}. {said}"]
    return [f"{wanted} is met: {first[0]} gets there after {digits(first[1])} s. {said}"]


def _growth(rows: Rows, settings: dict[str, Any]) -> list[str]:
    if not scale.part(rows, "costs", settings["times"][-1]):
        return []
    ratios = {
        f"{name} in {said}": scale.growth(rows, settings, precision, kind)
        for kind, name in scale.KINDS.items()
        for precision, said in scale.PRECISIONS.items()
    }
    steep = [name for name, ratio in ratios.items() if ratio > scale.MOST_TIMES]
    verdict = f"is missed by: {listed(steep)}" if steep else "is met"
    return [
        f"With {settings['times'][-1]} times the entities and pairs, gradients and products take "
        f"{span(ratios.values())} times as long; the target of {scale.MOST_TIMES:g} {verdict}."
    ]


def _times(rows: Rows, settings: dict[str, Any]) -> list[list[str]]:
    costs = scale.part(rows, "costs", settings["times"][0])
    if not costs:
        return []
    said = []
    for kind, name in scale.KINDS.items():
        times = {precision: costs[precision][kind]["ms"] for precision in scale.PRECISIONS}
        verdict = "is met" if max(times.values()) <= scale.MOST[kind] else "is missed"
        reached = [scale.PRECISIONS[one] for one, ms in times.items() if ms <= scale.AIM[kind]]
        said.append(
            f"A {name} at netflix's shape takes {digits(times['tf32'])} ms with TF32 and {digits(times['float32'])} "
            f"ms in float32; the target of {scale.MOST[kind]:g} ms {verdict}, and the aim of {scale.AIM[kind]:g} is "
            f"reached by: {listed(reached)}."
        )
    parts = costs["tf32"]["of gradient"]
    over_pairs = sum(there["ms"] for there in parts.values() if there["gathered"])
    rates = [
        (there["moved"] + there["gathered"]) / there["ms"] * 1e3 / costs["card"]["ceilings"]["copy"]
        for there in parts.values()
        if there["gathered"]
    ]
    of_gradient = over_pairs / costs["tf32"]["gradient"]["ms"]
    streamed = (costs["streamed"][kind]["ms"] / costs["tf32"][kind]["ms"] for kind in scale.KINDS)
    return [
        said,
        [
            f"{of_gradient:.0%} of a gradient with TF32 are products over pairs. They read embeddings at "
            f"{span(rates)} times the bandwidth of a copy, because most come from the cache.",
            f"Streaming all pairs from main memory takes {span(streamed)} times as long.",
        ],
    ]


def _accuracy(rows: Rows) -> list[str]:
    accuracy, processes = scale.part(rows, "accuracy"), scale.part(rows, "processes")
    said = []
    if accuracy:
        worst = {
            name: max(found[kind] for kind in ("gradient", "product")) for name, found in accuracy.items()
        }
        verdict = "is met" if worst["float32"] <= scale.MOST_APART else "is missed"
        said.append(
            f"The target for accuracy, {scale.MOST_APART:g} in float32, {verdict}: gradient and product on the card "
            f"differ from float64 by {worst['float32']:.1g} of their length, with TF32 by {worst['tf32']:.1g}; "
            f"float32 on the CPU by {worst['float32 on the CPU']:.1g}."
        )
    if processes:
        apart = scale.apart_together(processes)
        verdict = "is met" if apart <= scale.MOST_APART_TOGETHER else "is missed"
        slower = processes["two that share the card over gloo"]["gradient"]["elapsed"]
        said.append(
            f"The target for processes on one card, objectives {scale.MOST_APART_TOGETHER:g} apart, {verdict}: "
            f"{apart:.1g} over NCCL and gloo. Two that share a card only slow each other down: "
            f"{digits(slower / processes['one']['gradient']['elapsed'])} times the time of one."
        )
    return said
