"""What a step on a pair costs, and what memory a fit takes beside its data."""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import time
import tracemalloc
from typing import Any

import numpy as np

from benchmarks._climbing import LOSS
from benchmarks._generated import World
from benchmarks._store import FOLDER
from nearer import PairwiseLearner
from nearer.objectives._pair_walks import Walker
from nearer.objectives._pair_weights import LinearWeights, rule_of
from nearer.objectives.pair_rows import Pairs
from nearer.pairwise import AdaDSG

#: how memory may be asked for: rows copied in the order of the walk, rows left where they are, chunks of a stream
WAYS = ("fit, ordered", "fit, random", "stream")


def nanoseconds(X: Any, y: np.ndarray, walk: str, steps: int, turns: int) -> list[float]:
    """Nanoseconds of one core a step, in each of several turns, once the rows are in their order."""
    rng = np.random.default_rng(0)
    pairs = Pairs.from_labels(X, y, rng)
    weights = LinearWeights.resumed({}, np.zeros(pairs.n_features))
    walker = Walker(pairs, LOSS, weights, walk, 0)
    walker.begin(len(pairs.positives), len(pairs.negatives), rng)
    rule = rule_of(1e9, 1e-6)  # steps so short that every pair pulls, in every turn: the whole work of a step
    _walk(walker, rule, min(pairs.n_rows, steps))
    found = []
    for _ in range(turns):
        began = time.process_time()
        _walk(walker, rule, steps)
        found.append(round(1e9 * (time.process_time() - began) / steps, 2))
    return found


def _walk(walker: Walker, rule: np.ndarray, steps: int) -> None:
    while steps > 0:
        made, _ = walker.steps(steps, rule)
        steps -= made


def traced(X: Any, y: np.ndarray, way: str, chunk: int) -> int:
    """Most bytes that were held at any time of a fit beside the data, by what Python was asked for."""
    gc.collect()
    tracemalloc.start()
    try:
        _learn(X, y, way, chunk)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _learn(X: Any, y: np.ndarray, way: str, chunk: int) -> None:
    if way != "stream":
        solver = AdaDSG(walk=way.removeprefix("fit, "))
        PairwiseLearner(LOSS, solver=solver, random_state=0).fit(X, y)
        return
    learner = PairwiseLearner(LOSS, random_state=0)
    for start in range(0, len(y), chunk):
        learner.partial_fit(X[start : start + chunk], y[start : start + chunk], classes=[False, True])


def resident(d: int, n: int, chunk: int) -> int:
    """Bytes by which a process grows while it draws and learns a stream of n rows, after the first ten chunks."""
    command = [sys.executable, "-m", "benchmarks._footprint", str(d), str(n), str(chunk)]
    done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=True)
    return int(json.loads(done.stdout)["grown"])


def _stream(d: int, n: int, chunk: int) -> int:
    world = World("dense", d)
    learner = PairwiseLearner(LOSS, random_state=0)
    before = 0
    for number in range(n // chunk):
        learner.partial_fit(*world.rows(chunk, draw=number), classes=[False, True])
        if number == 9:
            before = _peak()
    return _peak() - before


def _peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # kilobytes, on Linux


if __name__ == "__main__":
    print(json.dumps({"grown": _stream(*(int(number) for number in sys.argv[1:]))}))
