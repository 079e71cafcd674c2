"""How far our compiled loops are from a plain C++ loop.

Nanoseconds a triplet of the full gradient with its value, of a stochastic gradient step and of an SVRG step
(batches of 1, the dense term applied lazily), with the STE loss on one thread, against a plain C++ loop
whose dimension is known at compile time, built with `g++ -O3 -march=native -ffast-math`. Both walk the same
triplets, in turns; shown are medians, and ours divided by C++ turn by turn.
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks._figures import MARKERS, PALETTE, grid, log_scale, tidy_chart
from benchmarks._runner import Job, Skip
from benchmarks._store import FOLDER, SCRATCH, Cell
from benchmarks._tables import Table, checks, digits
from benchmarks._timing import interleaved, per_comparison, random_comparisons
from nearer._utils.files import replacing
from nearer.losses import STE
from nearer.objectives import PointObjective

SETTINGS: dict[str, Any] = {
    "n_comparisons": 1_000_000,
    "n_objects": [100, 10_000, 1_000_000],
    "n_components": [2, 10, 50],
    "dtypes": ["float64", "float32"],
    "turns": 15,
    "max_seconds": 20,
    "step": 1e-7,  # the points stay where they are
    "seeds": 1,
}
QUICK = {"n_comparisons": 100_000, "n_objects": [100, 10_000], "turns": 5}

FLAGS = ("-O3", "-march=native", "-ffast-math", "-shared", "-fPIC")
LOOPS = {"full": "full gradient", "sgd": "SGD step", "svrg": "SVRG step"}
#: what our time divided by that of C++ should be at most
LIMITS = {"full": 1.6, "sgd": 2.0, "svrg": 2.0}


@cache
def library() -> ctypes.CDLL:
    """The C++ loops, compiled once for each version of their source."""
    compiler = shutil.which("g++")
    if compiler is None:
        raise Skip("there is no g++ to compile the C++ loop with")
    source = FOLDER / "kernel_limit.cpp"
    target = SCRATCH / f"kernel_limit-{hashlib.sha256(source.read_bytes()).hexdigest()[:10]}.so"
    if not target.exists():
        SCRATCH.mkdir(exist_ok=True)
        with replacing(target) as temporary:
            subprocess.run([compiler, *FLAGS, "-o", str(temporary), str(source)], check=True)
    return ctypes.CDLL(str(target))


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a dimension, a number of objects and a precision."""
    return [
        {"p": p, "n": n, "dtype": dtype}
        for dtype in settings["dtypes"]
        for p in settings["n_components"]
        for n in settings["n_objects"]
    ]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile our loops and the C++ ones."""
    for dtype in settings["dtypes"]:
        problem = _Problem({"p": 2, "n": 10, "dtype": dtype}, {**settings, "n_comparisons": 100})
        for loop in LOOPS:
            problem.ours(loop)()
    if shutil.which("g++"):
        library()


class _Problem:
    """The arrays of one cell, and the calls that both rivals are timed by."""

    def __init__(self, cell: Cell, settings: dict[str, Any]):
        self.cell, self.step = cell, settings["step"]
        rng = np.random.default_rng(0)
        shape = cell["n"], cell["p"]
        comparisons = random_comparisons(cell["n"], settings["n_comparisons"], seed=0)
        self.q = len(comparisons)
        self.objective = PointObjective(comparisons, STE(), cell["p"], dtype=cell["dtype"])
        self.snapshot = (rng.standard_normal(shape) / np.sqrt(2 * cell["p"])).astype(cell["dtype"])
        self.points = self.snapshot.copy()
        self.walk = self.objective.walk(rng, slopes=True)
        _, self.mean = self.objective.snapshot_gradient(self.snapshot, self.walk)
        self.steps = np.full(self.q, self.step)

    def ours(self, loop: str) -> Callable[[], object]:
        """A call of our loop over all comparisons."""
        f, x = self.objective, self.points
        return {
            "full": lambda: f.value_and_gradient(x),
            "sgd": lambda: f.sgd_epoch(x, self.walk, self.steps, 1),
            "svrg": lambda: f.svrg_epoch(x, self.snapshot, self.mean, self.walk, self.step, 1, self.q),
        }[loop]

    def plain(self, loop: str) -> Callable[[], object]:
        """A call of the C++ loop over the same comparisons in the same order."""
        number = {"float64": ctypes.c_double, "float32": ctypes.c_float}[self.cell["dtype"]](self.step)
        triplets, x = self.walk.Q, self.points
        gradient, touched = np.empty_like(x), np.empty(len(x), np.int64)
        slopes = np.ascontiguousarray(self.walk.C[:, 0])  # for STE the other one is its negative
        return {
            "full": self._call("full_gradient", triplets, self.q, x, len(x), gradient),
            "sgd": self._call("sgd_pass", triplets, self.q, x, number),
            "svrg": self._call(
                "svrg_pass", triplets, self.q, x, len(x), self.snapshot, self.mean, slopes, touched, number
            ),
        }[loop]

    def _call(self, name: str, *arguments: Any) -> Callable[[], object]:
        function = getattr(library(), f"{name}_{self.cell['p']}_{self.cell['dtype']}")
        function.restype = ctypes.c_double if name == "full_gradient" else None
        passed = [_passed(argument) for argument in arguments]
        return lambda: (function(*passed), arguments)[0]  # keeps the arrays alive


def _passed(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    return ctypes.c_int64(argument) if isinstance(argument, int) else argument


def agreement(problem: _Problem) -> float:
    """Relative difference between our full gradient and the C++ one: the same thing is being timed."""
    value, gradient = problem.objective.value_and_gradient(problem.snapshot)
    plain = np.empty_like(gradient)
    call = problem._call("full_gradient", problem.walk.Q, problem.q, problem.snapshot, len(plain), plain)
    return max(abs(call() - value) / value, float(abs(plain - gradient).max() / abs(gradient).max()))


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """Our loops and the C++ ones in turns."""
    library()
    problem = _Problem(cell, job.settings)
    for loop in LOOPS:
        if loop in job.done:
            continue
        rivals = {"ours": problem.ours(loop), "C++": problem.plain(loop)}
        seconds = interleaved(rivals, job.settings["turns"], job.settings["max_seconds"])
        ratios = np.divide(seconds["ours"], seconds["C++"])
        found: dict[str, Any] = {name: per_comparison(taken, problem.q) for name, taken in seconds.items()}
        found["ratio"] = round(float(np.median(ratios)), 3)
        if loop == "full":
            found["difference"] = agreement(problem)
        yield loop, found


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """The checks, and a table of every loop."""
    return [checks(_checks(rows)), *(_table(rows, loop) for loop in LOOPS)]


def _checks(rows: list[dict[str, Any]]) -> Iterator[tuple[str, str, str, bool | None]]:
    """Full gradients in few dimensions, and stochastic steps in both precisions, where the caches hold the points."""
    for loop, title in LOOPS.items():
        for row in rows:
            cell, ratio = row["cell"], row["results"][loop]["ratio"]
            if cell["n"] > 10_000 or (loop == "full" and (cell["dtype"] != "float64" or cell["p"] > 10)):
                continue
            what = f"{title}, p = {cell['p']}, n = {cell['n']:,}, {cell['dtype']}: ours / C++"
            yield what, f"at most {LIMITS[loop]}", digits(ratio), ratio <= LIMITS[loop]


def _table(rows: list[dict[str, Any]], loop: str) -> Table:
    columns = ["p, n, precision", "ours, ns (quartiles)", "C++, ns (quartiles)", "ours / C++"]
    table = Table(f"{LOOPS[loop]}: nanoseconds a triplet", columns)
    for row in rows:
        cell, result = row["cell"], row["results"][loop]
        texts = [
            f"{digits(result[name]['ns'])} ({digits(result[name]['low'])}-{digits(result[name]['high'])})"
            for name in ("ours", "C++")
        ]
        table.add(f"{cell['p']}, {cell['n']:,}, {cell['dtype']}", *texts, f"{result['ratio']:.2f}")
    return table


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """Nanoseconds a triplet, ours beside C++: a row of panels a loop, a panel a precision."""
    figure, axes = grid(
        len(LOOPS) * len(settings["dtypes"]), columns=len(settings["dtypes"]), size=(5.2, 2.6)
    )
    panels = [(loop, dtype) for loop in LOOPS for dtype in settings["dtypes"]]
    for ax, (loop, dtype) in zip(axes, panels, strict=True):
        shown = [row for row in rows if row["cell"]["dtype"] == dtype]
        places = np.arange(len(shown))
        for shift, name in enumerate(("ours", "C++")):
            heights = [row["results"][loop][name]["ns"] for row in shown]
            ax.plot(places, heights, MARKERS[shift], label=name, color=PALETTE[shift], markersize=7)
        labels = [f"p={row['cell']['p']}\nn={row['cell']['n']:.0e}".replace("e+0", "e") for row in shown]
        ax.set_xticks(places, labels)
        log_scale(ax, "y")
        tidy_chart(ax, "", "ns a triplet", f"{LOOPS[loop]}, {dtype}")
        ax.tick_params(axis="x", labelsize=7)
    axes[0].legend(fontsize=8, frameon=False)
    return {"loops": figure}
