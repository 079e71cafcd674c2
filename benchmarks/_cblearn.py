"""cblearn as a rival: its own virtual environment, and a worker process that stays alive between fits."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._store import FOLDER, SCRATCH
from nearer import Comparisons

# torch is pinned: the newest one brings gigabytes of GPU libraries
REQUIREMENTS = ("cblearn==0.4.0", "torch==2.13.0")

# Every embedding estimator with every backend, and cblearn's own defaults; MLDS is for one dimension only.
# SOE alone has more than one start; it also runs with one.
ESTIMATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "SOE": ("SOE", {}),  # ten starts
    "SOE, 1 start": ("SOE", {"n_init": 1}),
    "STE": ("STE", {}),
    "TSTE": ("TSTE", {}),
    "CKL": ("CKL", {}),
    "GNMDS": ("GNMDS", {}),
    "LORE scipy": ("LORE", {"backend": "scipy"}),
    "LORE": ("LORE", {}),
    "FORTE": ("FORTE", {}),
    "OENN": ("OENN", {}),
    "STE torch": ("STE", {"backend": "torch"}),
    "TSTE torch": ("TSTE", {"backend": "torch"}),
    "SOE torch": ("SOE", {"backend": "torch"}),
    "CKL torch": ("CKL", {"backend": "torch"}),
    "GNMDS torch": ("GNMDS", {"backend": "torch"}),
    "CKL kernel": ("CKL", {"backend": "torch", "kernel": True}),
    "GNMDS kernel": ("GNMDS", {"backend": "torch", "kernel": True}),
}


def environment() -> Path:
    """The Python of cblearn's virtual environment, which is made at the first call."""
    return made_environment("cblearn", REQUIREMENTS)


def made_environment(name: str, requirements: Sequence[str]) -> Path:
    """Return the Python of a peer's virtual environment, which is made at the first call."""
    folder = SCRATCH / f"{name}-venv"
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *requirements], check=True)
        ready.write_text("\n".join(requirements) + "\n")
    return python


class Worker:
    """A cblearn process; it is killed where a fit takes too long, and started anew for the next."""

    script = "_peer_cblearn.py"

    def __init__(self, threads: int):
        self.threads = threads
        self.versions: dict[str, str] = {}
        self._process: subprocess.Popen[str] | None = None
        self._warm: set[str] = set()
        self._folder = tempfile.TemporaryDirectory(prefix="nearer-peer-")

    def fit(self, name: str, train: Comparisons, n_components: int, seed: int, cap: float) -> dict[str, Any]:
        """Seconds and embedding of a fit, or a `failure`: a time-out or what cblearn raised."""
        if self._process is None:
            self._start()
        if name not in self._warm:  # imports and first calls are not what is measured
            tiny = Comparisons([(0, 1, 2), (1, 0, 3), (2, 3, 4), (3, 2, 0), (4, 3, 1), (4, 2, 0)])
            warmed = self._ask(name, tiny, 1, 0, cap, max_iter=3)
            if "failure" in warmed:
                return warmed
            self._warm.add(name)
        return self._ask(name, train, n_components, seed, cap)

    def python(self) -> Path:
        """The Python that runs the script."""
        return environment()

    def close(self) -> None:
        """End the process and remove its files."""
        self._stop()
        self._folder.cleanup()

    def _start(self) -> None:
        limits = dict.fromkeys(
            ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(self.threads)
        )
        self._process = subprocess.Popen(
            [str(self.python()), str(FOLDER / self.script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
            env={**os.environ, **limits},
        )
        self.versions = self._answer(cap=120.0)["versions"]

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
            self._warm.clear()

    def _ask(
        self, name: str, train: Comparisons, n_components: int, seed: int, cap: float, **extra: Any
    ) -> dict[str, Any]:
        data, embedding = (Path(self._folder.name) / file for file in ("train.npz", "embedding.npy"))
        # cblearn knows no weights: an answer that was given twice is two rows
        np.savez(data, triplets=train.to_cblearn("list-order"), n_objects=train.n_objects)
        estimator, parameters = ESTIMATORS[name]
        request = {
            "estimator": estimator,
            "parameters": {"n_components": n_components, "random_state": seed, **parameters, **extra},
            "data": str(data),
            "embedding": str(embedding),
            "threads": self.threads,
        }
        answer = self._reply(request, cap)
        return {**answer, "embedding": np.load(embedding)} if "seconds" in answer else answer

    def _reply(self, request: dict[str, Any], cap: float) -> dict[str, Any]:
        """Return the worker's answer to a request."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        return self._answer(cap)

    def _answer(self, cap: float) -> dict[str, Any]:
        """The worker's next line; a worker that takes too long or dies is put down."""
        assert self._process is not None
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], cap)
        line = self._process.stdout.readline() if ready else ""
        if not line:
            self._stop()
            return {"failure": "died" if ready else f"over {cap:g} s"}
        return json.loads(line)
