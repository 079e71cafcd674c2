"""Run many cases: `python -m tests.fuzz --cases 100000 --keep .fuzz`."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz.harness import Report, run


def main() -> int:
    """Run the cases on several processes and print what came of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="how many cases to run")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", default="", help="damage only valid files whose name contains this")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--keep", type=Path, default=None, help="folder for the files that failed")
    given = parser.parse_args()
    parts = [range(given.first + part, given.first + given.cases, given.jobs) for part in range(given.jobs)]
    with ThreadPoolExecutor(given.jobs) as pool:
        reports = list(pool.map(lambda part: run(part, only=given.only, keep=given.keep), parts))
    total = Report()
    for report in reports:
        total.counts += report.counts
        total.failures += report.failures
        total.peak_memory = max(total.peak_memory, report.peak_memory)
    print("\n\n".join(total.failures))
    print(f"{total.n_cases} cases: {dict(total.counts)}; largest process {total.peak_memory / 1e6:.0f} MB")
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
