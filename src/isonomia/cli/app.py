"""The command's front door: help, version, and errors without tracebacks."""

from __future__ import annotations

import os
import sys
import traceback
from io import TextIOWrapper
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from isonomia.cli.check import check
from isonomia.cli.compare import compare
from isonomia.cli.demo import demo
from isonomia.cli.evidence import export
from isonomia.cli.init import init
from isonomia.cli.plan import plan
from isonomia.cli.principal import principal
from isonomia.cli.replay import replay
from isonomia.cli.responsiveness import responsiveness
from isonomia.cli.run import run
from isonomia.cli.runs import report, runs, show
from isonomia.errors import IsonomiaError
from isonomia.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    name="isonomia",
    help="Audit a machine-learning model as a black box: state what must hold, get holds, violated or undecided.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(check)
app.command()(plan)
app.command()(principal)
app.command()(responsiveness)
app.command()(init)
app.command()(run)
app.command()(runs)
app.command()(show)
app.command()(report)
app.command()(export)
app.command()(replay)
app.command()(compare)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"isonomia {__version__}")
        raise typer.Exit


@app.callback()
def _front(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and leave.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    del version  # the callback has dealt with it


def main() -> None:
    """Run the command; an error that Isonomia raised on purpose is a message and exit code 2.

    So is anything unforeseen, with its traceback: exit code 1 is kept for a violated property.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that the terminal lacks must not end an audit
    try:
        app()
        sys.stdout.flush()
    except IsonomiaError as error:
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        console.print(Text.assemble(("error: ", "bold red"), str(error)))
        raise SystemExit(2) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(2) from None
    except Exception:
        traceback.print_exc()
        print("error: this should not happen; please report it with the lines above", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(130) from None
