"""LibAUC and xgboost as rivals: a virtual environment of their own, and a worker process that stays alive."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import _cblearn
from benchmarks._auc_race import Problem
from benchmarks._store import SCRATCH

# torch is pinned: the newest one brings gigabytes of GPU libraries
REQUIREMENTS = ("torch==2.13.0", "numpy", "scipy", "scikit-learn", "tqdm")
# what they ask for besides is for images, graphs and GPUs
BARE_REQUIREMENTS = ("libauc==2.0.1", "xgboost==3.2.0")


def environment() -> Path:
    """The Python of the peers' virtual environment, which is made at the first call."""
    folder = SCRATCH / "auc-venv"
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, *REQUIREMENTS], check=True)
        subprocess.run([*install, "--no-deps", *BARE_REQUIREMENTS], check=True)
        ready.write_text("\n".join((*REQUIREMENTS, *BARE_REQUIREMENTS)) + "\n")
    return python


class Worker(_cblearn.Worker):
    """A process that fits LibAUC's losses and xgboost; it is killed where a fit takes too long."""

    script = "_peer_auc.py"

    def python(self) -> Path:
        return environment()

    def scores(
        self, rival: str, parameters: dict[str, Any], of: Problem, seed: int, cap: float
    ) -> dict[str, Any]:
        """CPU seconds of a fit and scores of the test rows, or a `failure`: a time-out or what was raised."""
        if self._process is None:
            self._start()
        if rival not in self._warm:  # imports and first calls are not what is measured
            rng = np.random.default_rng(0)
            X, y = rng.normal(size=(64, 3)), np.arange(64) % 2
            tiny = Problem(X, y, X, y)
            warmed = self._request(rival, {**parameters, "epochs": 1, "rounds": 1}, tiny, 0, cap)
            if "failure" in warmed:
                return warmed
            self._warm.add(rival)
        return self._request(rival, parameters, of, seed, cap)

    def _request(
        self, rival: str, parameters: dict[str, Any], of: Problem, seed: int, cap: float
    ) -> dict[str, Any]:
        data, scores = (Path(self._folder.name) / file for file in ("data.npz", "scores.npy"))
        np.savez(data, y=of.y, **_arrays("X", of.X), **_arrays("X_test", of.X_test))
        request = {
            "rival": rival,
            "parameters": parameters,
            "data": str(data),
            "scores": str(scores),
            "seed": seed,
            "threads": self.threads,
        }
        answer = self._reply(request, cap)
        return {**answer, "scores": np.load(scores)} if "seconds" in answer else answer


def _arrays(name: str, rows: Any) -> dict[str, np.ndarray]:
    """Rows as arrays for a file, in single precision, which is what the peers compute in."""
    if not sparse.issparse(rows):
        return {name: rows.astype(np.float32)}
    return {
        f"{name}_data": rows.data.astype(np.float32),
        f"{name}_indices": rows.indices,
        f"{name}_indptr": rows.indptr,
        f"{name}_shape": np.array(rows.shape),
    }
