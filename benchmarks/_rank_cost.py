"""What an iteration of two towers sends and takes in several processes, started by `torchrun`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from benchmarks._store import FOLDER
from nearer._utils.group import own_rank, processes
from nearer.losses import LogisticLoss
from nearer.objectives.towers import TowerObjective
from nearer.solvers import OnlineGramians
from nearer.towers.assembly import Architecture, Penalty, TowerTerms, objective_and_start
from nearer.towers.spreading import Side

#: where Linux counts what processes on one machine send to each other
_TRAFFIC = Path("/proc/net/dev")


def in_children(settings: dict[str, Any]) -> dict[str, Any]:
    """Return what `measured` finds in new processes."""
    command = [sys.executable, "-m", "benchmarks._rank_cost", json.dumps(settings)]
    if settings.get("launched", settings["processes"] > 1):
        launcher = [
            "-m",
            "torch.distributed.run",
            "--standalone",
            f"--nproc-per-node={settings['processes']}",
        ]
        command[1:2] = [*launcher, "-m"]
    done = subprocess.run(
        command,
        cwd=FOLDER.parent,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "killed"}
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


def measured(settings: dict[str, Any]) -> dict[str, Any]:
    """Return, per kind of iteration, the bytes that a process sends and the CPU seconds of the busiest process."""
    torch.set_num_threads(1)
    objective, x = problem(settings)
    group, device = objective.group, objective.device
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    found: dict[str, Any] = {"objective": objective.value(x)}
    for kind, call in calls(objective, x).items():
        call()  # the first warms up
        group.total(0.0)
        wait()
        on_wire, sent, began, since = _on_wire(), group.sent, time.process_time(), time.perf_counter()
        for _ in range(settings["turns"]):
            call()
        group.total(0.0)
        wait()
        turns = settings["turns"]
        found[kind] = {
            "bytes": (group.sent - sent) / turns,
            "wire": (_on_wire() - on_wire) / turns / max(group.size, 1),
            "seconds": group.largest((time.process_time() - began) / turns),
            "elapsed": group.largest((time.perf_counter() - since) / turns),
        }
    return found


def problem(settings: dict[str, Any]) -> tuple[TowerObjective, Tensor]:
    """Return this process's part of towers of ids, with equally many pairs for each left entity."""
    n_left, n_right, per_row = settings["left"], settings["right"], settings["pairs_per_row"]
    rng = np.random.default_rng(0)
    width = n_right // per_row  # one pair in each stratum of columns: sorted and distinct
    columns = rng.integers(width, size=(n_left, per_row)) + width * np.arange(per_row)
    starts = np.arange(n_left + 1) * per_row
    pairs = sparse.csr_matrix((np.ones(columns.size), columns.ravel(), starts), shape=(n_left, n_right))
    hidden, k = settings["hidden"], settings["n_components"]
    architecture = Architecture(k, (hidden,) if hidden else (), not hidden)
    terms = TowerTerms(
        *(LogisticLoss(), 0.06, -1.0, Penalty(1.0, 0.5), settings["chunk_rows"], 0.0, torch.float32),
        settings.get("device", "cpu"),
    )
    sides = Side(n_left, ("ids",)), Side(n_right, ("ids",))
    objective, x = objective_and_start(architecture, pairs, sides, terms, rng, processes())
    return objective, objective.start(x)


def calls(objective: TowerObjective, x: Tensor) -> dict[str, Callable[[], object]]:
    """Return what an iteration of a solver calls, by its name."""

    def fresh() -> Tensor:
        x.add_(0.0)  # else the objective would know these parameters
        return x

    product, direction = objective.curvature(x.clone()), torch.randn_like(x)
    size = max(objective.n_terms // 100, 1)
    rng = np.random.default_rng(0)

    def step() -> Tensor:
        first, second = (
            torch.from_numpy(rng.integers(objective.n_terms, size=size)).to(x.device) for _ in range(2)
        )
        return objective.pair_gradient(x, first, objective.gramians_of(x, second))[1]

    assert OnlineGramians().share == 0.01
    return {
        "value": lambda: objective.value(fresh()),
        "gradient": lambda: objective.value_and_gradient(fresh()),
        "product": lambda: product(direction),
        "sogram": step,
    }


def _on_wire() -> int:
    """Return the bytes that all processes of this machine have sent to each other; 0 if Linux does not count them."""
    if not _TRAFFIC.exists():
        return 0
    line = next(line for line in _TRAFFIC.read_text().splitlines() if line.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[8])


if __name__ == "__main__":
    result = measured(json.loads(sys.argv[1]))
    if own_rank() == 0:
        print(json.dumps(result))
