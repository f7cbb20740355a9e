"""Which leaves, columns, outputs of the model and versions of a person a formula speaks of."""

from __future__ import annotations

from collections.abc import Sequence

from isonomia.errors import Place, SpecError, nearest
from isonomia.spec.tree import Column, Formula, Leaf, Mean, Output, PairCall, Rate
from isonomia.spec.versions import AsIf, Do, Other, Setting, Version
from isonomia.spec.walk import Node, nodes

__all__ = ["check_names", "columns_of", "leaves_of", "outputs_of", "versions_of"]


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
                raise SpecError(message, node.place)


def _check_columns(names: Sequence[str], known: Sequence[str], place: Place | None) -> None:
    for name in names:
        if name not in known:
            raise SpecError(_unknown(name, known), place)


def _unknown(name: str, known: Sequence[str]) -> str:
    hint = nearest(name, known)
    listed = ", ".join(map(repr, known[:12])) + (", ..." if len(known) > 12 else "")
    if name in {"prediction", "score"}:
        hint = f" The model's {name} is not a column: write {name} without backticks, isonomia.{name} in Python."
    return f"there is no column {name!r}.{hint or f' The columns are {listed or chr(0x2014)}.'}"
