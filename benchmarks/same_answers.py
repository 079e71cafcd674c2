"""Check that a refactoring keeps all answers, and show what it does to times and lines of code.

python benchmarks/same_answers.py record --out before.npz        # with the old nearer on PYTHONPATH
python benchmarks/same_answers.py compare before.npz             # with the new one: exit code 1 if answers differ
python benchmarks/same_answers.py times --against OLD_CHECKOUT   # old and new in turns, in fresh processes
python benchmarks/same_answers.py lines --against OLD_CHECKOUT   # lines of code per folder, old and new

It uses only documented names of `nearer`, so that this one file serves both checkouts.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # last: PYTHONPATH says which nearer is imported

from benchmarks._same import compare as comparing
from benchmarks._same import lines as counting
from benchmarks._same import record as recording
from benchmarks._same import times as timing
from benchmarks._same.case import RTOL, source_folder


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    commands = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    actions = commands.add_subparsers(dest="action", required=True)
    record = actions.add_parser("record", help="run all cases and store their numbers")
    record.add_argument("--out", type=Path, required=True, help="file to write (.npz)")
    compare = actions.add_parser("compare", help="run all cases and compare with a record")
    compare.add_argument("before", type=Path, help="file that `record` wrote")
    compare.add_argument("--rtol", type=float, default=RTOL, help="relative tolerance (default: %(default)s)")
    compare.add_argument("--all", action="store_true", help="also list cases that are bitwise equal")
    for one in (record, compare):
        one.add_argument("--slowest", type=int, default=0, metavar="N", help="list the N slowest cases")
    times = actions.add_parser("times", help="time old and new in turns")
    lines = actions.add_parser(
        "lines", help="count lines of code, without blank lines, comments and docstrings"
    )
    for one in (times, lines):
        one.add_argument("--against", type=Path, required=True, help="checkout of the old code")
    times.add_argument("--turns", type=int, default=7, help="turns per case (default: %(default)s)")
    for one in (record, compare, times):
        one.add_argument("--only", default="", metavar="PATTERN", help="parts of the names of cases: a|b")
    actions.add_parser(
        "clock", help="print the seconds of one fit in this process (used by times)"
    ).add_argument("work", choices=timing.FITS)
    return commands


def record(options: argparse.Namespace) -> int:
    """Run the cases and store their numbers."""
    found = _run(options)
    recording.write(found, options.out)
    failed = recording.failures(found)
    for name, error in failed.items():
        print(f"failed: {name}: {error}")
    print(f"{len(found)} cases, {len(failed)} failed: {options.out}")
    return 1 if failed else 0


def compare(options: argparse.Namespace) -> int:
    """Run the cases and compare their numbers with a record."""
    place, before = recording.read(options.before, options.only)
    print(f"before: {place}")
    found = comparing.outcomes(before, _run(options), recording.CASES, options.rtol)
    for outcome in found:
        if options.all or outcome.status != comparing.BITWISE or outcome.remark:
            largest = f"{outcome.largest:.1e}" if outcome.largest else "0"
            print(f"{outcome.case:44} {outcome.status:23} {largest:>8}  {outcome.remark}".rstrip())
    print(comparing.summary(found))
    return 1 if not found or any(outcome.status in comparing.BAD for outcome in found) else 0


def times(options: argparse.Namespace) -> int:
    """Time old and new in turns, and print the quartiles of new / old."""
    old, new = options.against.resolve() / "src", source_folder()
    if not (old / "nearer").is_dir():
        raise SystemExit(f"{old} has no nearer: give the checkout's folder")
    print(f"old: {old}\nnew: {new}")
    print(f"{'new / old':34} {'25%':>6} {'median':>6} {'75%':>6} {'old s':>8} {'new s':>8}")
    for work in (work for work in timing.WORKS if recording.matches(work, options.only)):
        seconds = timing.turns(work, old, new, Path(__file__).resolve(), options.turns)
        low, middle, high = timing.ratios(seconds)
        before, after = (sorted(column)[len(column) // 2] for column in seconds.T)
        print(f"{work:34} {low:6.2f} {middle:6.2f} {high:6.2f} {before:8.3f} {after:8.3f}", flush=True)
    return 0


def lines(options: argparse.Namespace) -> int:
    """Print the lines of code per folder, old and new."""
    print(counting.table(options.against.resolve(), Path(__file__).resolve().parents[1]))
    return 0


def clock(options: argparse.Namespace) -> int:
    """Print the seconds of one fit."""
    print(timing.clock(options.work))
    return 0


def _run(options: argparse.Namespace) -> dict[str, recording.Arrays]:
    print(f"nearer: {source_folder()}")
    seconds: dict[str, float] = {}
    begun = time.perf_counter()
    found = recording.run(recording.chosen(options.only), seconds.__setitem__)
    for name in sorted(seconds, key=lambda name: -seconds[name])[: options.slowest]:
        print(f"{seconds[name]:8.2f} s  {name}")
    print(f"ran {len(found)} cases in {time.perf_counter() - begun:.0f} s")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks."""
    options = parser().parse_args(arguments)
    actions = {"record": record, "compare": compare, "times": times, "lines": lines, "clock": clock}
    return actions[options.action](options)


if __name__ == "__main__":
    sys.exit(main())
