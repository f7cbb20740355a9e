"""Row expressions in plain English, as the end of "people ..." or of "those ..."."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isonomia.spec.lexemes import value_text
from isonomia.spec.text import chain_of
from isonomia.spec.tree import (
    Call,
    Column,
    Compare,
    Do,
    Literal,
    Member,
    Missing,
    Output,
    PairCall,
    Row,
    RowArithmetic,
    RowJunction,
    RowNegative,
    RowNot,
    Variable,
)
from isonomia.spec.version_phrases import feature_phrase, join_words, sameness_phrase, speaks_of_versions

__all__ = ["condition_phrase", "event_phrase", "term_phrase"]

_EVENT = {
    "==": "equal to",
    "!=": "other than",
    "<": "below",
    "<=": "at most",
    ">": "above",
    ">=": "at least",
}
_CONDITION = {relation: f"is {words}" for relation, words in _EVENT.items()} | {"==": "is", "!=": "is not"}
_SIGNS = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}
_FUNCTIONS = {"min": "the smallest of", "max": "the largest of"}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def event_phrase(row: Row) -> str:
    """An event as the end of "people ...": ``with prediction equal to 1``."""
    return _phrase(row, event=True)


def condition_phrase(row: Row) -> str:
    """A condition as the end of "those ...": ``whose sex is 'F'``."""
    return _phrase(row, event=False)


def _phrase(row: Row, *, event: bool) -> str:
    lead = "with" if event else "whose"
    match row:
        case RowJunction(connective, operands):
            links = chain_of(row)
            if links and len(links) == 2 and isinstance(links[0].left, Literal):
                versions = speaks_of_versions(row)
                return f"{'for whom' if versions else lead} {_between(links, event=event and not versions)}"
            parts = [_phrase(operand, event=event) for operand in operands]
            parts = [
                f"({part})" if isinstance(x, RowJunction) else part for x, part in zip(operands, parts, strict=True)
            ]
            return f"{'either ' if connective == 'or' else ''}{join_words(parts, connective)}"
        case RowNot(Compare() | RowJunction() | RowNot() as inner):
            return f"for whom it is not true that {_clause(inner)}"
        case Literal():
            return "of any kind" if row.value is True else f"for whom {value_text(row.value)} is true"
        case _ if speaks_of_versions(row):
            return f"{'whose' if sameness_phrase(row) else 'for whom'} {_clause(row)}"
        case _:
            return f"{lead} {_test(row, event=event)}"


def _test(row: Row, *, event: bool) -> str:
    """A single test without its leading word: ``sex is 'F'``, or for an event ``sex equal to 'F'``."""
    be = "" if event else "is "
    match row:
        case Compare(relation, Literal() as left, right) if not isinstance(right, Literal):
            return _test(Compare(_FLIPPED[relation], right, left), event=event)  # type: ignore[arg-type]
        case Compare(relation, left, right):
            words = (_EVENT if event else _CONDITION)[relation]
            return f"{term_phrase(left)} {words} {term_phrase(right)}"
        case Member(operand, values):
            return f"{term_phrase(operand)} {'equal to' if event else 'is'} {_values(values, 'or')}"
        case RowNot(Member(operand, values)):
            return f"{term_phrase(operand)} {be}none of {_values(values, 'and')}"
        case Missing(operand):
            return f"{term_phrase(operand)} {be}missing"
        case RowNot(Missing(operand)):
            return f"{term_phrase(operand)} {be}not missing"
        case RowNot(operand):
            return f"{term_phrase(operand)} {be}false"
        case _:
            return f"{term_phrase(row)} {be}true"


def _between(links: Sequence[Compare], *, event: bool) -> str:
    low, high = links
    strict = {low.relation, high.relation} == {"<"}
    middle = term_phrase(low.right)
    if strict or {low.relation, high.relation} == {"<="}:
        words = f"{'strictly ' if strict else ''}between {term_phrase(low.left)} and {term_phrase(high.right)}"
        return f"{middle} {words}" if event else f"{middle} is {words}"
    first = _test(Compare(low.relation, low.left, low.right), event=event)
    return f"{first} and {(_EVENT if event else _CONDITION)[high.relation]} {term_phrase(high.right)}"


def _clause(row: Row) -> str:
    """A whole clause: ``sex is 'F' and age is below 25``."""
    match row:
        case RowJunction(connective, operands):
            parts = [f"({_clause(x)})" if isinstance(x, RowJunction) else _clause(x) for x in operands]
            return join_words(parts, connective)
        case RowNot(Compare() | RowJunction() | RowNot() as inner):
            return f"not ({_clause(inner)})"
        case _:
            return sameness_phrase(row) or _test(row, event=False)


def _values(values: Iterable[Literal | Variable], word: str) -> str:
    return join_words([term_phrase(value) for value in values], word)


def term_phrase(row: Row) -> str:
    """A term in words: ``income divided by 12``."""
    match row:
        case Column() | Output():
            return feature_phrase(row)
        case Variable():
            return row.name
        case PairCall():
            return f"{row.name}(person, second person)"
        case Literal():
            return value_text(row.value)
        case RowNegative(operand):
            return f"minus {_grouped(operand)}"
        case RowArithmetic(sign, left, right):
            return f"{_grouped(left)} {_SIGNS[sign]} {_grouped(right)}"
        case Call("abs", (argument,)):
            return f"the absolute value of {_grouped(argument)}"
        case Call(function, arguments):
            return f"{_FUNCTIONS[function]} {join_words(map(_grouped, arguments), 'and')}"
        case _:
            return f"the truth of ({_clause(row)})"


def _grouped(row: Row) -> str:
    simple = isinstance(row, Column | Variable | Output | Literal | PairCall)
    counterfactual = isinstance(row, Column | Output) and isinstance(row.version, Do)
    return term_phrase(row) if simple and not counterfactual else f"({term_phrase(row)})"
