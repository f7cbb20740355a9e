"""Going through a tree: leaves, columns, outputs, versions.

Going through a syntax tree without caring what each node means.

Which leaves, columns, outputs of the model and versions of a person a formula speaks of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from isonomia.errors import Place, SpecError, nearest
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
    Leaf,
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

__all__ = [
    "DEEPEST",
    "Node",
    "check_names",
    "children",
    "columns_of",
    "depth_of",
    "leaves_of",
    "nodes",
    "outputs_of",
    "place_of",
    "versions_of",
]


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


def leaves_of(formula: Node) -> tuple[Leaf, ...]:
    """The rates and means of a formula, each once, in the order in which they first appear.

    Parameters
    ----------
    formula
        Of a property: ``property.formula``.
    """
    return tuple(dict.fromkeys(node for node in nodes(formula) if isinstance(node, Rate | Mean)))


def columns_of(node: Node, version: Version | None = None) -> tuple[str, ...]:
    """The names of the columns used anywhere, each once, in the order of first appearance.

    Parameters
    ----------
    node
        Any tree.
    version
        Of which version of a person; ``None`` is the person as they are, and includes the columns that a ``for`` runs
        over. What a ``do(...)`` sets is not among them.
    """
    return tuple(dict.fromkeys(name for part in nodes(node) for name in _columns(part, version)))


def _columns(part: Node, version: Version | None) -> tuple[str, ...]:
    match part:
        case Column():
            return (part.name,) if part.version == version else ()
        case PairCall():
            return part.columns if version is None or isinstance(version, Other) else ()
        case _:
            return ()


def outputs_of(node: Node, version: Version | None = None) -> tuple[Output, ...]:
    """What is used of the model's answers about one version of a person, each once, in the order of first appearance.

    ``None`` is the person as they are.
    """
    found = (part for part in nodes(node) if isinstance(part, Output))
    return tuple(dict.fromkeys(part for part in found if part.version == version))


def versions_of(node: Node) -> tuple[Version, ...]:
    """The versions of a person that are spoken of besides the person as they are, each once, in order of appearance."""
    found = (Other() if isinstance(part, PairCall) else part for part in nodes(node))
    return tuple(dict.fromkeys(part for part in found if isinstance(part, Do | Other)))


def check_names(formula: Formula, known: Sequence[str], has_model: bool) -> None:
    """Make sure that everything a formula names is there, also in other versions of a person and in what they set.

    Parameters
    ----------
    formula
        The formula.
    known
        The table's columns.
    has_model
        Whether there is a model to answer for ``prediction`` and ``score``.

    Raises
    ------
    SpecError
        For the first name that is not there, with the nearest one that is.
    """
    for node in nodes(formula):
        match node:
            case Column() | Setting() | AsIf():
                _check_columns((node.name,), known, node.place)
            case PairCall():
                _check_columns(node.columns, known, node.place)
            case Output() if not has_model and (node.name not in known or node.label is not None):
                message = f"there is no `{node.name}`: pass a model, or a table that has a column {node.name!r}"
                raise SpecError(message, node.place, name=node.name)


def _check_columns(names: Sequence[str], known: Sequence[str], place: Place | None) -> None:
    for name in names:
        if name not in known:
            raise SpecError(_unknown(name, known), place, name=name)


def _unknown(name: str, known: Sequence[str]) -> str:
    hint = nearest(name, known)
    listed = ", ".join(map(repr, known[:12])) + (", ..." if len(known) > 12 else "")
    if name in {"prediction", "score"}:
        hint = f" The model's {name} is not a column: write {name} without backticks, isonomia.{name} in Python."
    return f"there is no column {name!r}.{hint or f' The columns are {listed or chr(0x2014)}.'}"
