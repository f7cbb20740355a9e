"""The console through which every command prints: nothing that comes from outside has a meaning for the terminal.

Names of properties, titles of runs, values of tables and texts of errors come from files that somebody else may have
written. An escape sequence in one of them could clear the screen or change a verdict that is printed above it, and a
character that turns the direction of writing could make a line say something else. In a job of GitHub a line that
begins with two colons is an order to what runs the job: to hide words, or to stop listening.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from isonomia.wording import visible

__all__ = ["new_console"]


def new_console(*, stderr: bool = False, wrap: bool = True) -> Console:
    """A console that shows control characters instead of sending them; without ``wrap``, lines stay as they are."""
    return _ShieldedConsole(stderr=stderr, highlight=False, soft_wrap=not wrap)


class _ShieldedConsole(Console):
    """A console in whose text every control character is made visible.

    Rich has no other place through which everything passes, the lines of a progress bar among it. Colours are not text
    there yet, and what moves the cursor of a progress bar is marked as control.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is printed, piece by piece."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(_harmless(segment.text), segment.style)


_ORDER = re.compile(r"^(\s*):(?=:)|##(?=\[)", re.MULTILINE)
"""What GitHub's runner takes for an order: two colons, blanks before them aside, or two signs of a number anywhere."""


def _harmless(text: str) -> str:
    """The text without a meaning for the terminal, or for what runs a job."""
    shown = visible(text)
    if "GITHUB_ACTIONS" not in os.environ or not _ORDER.search(shown):
        return shown
    return _ORDER.sub(lambda match: f"{match[1]}\N{MODIFIER LETTER COLON}" if match[1] is not None else "# #", shown)
