"""Making sure that a population's streams can give the people whom each leaf is about, and second persons too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from isonomia.errors import SpecError
from isonomia.evidence.channels import stream_of
from isonomia.spec.groups import conjuncts
from isonomia.spec.names import versions_of
from isonomia.spec.text import to_text
from isonomia.spec.tree import (
    Column,
    Compare,
    Leaf,
    Literal,
    Member,
    Missing,
    Output,
    Row,
    RowJunction,
    RowNegative,
    RowNot,
)
from isonomia.spec.versions import Other

__all__ = ["need_streams"]


def need_streams(leaves: Sequence[Leaf], streams: Sequence[Row | None]) -> None:
    """Make sure that each leaf can be read from a stream.

    A stream gives the people of one group, and its second persons are of that group too. So a leaf that speaks of a
    second person must say of both that they belong to it; otherwise ``other`` would stand for fewer people than it
    says.

    Raises
    ------
    SpecError
        Where no stream gives a leaf's people.
    """
    for leaf in leaves:
        index = stream_of(leaf, streams)
        if index is None:
            raise SpecError(
                f"{to_text(leaf)} has {_condition(leaf)}, but this population can only be drawn by its streams, "
                f"{_listed(streams)}: each leaf's condition must name one of them",
                leaf.place,
            )
        if Other() in versions_of(leaf) and not _of_both(streams[index], leaf):
            raise SpecError(
                f"{to_text(leaf)} speaks of a second person drawn from everybody, but this population can only be "
                f"drawn by its streams, {_listed(streams)}: the leaf's condition must say of both persons that they "
                "belong to the same one",
                leaf.place,
            )


def _of_both(condition: Row | None, leaf: Leaf) -> bool:
    said = set(conjuncts(leaf.given))
    return all(_of_the_other(part) in said for part in conjuncts(condition))


def _of_the_other(row: Row) -> Row | None:
    """The same condition said of a second person; ``None`` where it cannot be said."""
    match row:
        case Literal():
            return row
        case Column(version=None) | Output(version=None):
            return replace(row, version=Other())
        case RowNot(operand) | Missing(operand) | RowNegative(operand) | Member(operand):
            inner = _of_the_other(operand)
            return None if inner is None else replace(row, operand=inner)
        case Compare(_, left, right):
            first, second = _of_the_other(left), _of_the_other(right)
            return None if first is None or second is None else replace(row, left=first, right=second)
        case RowJunction(_, operands):
            parts = tuple(part for part in map(_of_the_other, operands) if part is not None)
            return replace(row, operands=parts) if len(parts) == len(operands) else None
        case _:
            return None


def _condition(leaf: Leaf) -> str:
    return "no condition" if leaf.given is None else f"the condition {to_text(leaf.given)}"


def _listed(streams: Sequence[Row | None]) -> str:
    return " and ".join("everybody" if row is None else to_text(row) for row in streams)
