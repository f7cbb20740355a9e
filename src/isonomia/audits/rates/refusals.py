"""Comparisons that could be evaluated, but hardly mean what they say."""

from __future__ import annotations

from typing import Protocol

from isonomia.errors import SpecError, nearest
from isonomia.models.protocol import Model
from isonomia.spec.property import Property
from isonomia.spec.tree import Column, Compare, Literal, Member, Output, Variable
from isonomia.spec.walk import Node, nodes

__all__ = ["refuse_class", "refuse_classes", "refuse_orders"]


class Ordered(Protocol):
    """A table, or people, that know which order was declared for a column of categories."""

    def order(self, name: str, /) -> tuple[str, ...]:
        """The categories in their order; empty where none is declared."""


def refuse_classes(prop: Property, model: Model) -> None:
    """Refuse a prediction that the model never makes: it is more often misspelled than meant.

    Raises
    ------
    SpecError
        With the classes that the model predicts, where it says which they are.
    """
    for node in nodes(prop.formula):
        refuse_class(node, model)


def refuse_class(node: Node, model: Model) -> None:
    """Refuse a comparison of the prediction with what the model never predicts, as far as it says what it does.

    Raises
    ------
    SpecError
        With the classes that the model predicts.
    """
    for item in _predicted(node) if model.classes else ():
        if isinstance(item, Literal) and item.value not in model.classes:
            known = ", ".join(repr(label) for label in model.classes[:8])
            hint = nearest(str(item.value), [str(label) for label in model.classes])
            raise SpecError(
                f"expected a class that {model.name} predicts, {known}, but {item.value!r} came.{hint}", item.place
            )


def _predicted(node: Node) -> tuple[Literal | Variable, ...]:
    """The values that a comparison holds a prediction against."""
    match node:
        case Compare("==" | "!=", Output(name="prediction"), Literal() as value):
            return (value,)
        case Compare("==" | "!=", Literal() as value, Output(name="prediction")):
            return (value,)
        case Member(Output(name="prediction"), values):
            return values
        case _:
            return ()


def refuse_orders(prop: Property, people: Ordered) -> None:
    """Text is ordered by its letters, which is not the order that somebody declared for categories."""
    for node in nodes(prop.formula):
        if not isinstance(node, Compare) or node.relation in {"==", "!="}:
            continue
        for side in (node.left, node.right):
            order = people.order(side.name) if isinstance(side, Column) else ()
            if order and isinstance(side, Column):
                raise SpecError(
                    f"{side.name!r} is a category with an order of its own ({', '.join(order[:8])}), and "
                    f"{node.relation} compares text by its letters: list the values that you mean, "
                    f"{side.name} in {{...}}",
                    node.place or side.place,
                )
