"""How states and answers look on a terminal: a colour, a sign and a word, so that none of them is needed alone."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from isonomia.report.standing import FAILED, OPEN

__all__ = ["COLOURS", "SIGNED", "STYLED", "is_fancy", "sign_of", "title_of"]

COLOURS = {"holds": "green", "violated": "red", "undecided": "yellow"}
"""The colour of each answer."""

STYLED = {
    **COLOURS,
    "violated": "bold red",
    FAILED: "bold magenta",
    OPEN: "yellow",
    "running": "cyan",
    "waiting": "dim",
}
"""The style of each state."""

SIGNED = {
    FAILED: "could not be checked",
    "violated": "violated",
    "undecided": "undecided",
    "running": "running",
    "waiting": "waiting",
    "holds": "hold",
}
"""The states, what needs attention first, as they are counted."""

_SIGNS = {"holds": "✔ holds", "violated": "✘ violated", "undecided": "? undecided", FAILED: "! error"}


def sign_of(state: str, console: Console) -> str:
    """A state with its sign, in characters that the terminal has."""
    told = _SIGNS.get(state, state)
    return told if is_fancy(console) else told.lstrip("✔✘? ")


def title_of(answer: str, name: str | None, console: Console) -> Text:
    """The title of a verdict: its answer in capitals with its sign, and its name where it has one."""
    title = Text(sign_of(answer, console).upper(), style=f"bold {COLOURS[answer]}")
    return title.append(f"  {name}", style="bold") if name else title


def is_fancy(console: Console) -> bool:
    """Whether the terminal has more characters than a typewriter."""
    return console.encoding.lower().startswith("utf")
