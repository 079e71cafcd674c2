"""A fit in two processes, one of which is killed: the other ends soon, in words, and the checkpoint is intact.

`python -m tests.towers.killed --points 20` kills a process at each of this many random moments, from its start to the
end of the fit, and prints what became of the other.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

import nearer
from nearer.towers import checkpoints
from tests.towers.distributed import ROOT
from tests.towers.problems import split

WORKER = """
import os, sys
open(f"pid{os.environ['RANK']}", "w").write(str(os.getpid()))
from nearer.errors import LostProcessError
from tests.towers.killed import fitted

try:
    fitted("fit.npz", EPOCHS)
except LostProcessError as error:
    sys.exit(f"LOST {error}")
"""
#: seconds within which all must have ended
SOON = 60.0


class Outcome(NamedTuple):
    """What became of a fit of which a process was killed."""

    #: epochs that the killed process had finished, None if the fit had not begun
    epoch: int | None
    seconds: float
    words: str
    code: int


def launched(folder: Path, epochs: int, size: int = 2) -> subprocess.Popen[str]:
    """Start `torchrun` on the worker in a folder."""
    (folder / "worker.py").write_text(WORKER.replace("EPOCHS", str(epochs)))
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={size}", "--standalone"]
    variables = {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*command, "worker.py"],
        cwd=folder,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def killed(folder: Path, rank: int, *, epoch: int | None = None, after: float = 0.0, epochs: int) -> Outcome:
    """Kill a process some time after it has started, or after an epoch, and wait for all to end."""
    fit = launched(folder, epochs)
    try:
        _wait(folder / f"pid{rank}", lambda text: bool(text))
        if epoch is not None:
            _wait(folder / f"epoch{rank}", lambda text: bool(text) and int(text) >= epoch)
        time.sleep(after)
        reached = folder / f"epoch{rank}"
        finished = int(reached.read_text() or 0) if reached.exists() else None
        with suppress(ProcessLookupError):  # the fit was over
            os.kill(int((folder / f"pid{rank}").read_text()), signal.SIGKILL)
        began = time.monotonic()
        words, _ = fit.communicate(timeout=SOON)
        return Outcome(finished, time.monotonic() - began, words, fit.returncode)
    finally:
        fit.kill()
        for pid in folder.glob("pid*"):  # none is left unless something went wrong
            with suppress(ProcessLookupError):
                os.kill(int(pid.read_text()), signal.SIGKILL)


def fitted(path: str | Path, epochs: int) -> nearer.TwoTower:
    """Fit towers that write the checkpoint after every epoch, and say so in a file; continue if there is one."""
    rank, before = os.environ.get("RANK"), checkpoints.EVERY

    def note(progress: nearer.solvers.Progress) -> None:
        if rank is not None:
            Path(f"epoch{rank}").write_text(str(progress.epoch))

    model = nearer.TwoTower(
        **{"n_components": 6, "hidden": (8,), "inputs": ("history", "ids"), "solver": "full-adam"},
        **{"dtype": "float64", "tol": 0, "max_epochs": epochs, "random_state": 0},
        checkpoint=path,
        callback=note,
    )
    checkpoints.EVERY = 0.0
    try:
        return model.fit(split()[0])
    finally:
        checkpoints.EVERY = before


def _wait(path: Path, ready) -> None:
    limit = time.monotonic() + 60
    while not (path.exists() and ready(path.read_text())):
        assert time.monotonic() < limit, f"{path.name} was not written"
        time.sleep(0.002)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=150)
    asked = parser.parse_args()
    random.seed(0)
    with tempfile.TemporaryDirectory() as folder:
        truth = fitted(Path(folder) / "fit.npz", asked.epochs).result_
    print(f"undisturbed: objective {truth.objective:.10g} after {truth.n_epochs} epochs")
    for point in range(asked.points):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            # a third of the moments lie before the fit: imports, and the meeting of the processes
            early = point % 3 == 0
            after = random.uniform(0, 4) if early else random.uniform(0, 0.03)
            epoch = None if early else random.randrange(asked.epochs - 10)
            rank = random.randrange(2)
            found = killed(folder, rank, epoch=epoch, after=after, epochs=asked.epochs)
            said = next((line for line in found.words.splitlines() if "LOST" in line), "(nothing)")
            kept = "none yet"
            if (folder / "fit.npz").exists():
                with np.load(folder / "fit.npz") as file:
                    kept = f"epoch {int(file['history/epoch'][-1])}"
            result = fitted(folder / "fit.npz", asked.epochs).result_
            apart = abs(result.objective / truth.objective - 1)
            print(
                f"{point + 1:2d}: process {rank} killed at epoch {found.epoch}; all ended after {found.seconds:.1f} s, "
                f"code {found.code}; checkpoint: {kept}; continued to epoch {result.n_epochs}, objective apart "
                f"{apart:.0e}; {said[:60]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
