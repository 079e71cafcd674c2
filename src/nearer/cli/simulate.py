"""`nearer simulate`: answers about points that are known, to a file."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearer._words import counted
from nearer.cli._files import check_outputs, write_all
from nearer.cli._options import AsJson, Seed
from nearer.cli._output import number_or_name, show

if TYPE_CHECKING:
    import numpy as np


class Kind(StrEnum):
    """How many objects a comparison is about."""

    triplets = "triplets"
    quadruplets = "quadruplets"


def simulate(
    out: Annotated[
        Path, typer.Option("--out", help="File of answers: csv, tsv, parquet, jsonl or npz.")
    ] = Path("answers.csv"),
    objects: Annotated[int, typer.Option("--objects", min=3, help="How many points.")] = 100,
    dim: Annotated[int, typer.Option("--dim", min=1, help="How many coordinates each has.")] = 2,
    comparisons: Annotated[int, typer.Option("--comparisons", min=1, help="How many answers.")] = 10_000,
    noise: Annotated[
        str,
        typer.Option("--noise", help="Share of flipped answers (0 to 0.5), or 'ste': close calls are noisy."),
    ] = "0",
    kind: Annotated[Kind, typer.Option("--kind", help="Triplets, or quadruplets.")] = Kind.triplets,
    truth: Annotated[
        Path | None, typer.Option("--truth", help="Also write the points here (csv).", show_default=False)
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Write planted answers to a file: random points, random questions, known noise."""
    from nearer.datasets import planted

    check_outputs([out, truth])
    answers, points = planted(
        objects, dim, comparisons, noise=number_or_name(noise), kind=kind.value, random_state=seed
    )
    writers: dict[Path, Callable[[Path], object]] = {out: answers.write}
    if truth is not None:
        writers[truth] = lambda path: write_points(path, points)
    write_all(writers)
    facts = {"answers": out, "truth": truth, "n_objects": objects, "n_components": dim}
    lines = [("answers", f"{out} ({counted(comparisons, kind.value[:-1])} about {objects:,} objects)")]
    if truth is not None:
        lines.append(("truth", str(truth)))
    show({**facts, "n_comparisons": comparisons, "seed": seed}, lines, as_json=as_json)


def write_points(path: Path, points: np.ndarray) -> None:
    """Coordinates as csv: the object's index, then x1, x2, ..."""
    import csv

    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["object", *(f"x{column + 1}" for column in range(points.shape[1]))])
        writer.writerows([index, *row] for index, row in enumerate(points.tolist()))
