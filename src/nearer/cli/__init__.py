"""The command `nearer`: its commands, and how each ends: exit codes, and one sentence instead of a traceback.

Modules of commands import the library inside their functions, so that `nearer --help` answers at once.

>>> from typer.testing import CliRunner
>>> CliRunner().invoke(app, ["--version"]).output.startswith("nearer ")
True
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from nearer._utils.group import own_rank
from nearer.cli._help import examples
from nearer.cli._output import INTERRUPTED, complain
from nearer.cli._wording import in_options
from nearer.cli.convert import convert
from nearer.cli.demo import demo
from nearer.cli.evaluate import evaluate
from nearer.cli.export import export
from nearer.cli.fit import fit
from nearer.cli.plot import plot
from nearer.cli.predict import predict
from nearer.cli.recommend import recommend
from nearer.cli.simulate import simulate
from nearer.errors import InputError, LostProcessError

__all__ = ["app", "main"]

LOST, BAD_INPUT = 1, 2
BROKEN_PIPE = 141  # 128 + SIGPIPE, what a shell reports for `yes | head`


class Commands(TyperGroup):
    """The group of all commands; every way to start one comes through `main`."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run a command and leave with its exit code."""
        run: Callable[..., Any] = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **extra)
        sys.exit(_exit_code(lambda: run(*args, standalone_mode=False, **extra)))

    def invoke(self, ctx: Any) -> Any:
        """Run a command; ctrl-C outside a fit leaves no file behind and says so."""
        try:
            with self._warnings_in_a_sentence(ctx):
                result = super().invoke(ctx)
            sys.stdout.flush()  # a reader that has gone away is noticed here, not while Python shuts down
            return result
        except (InputError, LostProcessError) as error:
            raise type(error)(in_options(error, self._options(ctx))) from error
        except KeyboardInterrupt:
            complain("interrupted, nothing was written")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # nobody reads any more: what is left in the buffer goes nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None

    @contextmanager
    def _warnings_in_a_sentence(self, ctx: Any) -> Iterator[None]:
        shown: set[str] = set()  # a file that is read twice leads to the same warning twice

        def show(message: Warning | str, *_: Any, **__: Any) -> None:
            if str(message) not in shown and not own_rank():  # all processes warn of the same
                shown.add(str(message))
                complain(in_options(message, self._options(ctx)))

        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = show
            yield

    def _options(self, ctx: Any) -> set[str]:
        """Return what can be typed after the command that was started."""
        command = self.commands[ctx.invoked_subcommand]
        return {option for parameter in command.params for option in parameter.opts}


def _exit_code(run: Callable[[], Any]) -> int:
    try:
        code = run()
    except Exception as error:
        message = sentence(error)
        if message is None or os.environ.get("NEARER_TRACEBACK"):
            raise
        if message:
            complain(message)
        return LOST if isinstance(error, LostProcessError) else BAD_INPUT
    return code if isinstance(code, int) else 0


def sentence(error: Exception) -> str | None:
    """Return what went wrong in the user's terms, None if it is not the user's doing.

    >>> sentence(FileNotFoundError(2, "No such file or directory", "answers.csv"))
    'answers.csv: no such file or directory'
    """
    if isinstance(error, OSError):
        reason = (error.strerror or str(error)).strip()
        reason = reason[:1].lower() + reason[1:]
        return reason if error.filename is None else f"{_name(error.filename)}: {reason}"
    if isinstance(error, MemoryError):
        return f"out of memory ({error})" if str(error) else "out of memory"
    if isinstance(error, ValueError | LostProcessError):
        return str(error) or None
    if isinstance(error, ModuleNotFoundError) and "run: pip install" in str(error):
        return str(error)  # an extra that was not installed
    return _usage(error)


def _plain(message: str) -> str:
    """Leave out the words of the library that typer checks values with.

    >>> _plain("Invalid value for '--rank': Input should be greater than or equal to 1")
    "Invalid value for '--rank': must be greater than or equal to 1"
    >>> _plain("Invalid value for '--loss': Value error, 'foo' is not one of 'ste', 'soe'")
    "Invalid value for '--loss': 'foo' is not one of 'ste', 'soe'"
    """
    for words, plain in (("Value error, ", ""), ("Input should be", "must be")):
        message = message.replace(f": {words}", f": {plain}", 1)
    return message.removesuffix(", unable to parse string as a number")


def _name(filename: Any) -> str:
    return filename if isinstance(filename, str) else os.fsdecode(filename)


def _usage(error: Exception) -> str | None:
    """Usage errors of typer, whose classes moved between its versions: known by their method."""
    if not hasattr(error, "format_message"):
        return None
    context = getattr(error, "ctx", None)
    help_command = f"{context.command_path} --help" if context is not None else "nearer --help"
    message = _plain(error.format_message().rstrip("."))
    # without any argument, typer has shown the help already and has nothing to add
    return f"{message} (see: {help_command})" if message else ""


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

    Exit codes: 0 done, 2 input that cannot be used (one sentence on stderr), 1 another process of the same fit was
    lost, 130 interrupted with ctrl-C.
    """


for _command in (fit, evaluate, predict, recommend, export, plot, simulate, convert, demo):
    app.command(epilog=examples(_command.__name__))(_command)


def main() -> None:
    """Run the command line and exit."""
    app(prog_name="nearer")
