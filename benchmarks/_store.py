"""Where measurements are kept: one JSON file an experiment, saved after every measurement."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nearer
from nearer._utils.files import replacing

Cell = dict[str, Any]

#: in the result of a rival that was measured again: when, where and with which source
AGAIN = "again"

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
SCRATCH = (
    FOLDER.parent / ".benchmarks"
)  # quick runs, peers' environments, compiled yardsticks: nothing to keep


class ChangedRunError(ValueError):
    """The stored rows come from other settings or another machine than the run that would add to them."""


def cell_key(cell: Cell) -> str:
    """A text that two equal cells share, whatever the order of their entries.

    >>> cell_key({"seed": 1, "loss": "ste"}) == cell_key({"loss": "ste", "seed": 1})
    True
    """
    return json.dumps(cell, sort_keys=True)


def machine() -> dict[str, Any]:
    """The processor, its cores and the operating system."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        return platform.processor() or platform.machine()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def versions() -> dict[str, str]:
    """Versions of Python, of what computes, and of nearer."""
    packages = ("numpy", "scipy", "numba", "scikit-learn", "nearer")
    return {"python": platform.python_version(), **{name: _version(name) for name in packages}}


def _version(package: str) -> str:
    return nearer.__version__ if package == "nearer" else version(package)


def source_digest() -> str:
    """Ten characters that change with any line of nearer's source: rows say which code they measured."""
    digest = hashlib.sha256()
    for path in sorted(Path(nearer.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:10]


def note() -> dict[str, Any]:
    """When, where and with which source a rival is measured again."""
    return {"date": now(), "source": source_digest(), "machine": machine()}


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Store:
    """The results file of one experiment.

    A row holds a `cell`, its `results` by rival, whether it is `done`, the `date` and the `source` digest.
    Rows are written to disk as they grow; opening the same file again goes on where the last run ended.
    A rival that is measured `again`, maybe on another machine, carries a note of when, where and with which source.
    """

    def __init__(self, path: Path, settings: dict[str, Any], *, fresh: bool = False, again: bool = False):
        self.path = path
        self.content = self._new(settings) if fresh or not path.exists() else self._opened(settings, again)
        self._by_key = {cell_key(row["cell"]): row for row in self.content["rows"]}

    def _new(self, settings: dict[str, Any]) -> dict[str, Any]:
        return {
            "experiment": self.path.stem,
            "machine": machine(),
            "versions": versions(),
            "started": now(),
            "settings": settings,
            "warm_up_seconds": None,
            "rows": [],
        }

    def _opened(self, settings: dict[str, Any], again: bool) -> dict[str, Any]:
        content = read(self.path)
        here = {"settings": json.loads(json.dumps(settings)), "versions": versions()}
        here |= {} if again else {"machine": machine()}
        for part, value in here.items():
            if content[part] != value:
                raise ChangedRunError(
                    f"{self.path} holds rows measured with other {part} than now: "
                    "pass --fresh to start over, or move the file away"
                )
        return content

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The finished rows."""
        return [row for row in self.content["rows"] if row["done"]]

    def row(self, cell: Cell) -> dict[str, Any]:
        """The row of a cell, finished or not; a new one where there is none."""
        key = cell_key(cell)
        if key not in self._by_key:
            row = {"cell": cell, "results": {}, "done": False, "date": now(), "source": source_digest()}
            self.content["rows"].append(row)
            self._by_key[key] = row
        return self._by_key[key]

    def is_done(self, cell: Cell) -> bool:
        """Whether every rival of a cell was measured."""
        return self._by_key.get(cell_key(cell), {"done": False})["done"]

    def waits_again(self, cell: Cell, rival: str) -> bool:
        """Whether a rival was measured in a cell, but not with this source on this machine."""
        result = self._by_key.get(cell_key(cell), {"results": {}})["results"].get(rival)
        if result is None:
            return False
        before = result.get(AGAIN, {})
        return (before.get("source"), before.get("machine")) != (source_digest(), machine())

    def save(self) -> None:
        """Write the file under a temporary name and rename it: a crash leaves the last whole state."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path) as temporary:
            temporary.write_text(_compact(self.content))


def read(path: Path) -> dict[str, Any]:
    """The content of a results file."""
    return json.loads(path.read_text())


def _compact(content: dict[str, Any]) -> str:
    """JSON with one line a row, so that the file stays small and its changes readable."""
    head = {key: value for key, value in content.items() if key != "rows"}
    rows = ",\n".join(json.dumps(row, separators=(",", ":"), allow_nan=False) for row in content["rows"])
    return json.dumps(head, indent=1)[:-2] + ',\n "rows": [\n' + rows + "\n]}\n"
