"""Two towers over the ids of netflix's shape on a graphics card: gradient, Gauss-Newton product, whole fits.

478,251 left and 17,768 right entities with 51,228,351 pairs, as in netflix of the extreme similarity paper. The pairs
are drawn: how often entities occur follows power laws, and right entities form groups that left entities prefer. The
model is the paper's: ids, towers of 256-256-128 with ELU, logistic loss on observed pairs, -1 imputed to all others,
omega and lambda of its Table 3. *Ten times* has ten times the entities of either side and ten times the pairs.

- float32 throughout. With *TF32* the card rounds the factors of products of matrices to 10 bits, and sums in float32;
  products over pairs and Gramians are not rounded.
- *Gathered* bytes are the rows of embeddings that pairs point to, most of which come from the cache of the card. All
  other bytes are the fewest that its memory must read and write. Rates are relative to a copy and to products of
  square matrices in the same precision, measured in the same run.
- *Streamed* pairs stay in main memory and are copied to the card for each product, block by block, while the products
  of the block before are computed.
- Fits begin at the same parameters, one seed. L* is the lowest objective that any of them reached. `eigen-adam` runs
  twice, with a schedule of 1,000 epochs and with one of ten times as many. Newton and SOGram run for 30 s, because Adam
  is far below them by then. The step of Adam falls to a hundredth over its epochs and grows during the first ones.
  Without that growth, and with beta2 = 0.99, trials outside this benchmark ended a fifth above L* with steps of 0.01,
  and at twice L* with 0.03.
- The whole fit of `TwoTower` includes the copy of the pairs to the card, and the embeddings back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks import _scale_report
from benchmarks._runner import Job, Skip
from benchmarks._store import Cell
from benchmarks._tables import Table
from nearer.solvers import Budget, find, minimise

SETTINGS: dict[str, Any] = {
    "left": 478_251,
    "right": 17_768,
    "pairs": 51_228_351,
    "times": [1, 10],
    "hidden": 256,
    "n_components": 128,
    "omega": 2**-8,
    "l2": 1.0,
    "turns": 9,
    "fits": {
        "eigen-adam, 1,000 epochs": {"seconds": 40, "epochs": 1000},
        "eigen-adam, 10,000 epochs": {"seconds": 300, "epochs": 10_000},
        "full-adam": {
            **{"seconds": 40, "step": 0.01, "final_step": 1e-4, "epochs": 1500},
            **{"warm_up": 200, "beta2": 0.95},
        },
        "newton": {"seconds": 30},
        "sogram": {"seconds": 30},
    },
    "points": 150,
    "estimator_epochs": 100,
    "processes": {"left": 80_000, "right": 16_000, "pairs_per_row": 20, "hidden": 64, "n_components": 32},
}
QUICK = {
    "left": 20_000,
    "right": 1_000,
    "pairs": 1_000_000,
    "times": [1, 2],
    "turns": 3,
    "fits": {"full-adam": {"seconds": 2, "epochs": 200}, "newton": {"seconds": 2}},
}
#: processes of each way to share a card
PROCESSES = {"one": 1, "one over NCCL": 1, "two that share the card over gloo": 2}


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a part of the experiment."""
    costs: list[Cell] = [{"part": "costs", "times": times} for times in settings["times"]]
    return [*costs, *({"part": part} for part in ("accuracy", "processes", "estimator", "fits"))]


def warm_up(settings: dict[str, Any]) -> None:
    """Skip without a card; kernels are compiled at their first call, which no time includes."""
    try:
        import torch
    except ImportError:
        raise Skip("torch is not installed") from None
    if not torch.cuda.is_available():
        raise Skip("there is no graphics card")


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """Do one part."""
    parts = {
        "costs": _costs,
        "accuracy": _accuracy,
        "processes": _processes,
        "estimator": _estimator,
        "fits": _fits,
    }
    yield from parts[cell["part"]](cell, job)


def _drawn(settings: dict[str, Any], times: int = 1) -> tuple[Any, int]:
    """Return pairs on the card, and the number of right entities."""
    from benchmarks._scale_problem import drawn_pairs

    n_right = times * settings["right"]
    pairs = drawn_pairs(times * settings["left"], n_right, times * settings["pairs"], seed=0, device="cuda")
    return pairs, n_right


def _costs(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    import torch

    from benchmarks import _card, _scale_costs, _scale_problem
    from nearer._utils.namespaces import rounded_products

    settings, times = job.settings, cell["times"]
    if times == 1:
        yield "card", {**_card.record(), "ceilings": _card.ceilings()}
    pairs, n_right = _drawn(settings, times)
    names = ("float32", "tf32", *(("streamed",) if times == 1 else ()))
    for name in names:
        if name in job.done:
            continue
        torch.cuda.empty_cache()
        f, x = _scale_problem.objective(pairs, n_right, settings, streamed=name == "streamed")
        with rounded_products(name != "float32"):
            found = _scale_costs.measured(
                f, x, settings, in_parts=times == 1 and name != "streamed", precision=name
            )
        yield name, {**found, "planned GB": round(f.memory.needed / 1e9, 2)}  # type: ignore[attr-defined]
        del f, x


def _accuracy(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    import torch

    from benchmarks import _scale_costs, _scale_problem
    from nearer._utils.namespaces import rounded_products

    pairs, n_right = _drawn(job.settings)
    f, x = _scale_problem.objective(pairs, n_right, job.settings, dtype=torch.float64)
    value, gradient = f.value_and_gradient(x)
    exact = value, gradient, f.curvature(x)(gradient)
    del f, x
    for name in ("float32", "tf32"):
        torch.cuda.empty_cache()
        with rounded_products(name == "tf32"):
            here = _scale_problem.objective(pairs, n_right, job.settings)
            yield name, _scale_costs.compared(here, exact)
    of_cpu = tuple(part.cpu() for part in pairs)
    exact = value, gradient.cpu(), exact[2].cpu()
    here = _scale_problem.objective(of_cpu, n_right, job.settings)  # type: ignore[arg-type]
    began = time.perf_counter()
    found = _scale_costs.compared(here, exact)
    yield "float32 on the CPU", {**found, "seconds": round(time.perf_counter() - began, 1)}


def _processes(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    from benchmarks import _rank_cost

    for name, size in PROCESSES.items():
        if name not in job.done:
            settings = {**job.settings["processes"], "chunk_rows": None, "turns": job.settings["turns"]}
            settings |= {"device": "cuda", "processes": size, "launched": name != "one"}
            yield name, _rank_cost.in_children(settings)


def _estimator(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    import torch

    import nearer

    settings = job.settings
    (starts, columns), n_right = _drawn(settings)
    lefts = torch.repeat_interleave(torch.arange(len(starts) - 1, device="cuda"), starts.diff()).cpu().numpy()
    rights, n_left = columns.cpu().numpy(), len(starts) - 1
    del starts, columns
    torch.cuda.empty_cache()
    began = time.perf_counter()
    pairs = nearer.Interactions(lefts, rights, n_left=n_left, n_right=n_right)
    read = time.perf_counter()
    torch.cuda.reset_peak_memory_stats()
    model = nearer.TwoTower(
        settings["n_components"],
        inputs="ids",
        hidden=(settings["hidden"],) * 2,
        linear=False,
        omega=settings["omega"],
        l2=settings["l2"],
        solver="full-adam",
        max_epochs=settings["estimator_epochs"],
        device="cuda",
        dtype="tf32",
        random_state=0,
    ).fit(pairs)
    fitted = time.perf_counter()
    model.recommend(np.arange(10_000), k=10)
    yield (
        "fit",
        {
            "interactions": round(read - began, 2),
            "fit": round(fitted - read, 2),
            "epochs": round(model.result_.seconds, 2),
            "recommend": round(time.perf_counter() - fitted, 2),
            "memory": model.result_.details["memory"],
            "peak GB": round(torch.cuda.max_memory_allocated() / 1e9, 2),
        },
    )


def _fits(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    import torch

    from benchmarks import _scale_problem
    from nearer._utils.namespaces import rounded_products

    settings = job.settings
    pairs, n_right = _drawn(settings)
    for name, given in settings["fits"].items():
        if name in job.done:
            continue
        torch.cuda.empty_cache()
        f, x = _scale_problem.objective(pairs, n_right, settings)
        options = {key: value for key, value in given.items() if key != "seconds"}
        solver = find(name.split(",")[0])
        solver = type(solver)(**options) if options else solver
        with rounded_products(True):
            f.value_and_gradient(x)  # nothing is compiled during the fit
            f.refresh(None)
            yield name, course(solver, f, x, given["seconds"], settings["points"])
        del f, x


def course(solver: Any, f: Any, x: Any, seconds: float, points: int) -> dict[str, Any]:
    """Return the objective of one run against seconds and passes over all pairs."""
    budget = Budget(max_seconds=seconds, max_epochs=10**9, tol=0)
    _, result = minimise(solver, f, x, budget=budget, rng=np.random.default_rng(0))
    history = result.history
    count = len(history["seconds"])
    kept = np.unique(np.geomspace(1, count, points).astype(int) - 1)
    lowest = np.fmin.accumulate(history["objective"])[kept]
    return {
        "seconds": history["seconds"][kept].round(3).tolist(),
        "passes": (history["evaluations"][kept] / f.n_terms).round(1).tolist(),
        "objective": [float(f"{value:.8g}") for value in lowest],
        "epochs": count - 1,
        "stop_reason": result.stop_reason,
    }


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """The checks, costs by part, and fits."""
    return _scale_report.tables(rows, settings)


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """Where the time goes, and the objective against seconds."""
    return _scale_report.figures(rows, settings)
