"""The kind of an expression: a number, a truth value or a text; and what goes where."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from isonomia.errors import SpecError
from isonomia.spec.programs.tree import (
    Arithmetic,
    Chain,
    Choice,
    Expression,
    Gaussian,
    Junction,
    Kind,
    Name,
    Negative,
    Not,
    Number,
    Step,
    Text,
    Truth,
)

__all__ = ["KIND_WORDS", "Lookup", "check_condition", "kind_of"]

Lookup: TypeAlias = Callable[[Name], Kind | None]
"""Tells the kind of a variable, ``None`` where it is not known; raises where the variable cannot be read."""

KIND_WORDS: dict[Kind | None, str] = {"number": "a number", "truth": "a truth value", "text": "a text", None: "unknown"}


def kind_of(expression: Expression, look_up: Lookup) -> Kind | None:
    """The kind of an expression; ``None`` where it hangs on a variable of unknown kind.

    Raises
    ------
    SpecError
        Where a part of it has a known kind that does not fit: a truth value in arithmetic, a number as a condition,
        two kinds that are compared, a text that is ordered.
    """
    match expression:
        case Number() | Step():
            return "number"
        case Truth():
            return "truth"
        case Text():
            return "text"
        case Name():
            return look_up(expression)
        case Negative(operand):
            return _numbers((operand,), look_up)
        case Arithmetic(_, left, right):
            return _numbers((left, right), look_up)
        case Gaussian(mean, variance):
            return _numbers((mean, variance), look_up)
        case Not(operand):
            return check_condition(operand, look_up)
        case Junction(_, operands):
            for operand in operands:
                check_condition(operand, look_up)
            return "truth"
        case Chain():
            return _chain(expression, look_up)
        case Choice():
            return _choice(expression, look_up)


def check_condition(expression: Expression, look_up: Lookup) -> Kind:
    """Make sure that an expression can be true or false."""
    kind = kind_of(expression, look_up)
    if kind not in ("truth", None):
        message = f"{_shown(expression)} is {KIND_WORDS[kind]}, but a condition must be true or false"
        name = expression.name if isinstance(expression, Name) else "x"
        example = f"{name} == 'a'" if kind == "text" else f"{name} > 0"
        raise SpecError(f"{message}: compare it, as in `{example}`", expression.place)
    return "truth"


def _numbers(operands: tuple[Expression, ...], look_up: Lookup) -> Kind:
    for operand in operands:
        kind = kind_of(operand, look_up)
        if kind not in ("number", None):
            message = f"{_shown(operand)} is {KIND_WORDS[kind]}, but a number is needed here"
            hint = ": turn it into 1 or 0 by an `if`" if kind == "truth" else ": compare it by `==` or `!=`"
            raise SpecError(message + hint, operand.place)
    return "number"


def _chain(chain: Chain, look_up: Lookup) -> Kind:
    left, left_kind = chain.first, kind_of(chain.first, look_up)
    for sign, right in chain.rest:
        right_kind = kind_of(right, look_up)
        if sign not in ("==", "!="):
            _check_ordered(sign, left, left_kind)
            _check_ordered(sign, right, right_kind)
        elif None not in (left_kind, right_kind) and left_kind != right_kind:
            message = f"`{sign}` compares {KIND_WORDS[left_kind]} with {KIND_WORDS[right_kind]}"
            raise SpecError(f"{message}: both sides must be of one kind", chain.place)
        left, left_kind = right, right_kind
    return "truth"


def _check_ordered(sign: str, operand: Expression, kind: Kind | None) -> None:
    if kind not in ("number", None):
        message = f"{_shown(operand)} is {KIND_WORDS[kind]}, but `{sign}` compares numbers"
        raise SpecError(f"{message}: texts and truth values have only `==` and `!=`", operand.place)


def _choice(choice: Choice, look_up: Lookup) -> Kind | None:
    check_condition(choice.condition, look_up)
    then, otherwise = kind_of(choice.then, look_up), kind_of(choice.otherwise, look_up)
    if None not in (then, otherwise) and then != otherwise:
        message = f"one branch is {KIND_WORDS[then]}, the other is {KIND_WORDS[otherwise]}"
        raise SpecError(f"{message}: both must be of one kind", choice.place)
    return then if then is not None else otherwise


def _shown(expression: Expression) -> str:
    match expression:
        case Name(name):
            return f"`{name}`"
        case _:
            return "this"
