"""From Python's syntax tree to an expression: a whitelist, and everything else is refused in words."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, replace
from typing import Literal as OneOf
from typing import cast

from isonomia.errors import SpecError
from isonomia.spec.programs.calls import read_draw
from isonomia.spec.programs.constants import constant_value
from isonomia.spec.programs.constructs import COMPARISONS, SIGNS, no_comparison, no_expression, no_sign
from isonomia.spec.programs.parsing import TOO_DEEP
from isonomia.spec.programs.sites import Sites
from isonomia.spec.programs.source import Source
from isonomia.spec.programs.tree import (
    Arithmetic,
    Chain,
    Choice,
    Expression,
    Junction,
    Name,
    Negative,
    Not,
    Number,
    Text,
    Truth,
)

__all__ = ["LEVELS", "Reading", "read_value"]

LEVELS = 200
"""How deeply an expression may be nested; a sum of n terms has n - 1 levels."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Where an expression stands.

    Attributes
    ----------
    source
        The text that it is part of.
    sites
        The draws made before it; reading a draw adds to them.
    variable
        What the expression helps to set.
    equation
        Whether it is an equation, which may choose and compare with texts.
    """

    source: Source
    sites: Sites
    variable: str
    equation: bool = False


def read_value(node: ast.expr, reading: Reading) -> Expression:
    """A whole expression, with its constants checked; its names and kinds are not.

    Guarantees a tree of at most :data:`LEVELS` levels.
    """
    expression = _read(node, reading, LEVELS)
    constant_value(expression)
    return expression


def _read(node: ast.expr, reading: Reading, levels: int) -> Expression:
    if levels < 0:
        raise SpecError(TOO_DEEP, reading.source.place(node))
    match node:
        case ast.Constant():
            return _constant(node, reading)
        case ast.Name():
            return Name(node.id, place=reading.source.place(node))
        case ast.UnaryOp():
            return _unary(node, reading, levels - 1)
        case ast.BinOp():
            return _arithmetic(node, reading, levels - 1)
        case ast.Compare():
            return _chain(node, reading, levels - 1)
        case ast.BoolOp():
            return _junction(node, reading, levels - 1)
        case ast.Call():
            source, sites, variable = reading.source, reading.sites, reading.variable
            return read_draw(node, source, sites, variable, lambda part: _read(part, reading, levels - 1))
        case ast.IfExp() if reading.equation:
            return _choice(node, reading, levels - 1)
        case _:
            raise no_expression(node, reading.source)


def _constant(node: ast.Constant, reading: Reading) -> Expression:
    place = reading.source.place(node)
    match node.value:
        case bool(value):
            return Truth(value, place=place)
        case int() | float():
            return Number(_finite(node, reading), place=place)
        case str(text) if reading.equation and "\n" not in place.text[place.start : place.end]:
            return Text(text, place=place)
        case str() if reading.equation:
            message = "a text must begin and end on one line: its quotation mark is never closed"
        case str() | bytes():
            message = "a text cannot stand here: write categories as numbers"
        case complex():
            message = "a complex number cannot stand here: expected a real number"
        case _:
            written = "..." if node.value is ... else node.value
            message = f"`{written}` cannot stand here: expected a number, True or False"
    raise SpecError(message, place)


def _finite(node: ast.Constant, reading: Reading) -> float:
    try:
        value = float(cast("float", node.value))
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise SpecError("this number is too large: the largest is about 1.8e308", reading.source.place(node))
    return value


def _unary(node: ast.UnaryOp, reading: Reading, levels: int) -> Expression:
    place = reading.source.place(node)
    if isinstance(node.op, ast.Invert):
        raise no_sign(node, reading.source)
    operand = _read(node.operand, reading, levels)
    match node.op:
        case ast.Not():
            return Not(operand, place=place)
        case ast.USub():
            return Negative(operand, place=place)
        case _ if isinstance(operand, Number):
            return Number(operand.value, place=place)
        case _:
            # The same value exactly, and an operand that is no number is still found out.
            return Negative(Negative(operand, place=place), place=place)


def _arithmetic(node: ast.BinOp, reading: Reading, levels: int) -> Expression:
    sign = SIGNS.get(type(node.op))
    if sign is None:
        raise no_sign(node, reading.source)
    left = _read(node.left, reading, levels)
    right = _read(node.right, reading, levels)
    return Arithmetic(cast(OneOf["+", "-", "*", "/"], sign), left, right, place=reading.source.place(node))


def _chain(node: ast.Compare, reading: Reading, levels: int) -> Expression:
    first = _read(node.left, reading, levels)
    rest = []
    for operator, operand in zip(node.ops, node.comparators, strict=True):
        sign = COMPARISONS.get(type(operator))
        if sign is None:
            raise no_comparison(operator, node, reading.source)
        rest.append((cast(OneOf["<", "<=", ">", ">=", "==", "!="], sign), _read(operand, reading, levels)))
    return Chain(first, tuple(rest), place=reading.source.place(node))


def _junction(node: ast.BoolOp, reading: Reading, levels: int) -> Expression:
    connective: OneOf["and", "or"] = "and" if isinstance(node.op, ast.And) else "or"
    operands = tuple([_read(operand, reading, levels) for operand in node.values])
    return Junction(connective, operands, place=reading.source.place(node))


def _choice(node: ast.IfExp, reading: Reading, levels: int) -> Expression:
    condition = _read(node.test, reading, levels)
    ways = reading.sites.fork(), reading.sites.fork()
    then = _read(node.body, replace(reading, sites=ways[0]), levels)
    otherwise = _read(node.orelse, replace(reading, sites=ways[1]), levels)
    reading.sites.join(ways)
    return Choice(condition, then, otherwise, place=reading.source.place(node))
