"""`nearer export`: the embeddings of towers for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearer._utils.text import counted
from nearer.cli._loading import load_for
from nearer.cli._options import AsJson, ModelFile
from nearer.cli._output import check_outputs, show
from nearer.errors import InputError


def export(
    model: ModelFile,
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", show_default=False, help="npz or parquet, or usearch for an index of the items."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Write the embeddings of towers to a file."""
    check_outputs([out], inputs=[model])
    towers, _ = load_for(model, "export")
    try:
        towers.export(out)
    except InputError as error:
        raise error.but(parameter=None).within(out) from None
    facts = {"out": out, "n_left": len(towers.left_embedding_), "n_right": len(towers.right_embedding_)}
    size = counted(towers.left_embedding_.shape[1], "column")
    line = f"{out} ({facts['n_left']:,} left, {facts['n_right']:,} right, {size})"
    show(facts, [("embeddings", line)], as_json=as_json)
