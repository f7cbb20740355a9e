"""What is kept of an audit: verdicts, with everything that they rest on.

A verdict is one of *holds*, *violated* and *undecided*. The first two are wrong with probability at most the ``risk``
that the verdict states; the third says that the draws so far allow either answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isonomia.records.verdict import Expression, GroupRecord, LeafRecord, Verdict, render_with

if TYPE_CHECKING:
    from isonomia.records.violations import ViolationSet

__all__ = ["Expression", "GroupRecord", "LeafRecord", "Verdict", "ViolationSet"]


def _text(verdict: Verdict) -> str:
    from isonomia.records.display.text import as_text

    return as_text(verdict)


def _html(verdict: Verdict) -> str:
    from isonomia.records.display.html import as_html

    return as_html(verdict)


render_with(text=_text, html=_html)


def __getattr__(name: str) -> Any:
    """Import what needs NumPy when it is first used."""
    if name != "ViolationSet":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from isonomia.records.violations import ViolationSet

    return ViolationSet
