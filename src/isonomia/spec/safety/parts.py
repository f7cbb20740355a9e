"""What expressions of a specification do with records: read a feature, set one, draw a number."""

from __future__ import annotations

from collections.abc import Callable

from isonomia.spec.nomos.tree import Binary, Call, Constant, Expression, Feature, Name, Unary, Update

__all__ = ["ends_of", "feature_read", "feature_set", "names_in", "rebuilt"]


def ends_of(node: Expression) -> tuple[float, float] | None:
    """The ends of a number that is drawn between two constants."""
    match node:
        case Call(function="randInt" | "randReal", domain=None, arguments=(low, high)):
            ends = _constant(low), _constant(high)
            return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])
        case _:
            return None


def _constant(node: Expression) -> float | None:
    """The number that is written; ``-3`` is one constant as it is read."""
    match node:
        case Constant(value=int() | float() as number):
            return number
        case _:
            return None


def rebuilt(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The same expression with each of its direct parts changed."""
    match node:
        case Unary():
            return Unary(node.operator, change(node.operand))
        case Binary():
            return Binary(node.operator, change(node.left), change(node.right))
        case Call():
            return Call(node.function, tuple(map(change, node.arguments)), node.domain)
        case Feature():
            return Feature(change(node.record), node.feature)
        case Update():
            return Update(change(node.record), node.feature, change(node.value))
        case Constant() | Name():
            return node


def names_in(node: Expression) -> set[str]:
    """The names that an expression uses."""
    found: set[str] = set()

    def collected(part: Expression) -> Expression:
        if isinstance(part, Name):
            found.add(part.name)
        return rebuilt(part, collected)

    collected(node)
    return found


def feature_read(node: Expression, function: str = "getFeat") -> tuple[Expression, str] | None:
    """The record and the feature of ``getFeat(x1, "age")`` or ``x1.age``."""
    match node:
        case Call(domain=None, arguments=(record, Constant(value=str() | int() as feature))) if (
            node.function == function
        ):
            return record, _written(feature)
        case Feature(record=record, feature=name) if function == "getFeat":
            return record, name
        case _:
            return None


def feature_set(node: Expression) -> tuple[Expression, str, Expression] | None:
    """The record, the feature and the value of ``setFeat(x1, "age", v)`` or ``x1[age := v]``."""
    match node:
        case Call(function="setFeat", domain=None, arguments=(record, Constant(value=str() | int() as feature), value)):
            return record, _written(feature), value
        case Update(record=record, feature=name, value=value):
            return record, name, value
        case _:
            return None


def _written(feature: str | int) -> str:
    """A feature as it stands behind a dot; the one with the number 3 is ``f3``."""
    return feature if isinstance(feature, str) else f"f{feature}"
