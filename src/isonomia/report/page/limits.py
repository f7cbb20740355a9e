"""How much of a record a page shows, so that it opens at once whatever the record holds."""

from __future__ import annotations

from dataclasses import dataclass

_ALL_CASES = 1_500_000
"""Characters of counterexamples on a page, over all its properties."""


@dataclass(frozen=True, slots=True)
class PageLimits:
    """How much a page shows of one property; it says in words what is left out."""

    cases: int = 10  # counterexamples
    case_characters: int = 200_000  # characters of all its counterexamples together
    features: int = 60  # features of a counterexample, those that differ first
    value: int = 300  # characters of a value
    rows: int = 60  # rows of a chart and of its table
    points: int = 400  # points of the chart of how an interval closed in
    notes: int = 40  # remarks, and assumptions
    text: int = 6_000  # characters of the property's text


def limits_for(properties: int) -> PageLimits:
    """The limits of a page for this many properties: the more there are, the less of each."""
    share = _ALL_CASES // max(properties, 1)
    if properties <= 50:
        return PageLimits(case_characters=min(share, 200_000))
    if properties <= 300:
        return PageLimits(cases=5, case_characters=share, features=30, rows=30, points=120, notes=20, text=3_000)
    return PageLimits(cases=3, case_characters=share, features=12, value=120, rows=12, points=25, notes=10, text=1_200)
