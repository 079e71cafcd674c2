"""The run under every fit: what it counts, keeps, shows, decides and hands on."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nearer.objectives.parameters import OneArray, Tensors
from nearer.solvers import Budget, Run, Stop, minimise
from nearer.solvers.base import Solver

ROOT = Path(__file__).parents[2]


class Quadratic:
    """|x - 1|² plus a constant, over one array."""

    n_terms = 4
    provides = frozenset({"value_and_gradient", "dtype"})
    parameters = OneArray()
    dtype = np.dtype(float)

    def __init__(self, constant=0.0):
        self.constant = constant

    def start(self, x):
        return np.array(x, dtype=float)

    def value(self, x):
        return float(np.sum((x - 1) ** 2)) + self.constant

    def value_and_gradient(self, x):
        return self.value(x), 2 * (x - 1)


class Halving(Solver):
    """Halves the distance to the minimum at each epoch, and reports a column of its own."""

    name = "halving"
    requires = frozenset({"value_and_gradient"})

    def solve(self, objective, x, rng, run):
        run.begin(x, objective.value(x), 0.5)
        while True:
            _, gradient = objective.value_and_gradient(x)
            run.count(objective.n_terms)
            x = x - 0.25 * gradient
            run.record(x, objective.value(x), 0.5, length=float(np.linalg.norm(gradient)))


def test_a_negative_objective_does_not_stop_a_run():
    _, result = minimise(Halving(), Quadratic(-100.0), np.zeros(2), budget=Budget(max_epochs=5, tol=0))
    assert result.stop_reason == "epochs"
    assert result.n_epochs == 5


def test_an_objective_that_reaches_zero_is_solved():
    _, result = minimise(Halving(), Quadratic(), np.zeros(2), budget=Budget(max_epochs=500, tol=0))
    assert result.stop_reason == "tolerance"
    assert result.n_epochs < 50


def test_columns_of_the_solver_are_in_the_history_and_in_progress():
    seen = []
    callback = lambda progress: seen.append(getattr(progress, "length", None))  # noqa: E731
    _, result = minimise(
        Halving(), Quadratic(), np.zeros(2), budget=Budget(max_epochs=3, tol=0), callback=callback
    )
    assert np.isnan(result.history["length"][0])
    assert (
        result.history["length"][1:].tolist()
        == seen[1:]
        == pytest.approx([math.sqrt(8) / 2**k for k in range(3)])
    )


def test_the_best_is_by_score_if_there_is_one():
    wanted = 0.7
    x, result = minimise(
        Halving(),
        Quadratic(),
        np.zeros(2),
        budget=Budget(max_epochs=6, tol=0),
        score=lambda x: -abs(x[0] - wanted),
    )
    assert x[0] == 0.75
    assert result.history["score"].max() == pytest.approx(-0.05)


def test_parameters_are_worked_out_only_when_asked_for():
    run, asked = Run(Budget(tol=0), callback=lambda progress: progress.epoch >= 5), []

    def parameters():
        asked.append(True)
        return np.zeros(2)

    for _ in range(3):
        run.look(parameters, 1.0)
    assert not asked
    curious = Run(callback=lambda progress: progress.parameters is None)
    curious.look(parameters, 1.0)
    assert len(asked) == 1


def test_looks_stop_on_seconds_evaluations_and_callbacks():
    run = Run(Budget(max_evaluations=10))
    run.count(4)
    run.look(np.zeros(1), 1.0)
    assert run.room(100) == 6
    run.count(6)
    with pytest.raises(Stop):
        run.look(np.zeros(1), 1.0)
    assert run.stop_reason == "evaluations"
    run = Run(callback=lambda progress: True)
    with pytest.raises(Stop):
        run.look(np.zeros(1), 1.0)
    assert run.stop_reason == "callback"


def test_parts_share_evaluations_and_the_budget():
    run = Run(Budget(max_evaluations=40, tol=0))
    run.enter("choosing", 3)
    seen = []
    run._callback = lambda progress: seen.append((progress.stage, progress.part, progress.parts))
    for _ in range(2):
        _, result = minimise(Halving(), Quadratic(), np.zeros(2), budget=Budget(max_epochs=4, tol=0), run=run)
        assert result.n_evaluations == 16
    assert run.evaluations == 32
    _, result = minimise(Halving(), Quadratic(), np.zeros(2), run=run)
    assert result.stop_reason == "evaluations"
    assert run.evaluations == 40
    assert set(seen) == {("choosing", part, 3) for part in (1, 2, 3)}


class Tower:
    """A sum of squares over two tensors."""

    n_terms = 1
    provides = frozenset({"gradients"})

    def __init__(self):
        self.parameters = Tensors()

    def start(self, x):
        return self.parameters.copy(x)

    def value(self, x):
        return float(sum(((tensor - 1) ** 2).sum() for tensor in x.values()))

    def gradients(self, x):
        return {name: 2 * (tensor - 1) for name, tensor in x.items()}


class TensorDescent(Solver):
    """In-place gradient descent on several tensors, which remembers how often it stepped."""

    name = "tensors"
    requires = frozenset({"gradients"})

    def solve(self, objective, x, rng, run):
        steps = int(run.memory.numbers.get("steps", 0))
        if run.memory.arrays:
            x = objective.parameters.restored(run.memory.arrays)
        run.begin(x, objective.value(x), 0.1)
        while True:
            for name, gradient in objective.gradients(x).items():
                x[name] -= 0.1 * gradient
            steps += 1
            run.count(1)
            run.memory.numbers["steps"] = steps
            run.memory.arrays = objective.parameters.arrays(x)
            run.record(x, objective.value(x), 0.1, steps=steps)


def test_several_torch_tensors_run_are_interrupted_saved_and_resumed():
    torch = pytest.importorskip("torch")
    start = {
        "left": torch.zeros(3, 2, dtype=torch.float64),
        "right": torch.full((4,), 5.0, dtype=torch.float64),
    }
    together, _, _ = _tower_fit(start, 20)

    def interrupt(progress):
        assert set(progress.parameters) == {"left", "right"}
        if progress.epoch == 8:
            raise KeyboardInterrupt

    kept, result, state = _tower_fit(start, 20, callback=interrupt)
    assert result.stop_reason == "interrupted"
    assert not torch.equal(kept["left"], together["left"])
    resumed, result, _ = _tower_fit(start, 12, state=state.copy())
    assert result.n_epochs == 20
    assert result.history["steps"][-1] == 20
    for name in start:
        assert torch.equal(resumed[name], together[name])
    assert torch.equal(start["left"], torch.zeros(3, 2, dtype=torch.float64))


def _tower_fit(start, epochs, callback=None, state=None):
    run = Run(Budget(max_epochs=epochs, tol=0), callback)
    x, result = minimise(TensorDescent(), Tower(), start, budget=run.budget, run=run, state=state)
    return x, result, result.state


class Wide(Quadratic):
    """Less for every column more."""

    def value(self, x):
        return 10.0 / x.shape[1]


class Growing(Solver):
    """Adds a column to the factor at each epoch."""

    name = "growing"
    requires = frozenset({"value_and_gradient"})

    def solve(self, objective, x, rng, run):
        if run.memory.arrays:
            x = objective.parameters.restored(run.memory.arrays)
        run.begin(x, objective.value(x), 1.0)
        while True:
            x = np.column_stack([x, np.ones(len(x))])
            run.memory.arrays = objective.parameters.arrays(x)
            run.record(x, objective.value(x), 1.0, rank=x.shape[1])


def test_factors_may_grow_during_a_run_and_after_it_was_resumed():
    budget = Budget(max_epochs=4, tol=0)
    x, result = minimise(Growing(), Wide(), np.ones((3, 1)), budget=budget)
    assert result.history["rank"][1:].tolist() == [2, 3, 4, 5]
    assert x.shape == (3, 5)
    x, result = minimise(Growing(), Wide(), np.ones((3, 1)), budget=budget, state=result.state)
    assert x.shape == (3, 9)
    assert result.history["rank"][1:].tolist() == [2, 3, 4, 5, 6, 7, 8, 9]
    assert result.history["epoch"].tolist() == list(range(9))


WORKER = """
import sys, time
import torch.distributed as dist
from datetime import timedelta
rank, file = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2, timeout=timedelta(seconds=60))
import numpy as np
from nearer.solvers import Budget, Run, minimise
from nearer.solvers.agreement import over_processes
from tests.solvers.test_run import Halving, Quadratic
# only one of the two has a reason to stop
callback = (lambda progress: progress.epoch >= 7) if rank == 1 else None
run = Run(Budget(max_epochs=1000, tol=0), callback, agree=over_processes())
_, result = minimise(Halving(), Quadratic(1.0), np.zeros(2), budget=run.budget, run=run)
print(result.stop_reason, result.n_epochs)
dist.destroy_process_group()
"""


def test_two_processes_stop_together(tmp_path):
    pytest.importorskip("torch")
    command = [sys.executable, "-c", WORKER]
    workers = [
        subprocess.Popen(
            [*command, str(rank), str(tmp_path / "meeting")], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        for rank in range(2)
    ]
    said = [worker.communicate(timeout=120)[0].split() for worker in workers]
    assert said == [["callback", "7"]] * 2
