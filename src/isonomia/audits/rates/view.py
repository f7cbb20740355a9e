"""What renderers show of a verdict about rates: its quantities with their thresholds, and its text explained."""

from __future__ import annotations

from isonomia.errors import IsonomiaError
from isonomia.records.display.view import RATES, View
from isonomia.records.verdict import Verdict

_LONGEST = 5_000
"""The longest formula that is explained, in characters; nobody reads the explanation of a longer one."""


def _explanation(verdict: Verdict) -> str | None:
    """The formula in plain English, parsed from the verdict's text."""
    from isonomia.spec import parse

    if len(verdict.text) > _LONGEST:
        return None
    try:
        return parse(verdict.text).explain()
    except (IsonomiaError, RecursionError):
        return None  # the text is from another version or program: it is shown as it is


VIEW = View(RATES, RATES, explain=_explanation)
