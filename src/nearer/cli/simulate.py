"""`nearer simulate`: write answers about known points to a file, or simulate studies to compare strategies."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer._utils.text import counted
from nearer.cli._options import AsJson, Force, Seed
from nearer.cli._output import check_outputs, number_or_name, output_file, show, write_all
from nearer.cli._study import (
    AnswersAsked,
    Batch,
    Curves,
    Played,
    RandomShare,
    Repeats,
    Replay,
    check_modes,
    simulate_study,
)

if TYPE_CHECKING:
    import numpy as np


class Kind(StrEnum):
    """How many objects a comparison is about."""

    triplets = "triplets"
    quadruplets = "quadruplets"


def simulate(
    context: typer.Context,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            show_default="answers.csv, or curves.csv of a study",
            help="File for answers (csv, tsv, parquet, jsonl or npz), or for the curves of a study (csv).",
        ),
    ] = None,
    objects: Annotated[int, typer.Option("--objects", min=3, help="Number of points.")] = 100,
    dim: Annotated[
        int, typer.Option("--dim", min=1, help="Number of coordinates per point, and of each map of a study.")
    ] = 2,
    comparisons: Annotated[int, typer.Option("--comparisons", min=1, help="Number of answers.")] = 10_000,
    noise: Annotated[
        str,
        typer.Option(
            "--noise", help="Fraction of flipped answers (0 to 0.5), or 'ste': close calls are noisy."
        ),
    ] = "0",
    scale: Annotated[
        float | None,
        typer.Option(
            "--scale",
            show_default="0.22, or 1 in a study",
            help="Standard deviation of the coordinates. Larger values mean less noise with 'ste'.",
        ),
    ] = None,
    kind: Annotated[Kind, typer.Option("--kind", help="Triplets or quadruplets.")] = Kind.triplets,
    truth: Annotated[
        Path | None, typer.Option("--truth", help="Also write the points here (csv).", show_default=False)
    ] = None,
    strategy: Played = None,
    answers: AnswersAsked = None,
    replay: Replay = None,
    repeats: Repeats = 1,
    batch: Batch = 10,
    random_share: RandomShare = 0.0,
    plot: Curves = None,
    force: Force = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Write simulated answers to a file: random points, random questions, known noise.

    With --strategy, simulate whole studies instead: the strategy chooses each question, and the held-out error is
    measured as answers come in.
    """
    check_modes(context, studies=bool(strategy), replays=replay is not None)
    points: dict[str, Any] = {"n_objects": objects, "n_components": dim, "noise": number_or_name(noise)}
    if scale is not None:
        points["scale"] = scale
    if strategy:
        settings = {"n_components": dim, "repeats": repeats, "batch": batch, "random_share": random_share}
        simulate_study(
            [one.value for one in strategy],
            replay=replay,
            points=points,
            n_answers=answers,
            settings={**settings, "random_state": seed},
            out=output_file(out, "curves.csv", force=force),
            plot=plot,
            as_json=as_json,
        )
        return
    from nearer.datasets import planted
    from nearer.metrics import triplet_error

    out = output_file(out, "answers.csv", force=force)
    check_outputs([out, truth])
    found, places = planted(n_comparisons=comparisons, kind=kind.value, random_state=seed, **points)
    writers: dict[Path, Callable[[Path], object]] = {out: found.write}
    if truth is not None:
        writers[truth] = lambda path: write_points(path, places)
    write_all(writers)
    right = 1 - triplet_error(places, found)
    facts = {"answers": out, "truth": truth, "n_objects": objects, "n_components": dim, "right": right}
    lines = [
        ("answers", f"{out} ({counted(comparisons, kind.value[:-1])} about {objects:,} objects)"),
        ("right", f"{right:.1%} of them: the best that any map can be expected to reach on new answers"),
    ]
    if truth is not None:
        lines.append(("truth", str(truth)))
    show({**facts, "n_comparisons": comparisons, "seed": seed}, lines, as_json=as_json)


def write_points(path: Path, points: np.ndarray) -> None:
    """Write coordinates as csv: the object's index, then x1, x2, ..."""
    import csv

    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["object", *(f"x{column + 1}" for column in range(points.shape[1]))])
        writer.writerows([index, *row] for index, row in enumerate(points.tolist()))
