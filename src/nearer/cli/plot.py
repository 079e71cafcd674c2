"""`nearer plot`: draw a saved model."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearer._utils.text import counted
from nearer.cli._loading import about_model, drawn_map, load_for, object_names
from nearer.cli._options import AsJson, Force, ModelFile
from nearer.cli._output import check_outputs, check_picture, complain, output_file, show, write_all
from nearer.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nearer._fitting import Model


class What(StrEnum):
    """What the picture shows."""

    map = "map"
    objective = "objective"
    steps = "steps"


def plot(
    model: ModelFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", show_default="map.png", help="The picture: png, svg, pdf or jpg."),
    ] = None,
    what: Annotated[
        What, typer.Option("--what", help="Draw the map, the objective or the step sizes.")
    ] = What.map,
    dim: Annotated[
        int | None,
        typer.Option("--dim", min=1, show_default="2", help="Number of dimensions to draw of a kernel."),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels", show_default=False, help="csv with columns object and label, to colour the map."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", show_default=False, help="Title above.")] = None,
    dpi: Annotated[int, typer.Option("--dpi", min=20, max=2400, help="Dots per inch of png and jpg.")] = 150,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Draw a saved model: the map or the space of labels, tags or links, the objective over time, or the step sizes."""
    out = output_file(out, "map.png", force=force)
    check_outputs([out], inputs=[model] if labels is None else [model, labels])
    check_picture(out)
    if labels is not None and what is not What.map:
        raise InputError("--labels colours the map: leave out --what, or leave out --labels")
    if dim is not None and what is not What.map:
        raise InputError("--dim is about the map: leave out --what, or leave out --dim")
    estimator, row = load_for(model, "plot")
    if row.cli is None:
        _check_drawable(estimator, model, what, dim)
    else:
        _check_space(model, what, dim, labels)
    if what is not What.map:
        figure = _drawn_course(estimator, what, title)
    elif row.cli is None:
        figure = _drawn_map(estimator, dim or 2, labels, title)
    else:
        from nearer.plotting import plot_coembedding

        figure = plot_coembedding(estimator, title=title)
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", message="Glyph .* missing from", category=UserWarning)
        write_all({out: lambda path: figure.savefig(path, dpi=dpi)})
    if caught:
        complain(
            f"{out}: no installed font has all letters of the names: use a report, which any browser shows"
        )
    facts = {"out": out, "what": what.value}
    if row.cli is None:
        facts["n_objects"] = about_model(estimator)["n_objects"]
    show(facts, [("picture", str(out))], as_json=as_json)


def _check_drawable(estimator: Model, path: Path, what: What, dim: int | None) -> None:
    from nearer.kernels.online import OnlineKernel
    from nearer.ordinal import OrdinalEmbedding

    if what is not What.map and isinstance(estimator, OnlineKernel):
        raise InputError(
            f"{path}: an online kernel takes one step per answer and has no {what} to draw: leave out --what"
        )
    if dim is not None and isinstance(estimator, OrdinalEmbedding):
        p = estimator.embedding_.shape[1]
        raise InputError(
            f"{path}: --dim is for kernels, and this embedding has {counted(p, 'dimension')}: leave it out"
        )


def _check_space(path: Path, what: What, dim: int | None, labels: Path | None) -> None:
    """Refuse what is about maps of one kind of objects, for a model of labels, tags or links."""
    if what is What.steps:
        raise InputError(
            f"{path}: this model has no step sizes to draw: leave out --what, or give --what objective"
        )
    for option, given in (("--dim", dim), ("--labels", labels)):
        if given is not None:
            raise InputError(f"{path}: {option} is for maps of comparisons: leave it out")


def _drawn_map(estimator: Model, dim: int, labels: Path | None, title: str | None) -> Figure:
    from nearer.plotting import plot_map

    names = object_names(estimator)
    classes = None if labels is None else _read_labels(labels, names)
    return plot_map(drawn_map(estimator, dim), names, classes, title=title)


def _drawn_course(estimator: Model, what: What, title: str | None) -> Figure:
    from nearer import plotting

    draw = plotting.plot_learning_curve if what is What.objective else plotting.plot_step_sizes
    return draw(estimator.result_, title=title)


def _read_labels(path: Path, names: list[str]) -> list[str]:
    """Return one label per object, in the model's order, from a csv with a header and two columns."""
    import csv

    from nearer.comparisons.files.opening import reading

    with reading(path), path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.reader(stream))[1:]
    found: dict[str, str] = {}
    for number, row in enumerate(rows, start=2):
        if len(row) != 2:
            raise InputError(f"{path}, row {number}: give two columns, object and label, not {len(row)}")
        if row[0] not in names:
            raise InputError(f"{path}, row {number}: the model has no object {row[0]!r}")
        found[row[0]] = row[1]
    for name in names:
        if name not in found:
            raise InputError(f"{path}: the object {name!r} has no label: give one label per object")
    return [found[name] for name in names]
