"""Runs numbered cases in child processes that may not crash, hang or grow."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

#: bytes that a child may occupy at its largest, and seconds that one case may take
MOST_MEMORY, MOST_SECONDS = 10**9, 20.0
#: address space, which is mostly reserved and never touched: a guard against a machine that swaps
_ADDRESS_SPACE = 8 * 2**30
ROOT = Path(__file__).parents[2]


@dataclass
class Report:
    """What came of the cases."""

    counts: Counter = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    peak_memory: int = 0

    @property
    def n_cases(self) -> int:
        """How many cases were run."""
        return self.counts.total()


def run(
    cases: range,
    *,
    only: str = "",
    keep: Path | None = None,
    seconds: float = float("inf"),
    at_least: int = 0,
) -> Report:
    """Run cases in one child after the other; a new one begins where the last one failed.

    When `seconds` are over, no case starts beyond the first `at_least`: a slow or busy machine runs these too.
    """
    report, end = Report(), time.monotonic() + seconds
    waiting = list(cases)

    def over() -> bool:
        return time.monotonic() > end and len(cases) - len(waiting) >= at_least

    while waiting and not over():
        _one_child(waiting, only, report, keep, over)
    return report


def _one_child(
    waiting: list[int], only: str, report: Report, keep: Path | None, over: Callable[[], bool]
) -> None:
    """Feed cases to a child, and take them from those waiting, until none is left, time is over or one fails."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as complaints:
        command = [sys.executable, "-m", "tests.fuzz.harness", only, folder]
        child = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, text=True
        )
        try:
            while waiting and not over():
                case = waiting.pop(0)
                outcome = _ask(child, case)
                if outcome is None:
                    complaints.seek(0)
                    _note(report, case, f"the process died: {complaints.read()[-2000:]}", folder, keep)
                    return
                report.peak_memory = max(report.peak_memory, outcome["memory"])
                if outcome["memory"] > MOST_MEMORY:
                    _note(report, case, f"grew to {outcome['memory'] / 1e6:.0f} MB", folder, keep)
                    return
                report.counts[outcome["outcome"]] += 1
                if outcome["outcome"] == "failed":
                    _note(report, case, outcome["error"], folder, keep, count=False)
        finally:
            child.kill()
            child.communicate()


def _ask(child: subprocess.Popen, case: int) -> dict | None:
    """The outcome of a case, or None where the child died or had to be stopped."""
    import select

    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(f"{case}\n")
        child.stdin.flush()
    except BrokenPipeError:
        return None
    ready, _, _ = select.select(
        [child.stdout], [], [], MOST_SECONDS + 60
    )  # the first case imports and compiles
    line = child.stdout.readline() if ready else ""
    return json.loads(line) if line.strip() else None


def _note(
    report: Report, case: int, error: str, folder: str, keep: Path | None, *, count: bool = True
) -> None:
    report.failures.append(f"case {case}: {error}")
    report.counts["failed"] += count
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        for path in Path(folder).glob("case.*"):
            (keep / f"{case}-{path.name}").write_bytes(path.read_bytes())


# -- the child ----------------------------------------------------------------------------------------------------


def _most_memory() -> int:
    """Return the most bytes this process had; `ru_maxrss` counts what the parent had when it started this one."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        if "VmHWM" in lines:
            return int(lines["VmHWM"].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _child(only: str, folder: str) -> None:
    """Read numbers of cases, answer with one line of JSON each."""
    from tests.fuzz import seeds

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever is printed must not disturb the answers
    found = {name: seed for name, seed in {**seeds.tables(), **seeds.models()}.items() if only in name}
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, resource.getrlimit(resource.RLIMIT_AS)[1]))
    for line in sys.stdin:
        outcome = _one_case(int(line), found, Path(folder))
        outcome["memory"] = _most_memory()
        answers.write(json.dumps(outcome) + "\n")
        answers.flush()


def _one_case(case: int, found: dict[str, bytes], folder: Path) -> dict:
    import faulthandler

    from tests.fuzz.exercise import exercise
    from tests.fuzz.mutations import damage
    from tests.saved_models import as_with_many_objects

    rng = np.random.default_rng(case)
    name = list(found)[int(rng.integers(len(found)))]
    for old in folder.glob("case.*"):
        old.unlink()
    path = folder / f"case.{name}"
    path.write_bytes(damage(name, found[name], rng))
    faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)  # a hang says where, and ends the child
    many = as_with_many_objects() if "projected" in name else nullcontext()
    try:
        with many:
            return {"outcome": exercise(path, rng)}
    except Exception:
        return {"outcome": "failed", "error": f"{name}: {traceback.format_exc(limit=-6)}"}
    finally:
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    _child(*sys.argv[1:])
