"""Two towers in two processes, compared with one: bytes per iteration and CPU time per process.

Towers of ids, 20 observed pairs per left entity, float32, logistic loss, one thread per process, gloo on one machine.
*Linear* towers are matrix factorisation; *networks* have one hidden layer between the ids and the embedding. An
iteration is what a solver repeats: an Adam step is one gradient, a step of gradient descent one gradient and some
values, a Newton step one gradient and up to 20 products, and a SOGram step draws a hundredth of the observed pairs.

- Bytes are those that one process sends, without the headers of the network, by the algorithms of rings: 2 (R - 1) / R
  of a tensor that is summed over R processes, and R - 1 times its own rows where rows are gathered or their sums
  are scattered. *On the wire* is what Linux counted on the loopback device, headers and answers included, and
  anything else that used that device at the time.
- Seconds are CPU time of the busiest process, its threads for the network included, the mean of several calls after a
  first one. On an idle machine with a core per process this is how long an iteration takes, if the network is quick.
  Other programs shared the caches of the machine: ratios above 2 are their doing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from matplotlib.figure import Figure

from benchmarks._figures import grid, legend_below, log_scale, looks, tidy_chart
from benchmarks._runner import Job, Skip
from benchmarks._store import Cell
from benchmarks._tables import Table, checks, digits

SETTINGS: dict[str, Any] = {
    "sizes": [[20_000, 4_000], [80_000, 4_000], [80_000, 16_000]],
    "towers": {"linear": 0, "networks": 64},
    "pairs_per_row": 20,
    "n_components": 32,
    "chunk_rows": 16384,
    "turns": 10,
}
QUICK = {"sizes": [[400, 100], [1600, 100]], "turns": 2}

KINDS = {
    "value": "value",
    "gradient": "gradient",
    "product": "Gauss-Newton product",
    "sogram": "step of SOGram",
}
RIVALS = {"one": 1, "two": 2}
#: relative difference of the objective that two processes may have
MOST_APART = 1e-6

Rows = list[dict[str, Any]]


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a kind of towers and the numbers of left and right entities."""
    return [
        {"towers": name, "left": left, "right": right}
        for name in settings["towers"]
        for left, right in settings["sizes"]
    ]


def warm_up(settings: dict[str, Any]) -> None:
    """Skip without torch; each measurement warms up in its own processes."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise Skip("torch is not installed") from None


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """One process, then two."""
    from benchmarks import _rank_cost

    settings = {name: value for name, value in job.settings.items() if name not in ("sizes", "towers")}
    settings |= {**cell, "hidden": job.settings["towers"][cell["towers"]]}
    for name, size in RIVALS.items():
        if name not in job.done:
            yield name, _rank_cost.in_children({**settings, "processes": size})


def apart(row: dict[str, Any]) -> float:
    """Return the relative difference of the objectives of two processes and of one."""
    one, two = (row["results"][name]["objective"] for name in RIVALS)
    return abs(two / one - 1)


def speed_up(row: dict[str, Any], kind: str) -> float:
    """Return the CPU seconds of one process over those of the busiest of two."""
    one, two = (row["results"][name][kind]["seconds"] for name in RIVALS)
    return one / two


def sent(row: dict[str, Any], kind: str) -> float:
    """Return the bytes that each of two processes sends per iteration."""
    return row["results"]["two"][kind]["bytes"]


def expected(row: dict[str, Any], settings: dict[str, Any], kind: str) -> float:
    """Return the bytes that each of two processes sends, counted by hand: see the guide.

    >>> row = {"cell": {"towers": "linear", "left": 9, "right": 10}}
    >>> expected(row, {"n_components": 2, "towers": {"linear": 0}}, "value")
    160.0
    """
    k, n = settings["n_components"], row["cell"]["right"]
    hidden = settings["towers"][row["cell"]["towers"]]
    # two Gramians and two products with the imputed scores, in double precision; embeddings, and a number
    value = 8 * (2 * k * k + 2 * k) + 4 * k * n / 2 + 8
    if kind == "value":
        return value
    # the constant of each tower leads to the first layer; then the biases and weights of a hidden layer
    common = 2 * (hidden + hidden + (hidden + 1) * k if hidden else k)
    scattered = 4 * k * n / 2 + 4 * common
    return value + scattered if kind == "gradient" else 4 * 2 * k * k + 4 * k * n / 2 + scattered


def summarise(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """The checks, bytes and seconds."""
    return [checks(_checks(rows, settings)), _bytes(rows), _seconds(rows)]


def _checks(rows: Rows, settings: dict[str, Any]) -> Iterator[tuple[str, str, str, bool | None]]:
    rows = complete(rows)
    worst = max(apart(row) for row in rows)
    yield (
        "objective of two processes: relative difference from one",
        f"at most {MOST_APART:g}",
        digits(worst),
        (worst <= MOST_APART),
    )
    for kind in ("gradient", "product"):
        most = growth(rows, kind)
        what = f"{KINDS[kind]}: bytes with four times the left entities / bytes before"
        yield what, "1", digits(most), most < 1.001


def complete(rows: Rows) -> Rows:
    """Return the rows of cells that were measured in one and in two processes."""
    return [row for row in rows if all("objective" in row["results"].get(name, {}) for name in RIVALS)]


def growth(rows: Rows, kind: str) -> float:
    """Return the largest ratio of the bytes of cells that differ in left entities alone."""
    ratios = [
        sent(one, kind) / sent(other, kind)
        for one in complete(rows)
        for other in complete(rows)
        if (one["cell"]["towers"], one["cell"]["right"]) == (other["cell"]["towers"], other["cell"]["right"])
    ]
    return max(ratios)


def _name(row: dict[str, Any]) -> str:
    cell = row["cell"]
    return f"{cell['towers']}, {cell['left']:,} left, {cell['right']:,} right"


def _bytes(rows: Rows) -> Table:
    note = "kB that each of two processes sends; in brackets what Linux counted on the wire."
    table = Table("Bytes per iteration", ["", *KINDS.values()], note=note)
    for row in complete(rows):
        found = row["results"]["two"]
        table.add(
            _name(row),
            *(f"{found[kind]['bytes'] / 1e3:,.1f} ({found[kind]['wire'] / 1e3:,.1f})" for kind in KINDS),
        )
    return table


def _seconds(rows: Rows) -> Table:
    note = "ms of CPU of the busiest process: one process / two processes (ratio)."
    table = Table("CPU time per iteration", ["", *KINDS.values()], note=note)
    for row in complete(rows):
        one, two = (row["results"][name] for name in RIVALS)
        table.add(
            _name(row),
            *(
                f"{1e3 * one[kind]['seconds']:,.1f} / {1e3 * two[kind]['seconds']:,.1f} ({speed_up(row, kind):.2f})"
                for kind in KINDS
            ),
        )
    return table


def draw(rows: Rows, settings: dict[str, Any]) -> dict[str, Figure]:
    """Bytes against right entities, and seconds of one process against those of two."""
    figure, (left, right) = grid(2, columns=2, size=(4.6, 3.6))
    rows = complete(rows)
    for kind, look in looks(list(KINDS)).items():
        style: dict[str, Any] = {"label": KINDS[kind], **look, "linestyle": "none", "markersize": 6}
        left.plot([row["cell"]["right"] for row in rows], [sent(row, kind) / 1e3 for row in rows], **style)
        right.plot(
            *([1e3 * row["results"][name][kind]["seconds"] for row in rows] for name in RIVALS), **style
        )
    for ax in (left, right):
        log_scale(ax, "x", "y")
    tidy_chart(left, "right entities", "kB that a process sends", "")
    tidy_chart(right, "ms in one process", "ms in the busiest of two", "")
    lowest, highest = right.get_xlim()
    right.plot([lowest, highest], [lowest / 2, highest / 2], color="0.7", linewidth=1, zorder=0)
    legend_below(figure, left, columns=4)
    return {"ranks": figure}
