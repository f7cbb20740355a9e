"""``isonomia demo``: a complete audit of a simulated hiring model, and its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from isonomia.cli.outputs import conclude, new_console
from isonomia.errors import UsageError

if TYPE_CHECKING:
    from isonomia.report.entries import Entry

PAGE = Path("isonomia-demo.html")


def demo(
    seed: int = 1,
    report: Path = PAGE,
    no_report: bool = False,
    show_it: bool = False,
) -> None:
    """Audit a hiring model over a simulated population, and write the report.

    Audits a small model trained on unfair decisions with seven properties: rates, pairs of runs,
    recourse and counterfactuals.

    Example: isonomia demo
    """
    from isonomia.cli.hiring import DELTA, FEW, answers
    from isonomia.engine.parameters import root
    from isonomia.report import LiveProgress, show

    root(seed)  # refuses what is not a seed before anything is printed
    console = new_console()
    console.print(Rule("Isonomia: an audit of a hiring model", style="cyan"))
    console.print(
        "A model was trained on 4,000 past decisions. It sees experience, test score and distance, never sex. The "
        f"properties are checked on simulated applicants at a risk of {DELTA:g}; for the small sample, and for "
        f"properties of single people, there are {FEW} of them.\n"
    )
    entries = []
    for question, entry in answers(seed, LiveProgress(new_console(stderr=True))):
        if question.brief:
            _show_briefly(entry, console)
        else:
            show(entry.verdict, console, entry.explanation)
        entries.append(entry)
    console.print()
    code = conclude([entry.verdict for entry in entries], console, None)
    console.print(f"\nexit code {code}: {_meaning(code)}.", style="dim")
    if not no_report:
        _offer(console, entries, report, show_it)
    console.print("Next, with a model and a table of your own: isonomia init MODEL DATA", style="dim")
    raise typer.Exit(code)


def _show_briefly(entry: Entry, console: Console) -> None:
    """The claim and the finding; the report has the rest."""
    from isonomia.records.display.view import view_of
    from isonomia.report.terminal import COLOURS, title_of

    verdict = entry.verdict
    content = Text.assemble((f"{entry.explanation}\n", "italic"), view_of(verdict).finding(verdict, True))
    title, colour = title_of(verdict.answer, entry.name, console), COLOURS[verdict.answer]
    console.print(Panel(content, title=title, title_align="left", border_style=colour, padding=(0, 1)))


def _meaning(code: int) -> str:
    return {
        0: "every property holds",
        1: "a property is violated, which is what stops a pipeline",
        3: "no property is violated, but one is undecided",
    }[code]


def _offer(console: Console, entries: list[Entry], target: Path, show_it: bool) -> None:
    """Write the report, print its path, and open it with ``--open``; the demonstration succeeds without it."""
    from isonomia.report.entries import AuditReport
    from isonomia.report.page import write_page

    try:
        write_page(AuditReport("A hiring model", tuple(entries)), target)
    except UsageError as error:
        console.print(f"no report was written: {error}", style="dim", soft_wrap=True)
        return
    console.print(
        Text.assemble("the report: ", (str(target), "bold"), ", one page that needs nothing else"), soft_wrap=True
    )
    if show_it:
        typer.launch(target.resolve().as_uri())
