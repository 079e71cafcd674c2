"""Command line of the benchmarks: run, plot, report."""

from __future__ import annotations

import argparse
import sys

from rich.console import Console

from benchmarks import _report
from benchmarks._runner import NAMES, describe, experiment, run, settings_of
from benchmarks._store import ChangedRunError

ACTIONS = ("run", "plot", "report", "show")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    text = "Run benchmarks, cell by cell; a run that was interrupted goes on where it ended."
    commands = argparse.ArgumentParser("python -m benchmarks", description=text)
    commands.add_argument(
        "what",
        nargs="+",
        metavar="[run|plot|report|show] NAME",
        help=f"an action (default: run, then show, plot and report) and names: {', '.join(NAMES)}, or all",
    )
    commands.add_argument(
        "--quick", action="store_true", help="small settings, results under .benchmarks/quick"
    )
    commands.add_argument("--fresh", action="store_true", help="throw away stored rows and start over")
    commands.add_argument(
        "--only", default="", metavar="TEXT", help="only cells whose description holds TEXT"
    )
    commands.add_argument(
        "--again",
        default="",
        metavar="RIVAL",
        help="measure one rival again, even on another machine; keep others",
    )
    commands.add_argument("--list", action="store_true", help="show the cells and do nothing")
    return commands


def chosen(what: list[str]) -> tuple[str | None, list[str]]:
    """The action and the names of experiments from the command line.

    >>> chosen(["plot", "table1"]), chosen(["music"])
    (('plot', ['table1']), (None, ['music']))
    """
    action, names = (what[0], what[1:] or ["all"]) if what[0] in ACTIONS else (None, what)
    names = list(NAMES) if "all" in names else names
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise SystemExit(f"there is no experiment {unknown[0]!r}: choose from {', '.join(NAMES)}, all")
    return action, names


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks."""
    options = parser().parse_args(arguments)
    action, names = chosen(options.what)
    console = Console()
    failed = False
    for name in names:
        if options.list:
            module = experiment(name)
            for cell in module.cells(settings_of(module, options.quick)):
                console.print(f"{name}: {describe(cell)}", highlight=False)
            continue
        try:
            _perform(action, name, options, console)
        except (ChangedRunError, FileNotFoundError) as error:
            console.print(f"[red]{name}[/]: {error}", soft_wrap=True)
            failed = True
    return 2 if failed else 0


def _perform(action: str | None, name: str, options: argparse.Namespace, console: Console) -> None:
    if action in (None, "run"):
        run(name, quick=options.quick, fresh=options.fresh, only=options.only, again=options.again)
    if action in (None, "show"):
        for table in _report.tables(name, options.quick):
            console.print(table.rich())
    if action in (None, "plot"):
        for path in _report.plot(name, options.quick):
            console.print(f"figure {path}", soft_wrap=True)
    if action in (None, "report"):
        console.print(f"page {_report.report(name, options.quick)}", soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
