"""Numbering the draws of a program: the site of each is a variable and how many came before on the way there."""

from __future__ import annotations

from collections.abc import Iterable

from isonomia.spec.programs.tree import Site

__all__ = ["IF", "Sites"]

IF = "if"
"""The variable of a draw in a condition; no variable can have this name."""


class Sites:
    """How many draws were made so far for each variable, on the way to here.

    Two ways that exclude each other start from the same count and are joined by the larger one. So draws that stand
    for each other share a site, and no two draws that one person can meet share one.
    """

    __slots__ = ("_before", "_made")

    def __init__(self, before: Sites | None = None) -> None:
        self._before = before
        self._made: dict[str, int] = {}

    def made(self, variable: str) -> int:
        """How many draws were made for a variable."""
        way: Sites | None = self
        while way is not None:
            if variable in way._made:
                return way._made[variable]
            way = way._before
        return 0

    def next(self, variable: str) -> Site:
        """Make one more draw for a variable."""
        site = variable, self.made(variable)
        self._made[variable] = site[1] + 1
        return site

    def fork(self) -> Sites:
        """Set out on one of several ways from here; this count stays as it is until they are joined."""
        return Sites(self)

    def join(self, ways: Iterable[Sites]) -> None:
        """Go on where several ways from here meet."""
        for way in ways:
            for variable, made in way._made.items():
                self._made[variable] = max(made, self.made(variable))
