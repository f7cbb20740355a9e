"""Which leaves, columns and outputs of the model a formula speaks of."""

from __future__ import annotations

from collections.abc import Sequence

from isonomia.errors import SpecError, nearest
from isonomia.spec.tree import Column, Formula, Leaf, Mean, Output, Rate
from isonomia.spec.walk import Node, nodes

__all__ = ["check_names", "columns_of", "leaves_of", "outputs_of"]


def leaves_of(formula: Node) -> tuple[Leaf, ...]:
    """The rates and means of a formula, each once, in the order in which they first appear."""
    return tuple(dict.fromkeys(node for node in nodes(formula) if isinstance(node, Rate | Mean)))


def columns_of(node: Node) -> tuple[str, ...]:
    """The names of the columns used anywhere, also by a ``for``, each once, in the order of first appearance."""
    return tuple(dict.fromkeys(part.name for part in nodes(node) if isinstance(part, Column)))


def outputs_of(node: Node) -> tuple[Output, ...]:
    """What is used of the model's answers, each once, in the order of first appearance."""
    return tuple(dict.fromkeys(part for part in nodes(node) if isinstance(part, Output)))


def check_names(formula: Formula, known: Sequence[str], has_model: bool) -> None:
    """Make sure that everything a formula names is there.

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
        if isinstance(node, Column) and node.name not in known:
            raise SpecError(_unknown(node.name, known), node.place)
        if isinstance(node, Output) and not has_model and (node.name not in known or node.label is not None):
            message = f"there is no `{node.name}`: pass a model, or a table that has a column {node.name!r}"
            raise SpecError(message, node.place)


def _unknown(name: str, known: Sequence[str]) -> str:
    hint = nearest(name, known)
    listed = ", ".join(map(repr, known[:12])) + (", ..." if len(known) > 12 else "")
    return f"there is no column {name!r}.{hint or f' The columns are {listed or chr(0x2014)}.'}"
