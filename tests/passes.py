"""Print the modules of nearer in which a command runs code, imports aside: `python -m tests.passes fit answers.csv`.

The first run on a machine also shows what numba calls while it compiles: run it twice.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import nearer
from nearer.cli import main

ROOT = Path(nearer.__file__).parent
#: CO_OPTIMIZED: code of a function, not of a module or a class body
IS_FUNCTION = 1


def is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def passed(arguments: list[str]) -> list[str]:
    """Run a command and return the files in which at least one function ran outside of an import."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code.co_filename in found or not code.co_flags & IS_FUNCTION:
            return
        if code.co_filename.startswith(f"{ROOT}/") and not is_importing(frame):
            found.add(code.co_filename)

    sys.argv = ["nearer", *arguments]
    sys.setprofile(note)
    try:
        main()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
    return sorted(Path(name).relative_to(ROOT).as_posix() for name in found)


if __name__ == "__main__":
    modules = passed(sys.argv[1:])
    print(f"{len(modules)} modules", *modules, sep="\n")
