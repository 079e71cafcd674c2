"""`nearer demo`: draw the map of Europe from answers to "which city is nearer?"."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer._utils.text import counted
from nearer.cli._options import AsJson, Force, Seed
from nearer.cli._output import check_outputs, check_page, output_file, percent, show, write_all

if TYPE_CHECKING:
    import numpy as np

N_TRAIN, N_TEST, NOISE = 2000, 1000, 0.05


def demo(
    out: Annotated[
        Path | None, typer.Option("--out", show_default="nearer-demo.html", help="The report to write.")
    ] = None,
    force: Force = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Draw the map of Europe from 2,000 noisy answers, next to metric MDS and the true map."""
    from nearer._fitting import effort
    from nearer.cli.fit import fit_with_bar
    from nearer.datasets import cities, triplets_from_distances
    from nearer.metrics import procrustes_distance, triplet_error
    from nearer.ordinal import OrdinalEmbedding
    from nearer.report import write_report

    out = output_file(out, "nearer-demo.html", force=force)
    check_outputs([out])
    check_page(out)
    europe = cities()
    km = europe.great_circle_km()
    answers = triplets_from_distances(
        km, N_TRAIN + N_TEST, noise=NOISE, names=europe.names, random_state=seed
    )
    train, test = answers.split(test_size=N_TEST, random_state=seed)
    # a fixed strength needs no trials, so that the report shows the whole fit
    estimator = OrdinalEmbedding(2, l2=0.05, random_state=seed)
    fit_with_bar(estimator, train, "Europe")
    if estimator.result_.stop_reason == "interrupted":
        raise KeyboardInterrupt
    maps = {
        "The true map": europe.map_xy(),
        f"{N_TRAIN:,} noisy comparisons": estimator.embedding_,
        "Metric MDS of all distances": classical_scaling(km, 2),
    }
    distances = [procrustes_distance(points, europe.map_xy()) for points in maps.values()]
    figures = {"Three maps": _side_by_side(maps, europe.names)}
    title = "Europe from comparisons"
    write_all(
        {
            out: lambda path: write_report(
                path, estimator, train=train, test=test, title=title, figures=figures
            )
        }
    )
    facts: dict[str, Any] = {
        "report": out.resolve(),
        "n_train": len(train),
        "n_test": len(test),
        "noise": NOISE,
        "test_accuracy": estimator.score(test),
        "test_accuracy_true_map": 1 - triplet_error(europe.map_xy(), test),
        "seconds": estimator.result_.seconds,
        "compile_seconds": estimator.result_.details.get("compile_seconds", 0.0),
        "procrustes_distance": distances[1],
        "procrustes_distance_mds": distances[2],
        "seed": seed,
    }
    show(facts, _lines(facts, len(km), effort(estimator.result_)), as_json=as_json)


def _lines(facts: dict[str, Any], n_cities: int, time: str) -> list[tuple[str, str]]:
    wrong = f"{facts['noise']:.0%}"
    ours, true = percent(facts["test_accuracy"]), percent(facts["test_accuracy_true_map"])
    distance, mds = facts["procrustes_distance"], facts["procrustes_distance_mds"]
    return [
        ("answers", f"{facts['n_train']:,} about {n_cities} cities, {wrong} of all answers are wrong"),
        ("fit", time),
        (
            "held-out accuracy",
            f"{ours} of {counted(facts['n_test'], 'further answer')} (the true map: {true})",
        ),
        ("off the true map", f"{distance:.4f} of 1 (metric MDS, which knows every distance: {mds:.4f})"),
        ("report", f"{facts['report']}"),
    ]


def _side_by_side(maps: dict[str, np.ndarray], names: tuple[str, ...]) -> Any:
    from nearer.plotting import plot_comparison_of_maps

    return plot_comparison_of_maps(maps, names, reference="The true map")


def classical_scaling(distances: np.ndarray, n_components: int) -> np.ndarray:
    """Return Torgerson's metric multidimensional scaling: leading eigenvectors of the centred Gram matrix.

    >>> import numpy as np
    >>> points = classical_scaling(np.array([[0.0, 3.0], [3.0, 0.0]]), 1)
    >>> float(abs(points[0, 0] - points[1, 0]).round(6))
    3.0
    """
    import numpy as np

    centring = np.eye(len(distances)) - 1 / len(distances)
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    return vectors[:, ::-1][:, :n_components] * np.sqrt(np.maximum(values[::-1][:n_components], 0))
