"""The command's front door: help, version, and errors without tracebacks."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperCommand

from isonomia.cli.check import check, plan
from isonomia.cli.demo import demo
from isonomia.cli.file import file
from isonomia.cli.init import init
from isonomia.cli.measure import measure
from isonomia.cli.options import with_options
from isonomia.cli.outputs import guard_streams, new_console, output_error, refuse_inputs
from isonomia.cli.principal import principal
from isonomia.cli.records import compare, export, report, runs, show
from isonomia.cli.repair import repair
from isonomia.cli.replay import replay
from isonomia.cli.responsiveness import responsiveness
from isonomia.cli.run import register, run
from isonomia.cli.watch import watch
from isonomia.errors import IsonomiaError
from isonomia.version import __version__
from isonomia.wording import listed, visible

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

COMMANDS: Mapping[str, Mapping[Callable[..., None], str]] = {
    "Whole audits": {
        demo: "Audit a made-up hiring model, and write the report.",
        init: "Draft an audit file from a model and a table.",
        register: "Write down an audit before any answer is seen.",
        run: "Check every property of an audit file.",
        watch: "Judge decisions in production, as they come.",
    },
    "Single checks": {
        measure: "Measure decisions by group, with intervals.",
        check: "Check properties of a model and a table.",
        principal: "Check principal fairness: like people, treated alike.",
        responsiveness: "Check what people can do about a prediction.",
        plan: "Say how many samples a check will take.",
        repair: "Train a model again on its violations.",
    },
    "Records of earlier runs": {
        runs: "List the runs that are kept.",
        show: "Show every verdict of a run.",
        report: "Write the report of a run as one page.",
        compare: "Compare two runs, property by property.",
        export: "Write a run as one sealed evidence file.",
        file: "Write the document that a rule asks for.",
        replay: "Compute the verdicts of an evidence file once more.",
    },
}
"""The commands by what they are for, in the order of the help, each in one line."""


def _unwrapped(command: Callable[..., None]) -> str:
    """A command's docstring with a line for each paragraph: the help is wrapped for the terminal, and only there."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


class _Command(TyperCommand):
    """A command that never writes over what it reads.

    It says of an option of another command whose it is: ``--pack`` is one of ``isonomia file``.
    """

    def invoke(self, ctx: Any) -> Any:
        arguments = {each.name for each in self.params if each.param_type_name == "argument"}
        named = {name: value for name, value in ctx.params.items() if name in arguments}
        refuse_inputs({name: value for name, value in ctx.params.items() if name not in arguments}, named)
        return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # Typer has its own copy of Click, or Click itself: what both have in common is the name of the option.
            name, commands = getattr(error, "option_name", None), getattr(ctx.parent, "command", None)
            own = {option for parameter in self.params for option in parameter.opts}
            if name is None or name in own:
                raise
            others = getattr(commands, "commands", {}).items()
            owners = [each for each, command in others if any(name in one.opts for one in command.params)]
            if not owners:
                raise
            message = f"{name} is not an option of isonomia {self.name}, but of isonomia {listed(owners[:4], 'and')}"
            raise type(error)(name, message, ctx=ctx) from error  # type: ignore[call-arg]


def _add_commands() -> None:
    for panel, commands in COMMANDS.items():
        for command, line in commands.items():
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
