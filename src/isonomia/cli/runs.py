"""``isonomia runs``: the runs that are kept."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from isonomia.cli.records import HERE, Records, open_store

__all__ = ["runs"]


def runs(records: Records = HERE) -> None:
    """List the runs that are kept, the latest first.

    Example: isonomia runs
    """
    store = open_store(records)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("run", "audit", "begun", "properties", "answers"):
        table.add_column(heading, overflow="fold", no_wrap=heading in {"run", "begun"})
    for run in store.runs():
        checks = store.checks(run.id)
        answers: list[str] = [check.verdict.answer for check in checks if check.verdict is not None]
        answers += ["could not be checked" for check in checks if check.verdict is None and check.error is not None]
        told = ", ".join(f"{answers.count(each)} {each}" for each in sorted(set(answers), reverse=True))
        state = told if run.ended else f"cut off; {told}" if told else "cut off"
        table.add_row(Text(run.id), Text(run.title), run.begun.replace("T", " ")[:19], str(len(checks)), state)
    Console(highlight=False).print(
        table if table.row_count else "no run is kept here: isonomia run AUDIT.toml makes one"
    )
