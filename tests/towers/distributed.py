"""Fits in two real processes: scripts that `torchrun`'s variables turn into a group."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: seconds after which processes that hang are killed, and the test fails
LIMIT = 200


def started(script: str, folder: Path, size: int = 2, **variables: str) -> list[subprocess.Popen[str]]:
    """Start processes that run a script in a folder, as `torchrun` starts them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    shared |= {"WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(size)}
    shared |= {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}", **variables}
    return [
        subprocess.Popen(
            [sys.executable, "-c", script],
            cwd=folder,
            env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]


def ended(workers: list[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    """Return exit code, output and complaints of each process."""
    found = []
    try:
        for worker in workers:
            out, err = worker.communicate(timeout=LIMIT)
            found.append((worker.returncode, out, err))
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()  # close its pipes
    return found


def in_processes(script: str, folder: Path, size: int = 2) -> list[str]:
    """Return what each process prints, all of which must succeed."""
    found = ended(started(script, folder, size))
    assert [code for code, _, _ in found] == [0] * size, "\n".join(err for _, _, err in found)
    return [out for _, out, _ in found]
