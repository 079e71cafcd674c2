"""Draw the pictures of README and documentation from real fits: `python docs/figures.py [name ...]`.

Every picture has fixed seeds and lands in docs/img/; the pages of benchmarks have their own pictures.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

import nearer
from nearer.cli.demo import N_TEST, N_TRAIN, NOISE, classical_scaling

FOLDER = Path(__file__).parent / "img"
SEED = 0
STEP_SEEDS, STEP_RULES = 50, ("svrg-sbb", "svrg-sbb0", "svrg")
INK, COLOURS = "#1f2328", ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def europe() -> Figure:
    """What `nearer demo` draws: the true map, ours, and metric scaling of all distances."""
    cities = nearer.datasets.cities()
    km = cities.great_circle_km()
    answers = nearer.datasets.triplets_from_distances(
        km, N_TRAIN + N_TEST, noise=NOISE, names=cities.names, random_state=SEED
    )
    train, _ = answers.split(test_size=N_TEST, random_state=SEED)
    model = nearer.OrdinalEmbedding(2, loss="soe", l2=0.0, random_state=SEED).fit(train)
    maps = {
        "The true map": cities.map_xy(),
        f"{N_TRAIN:,} noisy comparisons": model.embedding_,
        "Metric MDS of all distances": classical_scaling(km, 2),
    }
    return nearer.plotting.plot_comparison_of_maps(maps, cities.names, reference="The true map")


def losses() -> Figure:
    """The losses against near - far, at a small and at a large mean of the two squared distances."""
    figure = Figure(figsize=(8.4, 3.7), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for ax, mean in zip(panels, (2.0, 20.0), strict=True):
        difference = np.linspace(-4, 4, 401)
        near, far = mean + difference / 2, mean - difference / 2
        for name, colour in zip(nearer.losses.LOSSES, COLOURS, strict=True):
            loss = nearer.losses.find(name).resolved(n_components=10)
            ax.plot(difference, loss.value(near, far), color=colour, label=name, linewidth=1.8)
        ax.set_title(f"mean of near and far: {mean:g}", loc="left", fontsize=10, color=INK)
        ax.set_xlabel("near - far (squared distances)", fontsize=9)
        ax.axvline(0, color="#d8dee5", linewidth=1, zorder=0)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_ylim(0, 5)
    panels[0].set_ylabel("loss of one comparison", fontsize=9)
    panels[0].legend(fontsize=8, frameon=False)
    return figure


def step_sizes() -> Figure:
    """Step sizes and objective of three step rules on planted points in ten dimensions, over many seeds."""
    runs = {solver: [step_run(solver, seed) for seed in range(STEP_SEEDS)] for solver in STEP_RULES}
    figure = Figure(figsize=(8.8, 3.9), layout="constrained")
    for ax, what, title in zip(
        figure.subplots(1, 2), ("step", "objective"), ("step of one comparison", "objective"), strict=True
    ):
        for (solver, found), colour in zip(runs.items(), COLOURS, strict=False):
            curves = np.array([one[what] for one in found])
            low, middle, high = np.nanquantile(curves, [0.25, 0.5, 0.75], axis=0)
            epochs = np.arange(len(middle))
            ax.plot(epochs, middle, color=colour, label=solver, linewidth=1.8)
            ax.fill_between(epochs, low, high, color=colour, alpha=0.2, linewidth=0)
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_title(title, loc="left", fontsize=10, color=INK)
        ax.set_xlabel("epochs", fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
    figure.axes[1].legend(fontsize=8, frameon=False)
    return figure


def step_run(solver: str, seed: int) -> dict[str, np.ndarray]:
    """Return the step and the objective after every epoch; one seed has its own points, answers and start."""
    answers, _ = nearer.datasets.planted(100, 10, 10_000, random_state=seed)
    model = nearer.OrdinalEmbedding(
        10, loss="ste", l2=0.0, solver=solver, max_epochs=30, tol=0.0, random_state=seed
    )
    history = model.fit(answers).result_.history
    return {what: np.asarray(history[what], dtype=float) for what in ("step", "objective")}


def dimension() -> Figure:
    """Held-out error of one to five dimensions for answers about points in three."""
    answers, _ = nearer.datasets.planted(40, 3, 4000, noise=0.1, random_state=SEED)
    return nearer.choose_dimension(answers, range(1, 6), random_state=SEED).plot()


def all_pairs() -> Figure:
    """All pairs of two sets with the few observed ones, next to the two Gramians that sum over the others."""
    m, n, k = 24, 36, 5
    rng = np.random.default_rng(SEED)
    seen = rng.random((m, n)) < 0.05
    P, Q = rng.normal(size=(m, k)), rng.normal(size=(n, k))
    figure = Figure(figsize=(8.8, 3.7), layout="constrained")
    pairs, left, right = figure.subplots(1, 3, width_ratios=(n, 7, 7))
    draw_cells(pairs, np.where(seen, 1.0, 0.06))
    pairs.set_title("All m × n pairs, few of them observed", loc="left", fontsize=10, color=INK)
    pairs.set_xlabel("n items", fontsize=9)
    pairs.set_ylabel("m users", fontsize=9)
    for ax, X, title in ((left, P, "P'P"), (right, Q, "Q'Q")):
        gramian = np.abs(X.T @ X)
        draw_cells(ax, 0.15 + 0.7 * gramian / gramian.max(), colour=COLOURS[1])
        ax.set_title(f"{title}, k × k", loc="left", fontsize=10, color=INK)
    left.set_xlabel("from m rows", fontsize=9)
    right.set_xlabel("from n rows", fontsize=9)
    return figure


def draw_cells(ax: Axes, strength: np.ndarray, colour: str = COLOURS[0]) -> None:
    """Draw a matrix as squares; a number between 0 and 1 says how strong the colour of each is."""
    rows, columns = strength.shape
    paint = np.ones((rows, columns, 4))
    paint[..., :3] = to_rgb(colour)
    paint[..., 3] = strength
    ax.imshow(paint)
    ax.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1)
    ax.tick_params(which="both", length=0)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)


FIGURES: dict[str, Callable[[], Figure]] = {
    "europe": europe,
    "losses": losses,
    "step-sizes": step_sizes,
    "dimension": dimension,
    "all-pairs": all_pairs,
}


def main(names: list[str]) -> None:
    """Draw the pictures named, or all of them."""
    for name in names or FIGURES:
        # no date and no version in the file: the same picture gives the same bytes
        FIGURES[name]().savefig(FOLDER / f"{name}.png", dpi=130, metadata={"Software": None})
        print(FOLDER / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
