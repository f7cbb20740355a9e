"""What can be told about two groups from their conditions alone: whether they can meet, whether one lies in the other.

Both questions are one: can a conjunction be true of any row? A conjunction is split into tests, a disjunction into
cases, and each case is searched for a contradiction. The answer is one-sided: *yes* is certain whatever the data,
*no* means only that it was not shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from isonomia.spec.facts import OPPOSITE, OUTCOMES, Fact, contradictory
from isonomia.spec.tree import (
    Column,
    Compare,
    Literal,
    Member,
    Missing,
    Output,
    Row,
    RowJunction,
    RowNot,
    RowRelation,
    Variable,
)

__all__ = ["conjuncts", "disjoint", "implies"]

_MOST_CASES = 512
_FLIPPED: dict[RowRelation, RowRelation] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def conjuncts(row: Row | None) -> tuple[Row, ...]:
    """The conditions that a condition is the conjunction of; none for ``None``, which is everybody."""
    if row is None:
        return ()
    if isinstance(row, RowJunction) and row.connective == "and":
        return tuple(part for operand in row.operands for part in conjuncts(operand))
    return (row,)


def disjoint(a: Row | None, b: Row | None) -> bool:
    """Whether it is certain that no row satisfies both conditions.

    Parameters
    ----------
    a, b
        Two conditions; ``None`` is everybody.

    Returns
    -------
    bool
        True only where the syntax proves it, for every table and with missing values as in
        :mod:`isonomia.spec.rows`. A condition that nothing satisfies is disjoint from everything.
    """
    return _impossible((*conjuncts(a), *conjuncts(b)))


def implies(a: Row | None, b: Row | None) -> bool:
    """Whether it is certain that every row which satisfies ``a`` satisfies ``b``; ``None`` is everybody."""
    return all(_impossible((*conjuncts(a), RowNot(condition))) for condition in conjuncts(b))


# ---------------------------------------------------------------------------- cases


@dataclass(frozen=True, slots=True)
class _Test:
    """A test that must come out true, or one that must come out false."""

    row: Row
    wanted: bool


_Case: TypeAlias = tuple[_Test, ...]


def _impossible(conditions: Iterable[Row]) -> bool:
    cases: list[_Case] = [()]
    for condition in conditions:
        cases = [(*case, *more) for case in cases for more in _cases(condition, True)]
        if len(cases) > _MOST_CASES:
            return False
    return all(_is_contradiction(case) for case in cases)


def _cases(row: Row, wanted: bool) -> list[_Case]:
    """The ways in which a condition can come out as wanted, each a conjunction of tests."""
    match row:
        case RowNot():
            return _cases(row.operand, not wanted)
        case Literal(bool() as value):
            return [()] if value == wanted else []
        case RowJunction() if (row.connective == "and") == wanted:
            cases: list[_Case] = [()]
            for operand in row.operands:
                cases = [(*case, *more) for case in cases for more in _cases(operand, wanted)][: _MOST_CASES + 1]
            return cases
        case RowJunction():
            return [case for operand in row.operands for case in _cases(operand, wanted)]
        case Column() | Output() | Variable():
            return [(_Test(Compare("==", row, Literal(True)), wanted),)]
        case _:
            return [(_Test(row, wanted),)]


# ---------------------------------------------------------------------------- contradictions


@dataclass(frozen=True, slots=True)
class _Said:
    """A test taken apart: what it is about, and what it says of that.

    ``about`` is one term, or a pair of terms that are compared. ``fact`` is ``None`` for ``is missing``.
    """

    about: tuple[Row, ...]
    fact: Fact | None
    wanted: bool


def _is_contradiction(case: _Case) -> bool:
    wanted = {test.row for test in case if test.wanted}
    if any(test.row in wanted for test in case if not test.wanted):
        return True
    said = [part for test in case for part in _taken_apart(test)]
    return any(_clash([part for part in said if part.about == about]) for about in {part.about for part in said})


def _taken_apart(test: _Test) -> Iterator[_Said]:
    match test.row:
        case Missing(operand):
            yield _Said((operand,), None, test.wanted)
        case Member(operand, values):
            known = tuple(value.value for value in values if isinstance(value, Literal))
            if len(known) == len(values):
                yield _Said((operand,), Fact("==", known), test.wanted)
        case Compare(_, Literal(), Literal()):
            pass
        case Compare(relation, left, Literal(value)):
            yield _Said((left,), Fact(relation, (value,)), test.wanted)
        case Compare(relation, Literal(value), right):
            yield _Said((right,), Fact(_FLIPPED[relation], (value,)), test.wanted)
        case Compare(relation, left, right):
            yield _Said((left, right), Fact(relation, ()), test.wanted)
            yield _Said((right, left), Fact(_FLIPPED[relation], ()), test.wanted)
        case _:
            pass


def _clash(said: list[_Said]) -> bool:
    missing = any(part.fact is None and part.wanted for part in said)
    there = any((part.fact is not None) == part.wanted for part in said)
    if missing and there:
        return True
    # A test that comes out false says something about the value only where the value is known to be there.
    facts = [fact for part in said for fact in _facts(part, there)]
    if len(said[0].about) == 2:
        return not frozenset.intersection(frozenset({-1, 0, 1}), *(OUTCOMES[fact.relation] for fact in facts))
    return contradictory(facts)


def _facts(part: _Said, there: bool) -> list[Fact]:
    if part.fact is None:
        return []
    if part.wanted:
        return [part.fact]
    if not there:
        return []
    opposite = OPPOSITE[part.fact.relation]
    return [Fact(opposite, (value,)) for value in part.fact.values] or [Fact(opposite, ())]
