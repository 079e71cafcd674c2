"""The command `nearer`: from a file of answers to a map, a score, a picture and a saved model.

Modules of commands import the library inside their functions, so that `nearer --help` answers at once.

>>> from typer.testing import CliRunner
>>> CliRunner().invoke(app, ["--version"]).output.startswith("nearer ")
True
"""

from __future__ import annotations

from typing import Annotated

import typer

from nearer.cli._commands import Commands
from nearer.cli._help import examples
from nearer.cli.convert import convert
from nearer.cli.demo import demo
from nearer.cli.evaluate import evaluate
from nearer.cli.fit import fit
from nearer.cli.plot import plot
from nearer.cli.predict import predict
from nearer.cli.simulate import simulate

__all__ = ["app", "main"]

app = typer.Typer(
    name="nearer",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from nearer import __version__

        typer.echo(f"nearer {__version__}")
        raise typer.Exit


@app.callback(epilog=examples("nearer"))
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Learn similarity from comparisons: "A is nearer to B than to C".

    Exit codes: 0 done, 2 input that cannot be used (one sentence on stderr), 130 interrupted with ctrl-C.
    """


for _command in (fit, evaluate, predict, plot, simulate, convert, demo):
    app.command(epilog=examples(_command.__name__))(_command)


def main() -> None:
    """Run the command line and exit."""
    app(prog_name="nearer")
