"""implicit and irspack as rivals: a virtual environment of their own, and a worker process that stays alive."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _cblearn
from benchmarks._recommend_data import Problem
from benchmarks._recommend_metrics import Scores
from benchmarks._recommend_search import Space
from benchmarks._store import SCRATCH

REQUIREMENTS = ("implicit==0.7.3", "irspack==0.5.2", "numpy==2.4.6", "scipy==1.17.1")
IMPLICIT, IRSPACK, IRSPACK_FEATURES = "implicit ALS", "irspack iALS", "irspack iALS, features"
#: ranges of the settings of iALS
IALS: Space = {
    "n_components": ("whole", 64, 256),
    "alpha0": ("log", 0.05, 1),
    "reg": ("log", 2e-3, 2e-2),
    "nu": ("linear", 0.5, 1),
}


def environment() -> Path:
    """The Python of the peers' virtual environment, which is made at the first call."""
    folder = SCRATCH / "recommend-venv"
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
        ready.write_text("\n".join(REQUIREMENTS) + "\n")
    return python


class Worker(_cblearn.Worker):
    """A process that fits the peers; it is killed if a fit takes too long."""

    script = "_peer_recommend.py"

    def python(self) -> Path:
        return environment()

    def embeddings(
        self, rival: str, parameters: dict[str, Any], of: Problem, seed: int, cap: float
    ) -> dict[str, Any]:
        """Return clocks of a fit with the embeddings `left` and `right`, or a `failure`."""
        if self._process is None:
            self._start()
        data, out = (Path(self._folder.name) / file for file in ("data.npz", "out.npz"))
        np.savez(data, **arrays(of, features=rival == IRSPACK_FEATURES))
        request = {
            "rival": rival,
            "parameters": parameters,
            "data": str(data),
            "out": str(out),
            "seed": seed,
            "threads": self.threads,
        }
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        answer = self._answer(cap)
        if "failure" in answer:
            return answer
        with np.load(out, allow_pickle=False) as found:
            return {**answer, "left": found["left"], "right": found["right"]}


def arrays(of: Problem, features: bool) -> dict[str, np.ndarray]:
    """Return a problem as arrays for a file: pairs, and features if a rival uses them."""
    found: dict[str, np.ndarray] = {}
    for name, pairs in (("train", of.train), ("history", of.history)):
        if pairs is not None:
            found |= {f"{name}_{part}": getattr(pairs, part) for part in ("data", "indices", "indptr")}
            found[f"{name}_shape"] = np.array(pairs.shape)
    if features:
        sides = ("users", "movies", "new_users", "new_movies")
        found |= {
            name: np.column_stack([np.ones(len(side)), side])
            for name in sides
            if (side := getattr(of, name)) is not None
        }
    return found


def scores(left: np.ndarray, right: np.ndarray) -> Scores:
    """Return the inner products."""
    return lambda rows: left[rows] @ right.T
