"""What a gradient and a Gauss-Newton product over all pairs cost: seconds and memory, each in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks._paper_towers import network
from benchmarks._store import FOLDER
from nearer.losses import LogisticLoss
from nearer.objectives.observed import ObservedPairs
from nearer.objectives.similarity_sums import Weights
from nearer.objectives.tower import Tower
from nearer.objectives.tower_inputs import Ids
from nearer.objectives.towers import TowerObjective

#: parameter-sized vectors that live during each: parameters and gradient; parameters, direction and product
VECTORS = {"gradient": 2, "product": 3, "naive": 2, "gather": 1}
_OMEGA = 1 / 16
#: pairs whose rows `gather` copies at a time, into a buffer that fits the caches
_BUFFER_PAIRS = 2048


def in_a_child(settings: dict[str, Any]) -> dict[str, Any]:
    """Return what `measured` finds in a new process, so that peaks of memory do not mix."""
    command = [sys.executable, "-m", "benchmarks._tower_cost", json.dumps(settings)]
    done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "killed"}
    return json.loads(done.stdout)


def measured(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the seconds of one core per call, the peak of memory beyond imports, and the bytes of its parts."""
    torch.set_num_threads(1)
    kind = {"gradient": _gradient, "product": _product, "naive": _naive, "gather": _gather}[settings["kind"]]
    kind(*problem({**settings, "entities": 200}))()  # torch loads libraries and rules at first use
    before = _resident()
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    f, x = problem(settings)
    call = kind(f, x)
    seconds = []
    for _ in range(settings["turns"] + 1):  # the first warms up
        began = time.process_time()
        call()
        seconds.append(time.process_time() - began)
    peak = _peak() - before
    return {"seconds": sorted(seconds[1:])[settings["turns"] // 2], "peak": peak, "parts": parts(f, settings)}


def parts(f: TowerObjective, settings: dict[str, Any]) -> dict[str, int]:
    """Return the bytes of the pairs (two whole numbers each), of the embeddings and of the vectors."""
    m, n, pairs = f.sizes
    return {
        "pairs": 2 * 8 * pairs,
        "embeddings": 4 * (m + n) * settings["n_components"],
        "vectors": 4 * f.n_parameters * VECTORS[settings["kind"]],
    }


def problem(settings: dict[str, Any]) -> tuple[TowerObjective, Tensor]:
    """Return towers over one-hot ids, as many left as right entities, and equally many pairs for each."""
    size, per_row = settings["entities"] // 2, settings["pairs_per_entity"]
    torch.manual_seed(0)
    width = size // per_row  # one pair in each stratum of columns: sorted and distinct
    columns = torch.randint(width, (size, per_row)) + width * torch.arange(per_row)
    pairs = ObservedPairs(torch.arange(size + 1) * per_row, columns.ravel(), size)
    hidden, outputs = settings["hidden"], settings["n_components"]
    towers = [Tower([Ids(size)], hidden, network(hidden, outputs, s / outputs**0.5)) for s in (-1, 1)]
    weights = Weights.constant(_OMEGA, size, size, -1.0, torch.zeros(1))
    f = TowerObjective(
        pairs, towers[0], towers[1], LogisticLoss(), weights, l2=1.0, chunk_rows=settings["chunk_rows"]
    )
    return f, 0.1 * torch.randn(f.n_parameters)


def _gradient(f: TowerObjective, x: Tensor) -> Callable[[], object]:
    def call() -> Tensor:
        x.add_(0.0)  # else the objective would know these parameters
        return f.value_and_gradient(x)[1]

    return call


def _product(f: TowerObjective, x: Tensor) -> Callable[[], object]:
    product, direction = f.curvature(x), torch.randn_like(x)
    return lambda: product(direction)


def _naive(f: TowerObjective, x: Tensor) -> Callable[[], object]:
    return lambda: naive_gradient(f, x)


def _gather(f: TowerObjective, x: Tensor) -> Callable[[], object]:
    """Copy, for each pair, the row of its right entity, then that of its left one in the order of the right entities.

    These are the rows that a gradient reads, in the order in which it reads them, and no arithmetic.
    """
    pairs = f.sums.pairs
    tables = [
        (embeddings, pattern.columns.split(_BUFFER_PAIRS))
        for embeddings, pattern in zip(f.embeddings(x), (pairs.by_right, pairs.by_left), strict=True)
    ]
    buffer = x.new_empty(_BUFFER_PAIRS, f.n_components)

    def call() -> None:
        for embeddings, parts in tables:
            for part in parts:
                torch.index_select(embeddings, 0, part, out=buffer[: len(part)])

    return call


def naive_gradient(f: TowerObjective, x: Tensor) -> tuple[float, Tensor]:
    """Return value and gradient by the double sum over all pairs, whose scores are all in memory."""
    theta = f.split(x)
    passes = [
        tower.forward(part, slice(0, tower.n_rows))
        for tower, part in zip((f.left, f.right), theta, strict=True)
    ]
    P, Q = (passed.output.detach().requires_grad_() for passed in passes)
    scores, pairs = P @ Q.T, f.sums.pairs
    unobserved = torch.ones_like(scores).index_put((pairs.rows, pairs.columns), scores.new_zeros(()))
    told = f.sums.loss.value(scores[pairs.rows, pairs.columns]).sum()
    total = told + f.sums.weights.omega / 2 * (unobserved * (scores + 1) ** 2).sum()
    gradient = f._penalty_gradient(x)
    f._pull(gradient, x, tuple(passes), torch.autograd.grad(total, (P, Q)))  # type: ignore[arg-type]
    return float(total.detach()) + f._penalty(x), gradient


def _resident() -> int:
    """Return the bytes that this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _peak() -> int:
    """Return the most bytes that this process held since the peak was forgotten."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


if __name__ == "__main__":
    print(json.dumps(measured(json.loads(sys.argv[1]))))
