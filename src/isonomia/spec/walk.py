"""Going through a syntax tree without caring what each node means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from isonomia.errors import Place
from isonomia.spec.tree import (
    Arithmetic,
    AsIf,
    Call,
    Column,
    Compare,
    Comparison,
    Constant,
    Do,
    Each,
    Extreme,
    Formula,
    Implies,
    Junction,
    Literal,
    Mean,
    Member,
    Missing,
    Negative,
    Not,
    Other,
    Output,
    PairCall,
    Power,
    Quantity,
    Rate,
    Row,
    RowArithmetic,
    RowJunction,
    RowNegative,
    RowNot,
    Setting,
    Variable,
    Version,
)

__all__ = ["DEEPEST", "Node", "children", "depth_of", "nodes", "place_of"]

Node: TypeAlias = Row | Quantity | Formula | Version | Setting | AsIf

DEEPEST = 100
"""How many levels of nesting a formula may have. A sum of n terms has n - 1 levels; ``and``, ``or`` and ``min`` one."""


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below a node, in the order in which they are written.

    A ``for`` has its source first (the column, or the values written out), then what is excluded, then its body.
    A column or an answer of the model has its version, where it has one.
    """
    match node:
        case Column() | Output():
            return () if node.version is None else (node.version,)
        case Literal() | Variable() | Constant() | PairCall() | Other():
            return ()
        case RowNegative() | RowNot() | Missing() | Negative() | Not():
            return (node.operand,)
        case RowArithmetic() | Arithmetic() | Compare():
            return (node.left, node.right)
        case Call() | Extreme():
            return node.arguments
        case RowJunction() | Junction():
            return node.operands
        case Member():
            return (node.operand, *node.values)
        case Do():
            return node.items
        case AsIf():
            return node.settings
        case Setting():
            return (node.value,)
        case Power():
            return (node.base,)
        case Rate():
            return (node.event,) if node.given is None else (node.event, node.given)
        case Mean():
            return (node.term,) if node.given is None else (node.term, node.given)
        case Comparison():
            return (node.first, *(quantity for _, quantity in node.rest))
        case Implies():
            return (node.premise, node.conclusion)
        case Each():
            source = (node.source,) if isinstance(node.source, Column) else node.source
            return (*source, *node.excluded, node.body)


def nodes(root: Node) -> Iterator[Node]:
    """Every node of a tree, a parent before its children, in the order in which they are written."""
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def depth_of(root: Node) -> int:
    """How many levels a tree has; a leaf of the tree has one."""
    depth, level = 0, [root]
    while level:
        depth, level = depth + 1, [child for node in level for child in children(node)]
    return depth


def place_of(root: Node) -> Place | None:
    """Where a node stands in the text: its own place, or else that of the first node below it that has one."""
    for node in nodes(root):
        place: Place | None = getattr(node, "place", None)
        if place is not None:
            return place
    return None
