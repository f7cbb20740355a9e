"""What is counted, and among whom: the decision that a person gets, the outcome, and further conditions."""

from __future__ import annotations

from typing import Any

from isonomia.errors import UsageError
from isonomia.spec.fairness.arguments import shown
from isonomia.spec.operators import col, prediction
from isonomia.spec.parse import parse_condition
from isonomia.spec.terms import Term

__all__ = ["both", "condition_of", "favourable_event", "term_of"]


def term_of(argument: str, value: Any) -> Term:
    """A term, or the column of a name."""
    if isinstance(value, Term):
        return value
    if isinstance(value, str) and value:
        return col(value)
    raise UsageError(f"{argument} must be the name of a column, or a term such as prediction, but it is {shown(value)}")


def favourable_event(favourable: Any, decision: Any) -> Term:
    """That a person gets the favourable decision: a condition by itself, or a value of the decision."""
    term = term_of("decision", decision)
    if not isinstance(favourable, Term):
        event: Term = term == favourable
        return event
    if term.node != prediction.node:
        raise UsageError(
            f"favourable is the condition {favourable!r}, which says by itself what is favourable, so decision cannot "
            f"be given as well, but it is {decision!r}"
        )
    return favourable


def condition_of(argument: str, value: Any) -> Term | None:
    """A condition from a term or from text; ``None`` where there is none."""
    if value is None or isinstance(value, Term):
        return value
    if isinstance(value, str):
        return Term(parse_condition(value))
    raise UsageError(f"{argument} must be a condition, such as col('age') >= 18 or its text, but it is {shown(value)}")


def both(first: Term, second: Term | None) -> Term:
    """One condition and another, where there is another."""
    return first if second is None else first & second
