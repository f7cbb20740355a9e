"""How states and answers look on a terminal: a colour, a sign and a word, so that none of them is needed alone."""

from __future__ import annotations

from rich.console import Console

from isonomia.report.standing import FAILED, OPEN

__all__ = ["SIGNED", "STYLED", "sign_of"]

STYLED = {
    "holds": "green",
    "violated": "bold red",
    "undecided": "yellow",
    FAILED: "bold magenta",
    OPEN: "yellow",
    "running": "cyan",
    "waiting": "dim",
}
"""The colour of each state."""

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
    return told if console.encoding.lower().startswith("utf") else told.lstrip("✔✘ ")
