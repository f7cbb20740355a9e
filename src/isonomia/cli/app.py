"""The command's front door: help, version, and errors without tracebacks."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import wraps
from importlib import import_module
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperCommand

from isonomia.cli.options import shown_as
from isonomia.cli.outputs import guard_streams, new_console, output_error, refuse_inputs
from isonomia.errors import IsonomiaError
from isonomia.version import __version__
from isonomia.wording import visible

app = typer.Typer(
    name="isonomia",
    help=(
        "Audit a machine-learning model as a black box: state what must hold, get holds, violated or undecided.\n\n"
        "Example: isonomia init model.onnx people.csv && isonomia run audit.toml"
    ),
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS: Mapping[str, Mapping[str, str]] = {
    "Whole audits": {
        "demo:demo": "Audit a simulated hiring model, and write the report.",
        "init:init": "Draft an audit file from a model and a table.",
        "run:register": "Register an audit before any answer is seen.",
        "run:run": "Check every property of an audit file.",
        "watch:watch": "Monitor decisions in production, as they arrive.",
    },
    "Single checks": {
        "open:open": "Open a page in the browser, for people who do not program.",
        "measure:measure": "Measure decisions by group, with intervals.",
        "check:check": "Check properties of a model and a table.",
        "principal:principal": "Check principal fairness: like people, treated alike.",
        "responsiveness:responsiveness": "Check what people can do about a prediction.",
        "check:plan": "Forecast how many samples a check will take.",
        "repair:repair": "Retrain a model on its violations.",
    },
    "Records of earlier runs": {
        "records:runs": "List the recorded runs.",
        "records:show": "Show every verdict of a run.",
        "records:report": "Write the report of a run as one page.",
        "records:compare": "Compare two runs, property by property.",
        "records:export": "Write a run as one sealed evidence file.",
        "file:file": "Write the document that a rule requires.",
        "replay:replay": "Recompute the verdicts of an evidence file.",
    },
}
"""The commands by topic, in the order of the help: each as ``module:function``, with its line in the help."""


def command_of(place: str) -> Callable[..., None]:
    """The function of a command, given as ``module:function``."""
    module, _, name = place.partition(":")
    command: Callable[..., None] = vars(import_module(f"isonomia.cli.{module}"))[name]
    return command


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with parameters as Typer reads them: types and defaults are its own, the rest is in the table.

    In the place of a parameter whose type is a dataclass, there is an option for each of its fields.
    """
    own = inspect.signature(command, eval_str=True).parameters.values()
    groups = {
        one.name: one.annotation for one in own if isinstance(one.annotation, type) and is_dataclass(one.annotation)
    }
    parts = {name: inspect.signature(group, eval_str=True).parameters.values() for name, group in groups.items()}
    parameters = [shown_as(command.__name__, each) for one in own for each in parts.get(one.name, (one,))]

    @wraps(command)
    def wrapped(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{part.name: given.pop(part.name) for part in parts[name]})
        command(**given)

    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in parameters}
    return wrapped


def _unwrapped(command: Callable[..., None]) -> str:
    """A command's docstring with a line for each paragraph: the help is wrapped for the terminal, and only there."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


class _Command(TyperCommand):
    """A command that never overwrites what it reads."""

    def invoke(self, ctx: Any) -> Any:
        arguments = {each.name for each in self.params if each.param_type_name == "argument"}
        named = {name: value for name, value in ctx.params.items() if name in arguments}
        refuse_inputs({name: value for name, value in ctx.params.items() if name not in arguments}, named)
        return super().invoke(ctx)


def _add_commands() -> None:
    for panel, commands in COMMANDS.items():
        for place, line in commands.items():
            command = command_of(place)
            app.command(cls=_Command, help=_unwrapped(command), short_help=line, rich_help_panel=panel)(
                with_options(command)
            )


_add_commands()


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"isonomia {__version__}")
        raise typer.Exit


@app.callback()
def _front(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    del version  # the callback has dealt with it


def main() -> None:
    """Run the command; an error that Isonomia raised on purpose is a message and exit code 2.

    So is anything unforeseen, with its traceback, and output that could not be written: exit code 1 is kept for a
    violated property. A reader who has left, as ``head`` does, changes nothing.
    """
    guard_streams()
    try:
        app(prog_name="isonomia")
    except SystemExit:
        sys.stdout.flush()
        failed = output_error()
        if failed is None:
            raise
        print(f"error: standard output could not be written: {failed.strerror}", file=sys.stderr)
        raise SystemExit(2) from None
    except IsonomiaError as error:
        console = new_console(stderr=True, wrap=False)
        console.print(Text.assemble(("error: ", "bold red"), str(error)))
        raise SystemExit(2) from None
    except Exception:
        print(visible(traceback.format_exc()), end="", file=sys.stderr)
        print("error: this should not happen; please report it with the lines above", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(130) from None
