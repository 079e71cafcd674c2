"""`nearer plot`: a picture of a saved model."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearer.cli._commands import complain
from nearer.cli._files import check_outputs, write_all
from nearer.cli._models import load_model, object_names
from nearer.cli._options import AsJson, ModelFile
from nearer.cli._output import show
from nearer.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nearer.ordinal import OrdinalEmbedding


class What(StrEnum):
    """What the picture shows."""

    map = "map"
    objective = "objective"
    steps = "steps"


def plot(
    model: ModelFile,
    out: Annotated[Path, typer.Option("--out", help="The picture: png, svg, pdf or jpg.")] = Path("map.png"),
    what: Annotated[
        What, typer.Option("--what", help="The map, the objective's curve or the steps.")
    ] = What.map,
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels", show_default=False, help="csv with columns object and label: colours the map."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", show_default=False, help="Written above.")] = None,
    dpi: Annotated[int, typer.Option("--dpi", min=20, max=2400, help="Dots an inch, for png and jpg.")] = 150,
    as_json: AsJson = False,
) -> None:
    """Draw a saved model: the labelled map, the objective's curve, or the step sizes."""
    check_outputs([out], inputs=[model] if labels is None else [model, labels])
    _check_format(out)
    if labels is not None and what is not What.map:
        raise InputError("--labels colours the map: leave out --what, or leave out --labels")
    estimator = load_model(model)
    figure = _drawn(estimator, what, labels, title)
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", message="Glyph .* missing from", category=UserWarning)
        write_all({out: lambda path: figure.savefig(path, dpi=dpi)})
    if caught:
        complain(f"{out}: no installed font has all letters of the names, a report shows them in any browser")
    facts = {"out": out, "what": what.value, "n_objects": len(estimator.embedding_)}
    show(facts, [("picture", str(out))], as_json=as_json)


def _drawn(estimator: OrdinalEmbedding, what: What, labels: Path | None, title: str | None) -> Figure:
    from nearer import plotting

    if what is What.objective:
        return plotting.plot_learning_curve(estimator.result_, title=title)
    if what is What.steps:
        return plotting.plot_step_sizes(estimator.result_, title=title)
    names = object_names(estimator)
    classes = None if labels is None else _read_labels(labels, names)
    shown = names if estimator.names_ is not None or len(names) <= 100 else None
    return plotting.plot_map(estimator.embedding_, shown, classes, title=title)


def _check_format(out: Path) -> None:
    from matplotlib.figure import Figure

    known = sorted(Figure().canvas.get_supported_filetypes())
    if out.suffix.removeprefix(".").lower() not in known:
        raise InputError(f"{out}: a picture ends with one of {', '.join(known)}")


def _read_labels(path: Path, names: list[str]) -> list[str]:
    """One label an object, in the model's order, from a csv with a header and two columns."""
    import csv

    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.reader(stream))[1:]
    found: dict[str, str] = {}
    for number, row in enumerate(rows, start=2):
        if len(row) != 2:
            raise InputError(f"{path}, row {number}: {len(row)} columns where object and label are two")
        if row[0] not in names:
            raise InputError(f"{path}, row {number}: the model has no object {row[0]!r}")
        found[row[0]] = row[1]
    for name in names:
        if name not in found:
            raise InputError(f"{path}: the object {name!r} has no label, give each object one")
    return [found[name] for name in names]
