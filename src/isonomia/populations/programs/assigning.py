"""Which variables the statements of a program set, how often, and whether by chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isonomia.populations.programs.mechanisms import Mechanism
from isonomia.spec.programs.tree import Assign, If, Statement, draws_of

__all__ = ["assignments", "most_assignments", "set_by_chance"]


def assignments(statements: Sequence[Statement | Mechanism]) -> Iterator[Assign | Mechanism]:
    """Every assignment, those within branches included."""
    for statement in statements:
        if isinstance(statement, If):
            yield from assignments(statement.then)
            yield from assignments(statement.otherwise)
        else:
            yield statement


def set_by_chance(statements: Sequence[Statement | Mechanism], by_chance: bool = False) -> Iterator[str]:
    """The variables that are drawn, or set on one of several ways that are chosen by chance."""
    for item in statements:
        match item:
            case If(condition, then, otherwise):
                chance = by_chance or bool(draws_of(condition))
                yield from set_by_chance((*then, *otherwise), chance)
            case Mechanism(target=target):
                if item.random:
                    yield target
            case Assign(target, value):
                if by_chance or draws_of(value):
                    yield target


def most_assignments(statements: Sequence[Statement | Mechanism], name: str) -> int:
    """How often a variable is set, on the way that sets it most often."""
    return sum(
        max(most_assignments(statement.then, name), most_assignments(statement.otherwise, name))
        if isinstance(statement, If)
        else int(statement.target == name)
        for statement in statements
    )
