"""A whole term as it is for another version of a person: the second one of a pair, or the same one under changes."""

from __future__ import annotations

from dataclasses import replace

from isonomia.errors import UsageError
from isonomia.spec.persons import PersonVersion
from isonomia.spec.terms import Term
from isonomia.spec.text import to_text
from isonomia.spec.tree import (
    Call,
    Column,
    Compare,
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

__all__ = ["under"]


def under(person: PersonVersion, term: Term) -> Term:
    """The same term with every column and every answer of the model taken from another version of the person.

    Raises
    ------
    UsageError
        Where the term speaks of other versions already: a version of a version has no meaning here.
    """
    return Term(_under(person, term.node))


def _under(person: PersonVersion, row: Row) -> Row:
    match row:
        case Column() | Output():
            if row.version is not None:
                raise UsageError(_already(row))
            return person(Term(row)).node
        case Literal() | Variable():
            return row
        case RowNegative() | RowNot() | Missing() | Member():
            return replace(row, operand=_under(person, row.operand))
        case RowArithmetic() | Compare():
            return replace(row, left=_under(person, row.left), right=_under(person, row.right))
        case Call():
            return replace(row, arguments=tuple(_under(person, argument) for argument in row.arguments))
        case RowJunction():
            return replace(row, operands=tuple(_under(person, operand) for operand in row.operands))
        case PairCall():
            raise UsageError(_already(row))


def _already(row: Row) -> str:
    return (
        f"expected a term about one person as they are, but `{to_text(row)}` speaks of another version: the property "
        "itself says which versions are compared"
    )
