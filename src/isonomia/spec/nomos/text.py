"""A specification, or a part of one, as text; reading the text again gives the same tree."""

from __future__ import annotations

from isonomia.spec.nomos.tree import (
    Binary,
    Ensures,
    Expression,
    FeatureRead,
    FunctionCall,
    Name,
    Requires,
    ScalarLiteral,
    Spec,
    Unary,
    Update,
    Var,
)
from isonomia.spec.text import quote

_LEVELS = (("==>",), ("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">="), ("+", "-"), ("*", "/", "//", "%"), ("**",))
LEVEL = {sign: number for number, signs in enumerate(_LEVELS) for sign in signs}
_UNARY, _POSTFIX, _ATOM = 7, 8, 9


def spec_text(spec: Spec) -> str:
    """A whole specification, one statement per line; comments are lost."""
    lines = [f"import {name};" for name in spec.imports]
    lines += [f"input {name};" for name in spec.inputs]
    lines += [step_text(step) for step in spec.before]
    lines += [f"output {name};" for name in spec.outputs]
    lines += ["{", *(f"    {line}" if line else "" for line in spec.block.source.split("\n")), "}"]
    lines += [step_text(step) for step in spec.after]
    lines += [step_text(step) for step in spec.ensures]
    return "\n".join(lines) + "\n"


def step_text(step: Var | Requires | Ensures) -> str:
    """One statement."""
    match step:
        case Var():
            return f"var {step.name} := {expression_text(step.value)};"
        case Requires():
            return f"requires {expression_text(step.condition)};"
        case Ensures():
            rate = "" if step.rate is None else f" in {step.rate!r} of cases"
            noise = "" if step.noise is None else f" up to noise + {step.noise!r}"
            return f"ensures {expression_text(step.condition)}{rate}{noise};"


def expression_text(node: Expression) -> str:
    """An expression, with brackets only where they are needed."""
    match node:
        case ScalarLiteral():
            return _constant(node)
        case Name():
            return node.name
        case FeatureRead():
            return f"{_record(node.record)}.{node.feature}"
        case Update():
            return f"{_record(node.record)}[{node.feature} := {expression_text(node.value)}]"
        case FunctionCall():
            owner = "" if node.domain is None else f"{node.domain}."
            return f"{owner}{node.function}({', '.join(map(expression_text, node.arguments))})"
        case Unary():
            return f"{node.operator}{_within(node.operand, _UNARY)}"
        case Binary():
            return _binary(node)


def _record(node: Expression) -> str:
    # `0.k` would be read as the number `0.` followed by something else.
    return f"({expression_text(node)})" if isinstance(node, ScalarLiteral) else _within(node, _POSTFIX)


def _binary(node: Binary) -> str:
    level = LEVEL[node.operator]
    # Implications and powers group to the right, comparisons not at all, everything else to the left. A power binds
    # closer than a sign before it.
    left = _POSTFIX if node.operator == "**" else level + 1 if node.operator == "==>" or level == 3 else level
    right = level if node.operator in {"==>", "**"} else level + 1
    return f"{_within(node.left, left)} {node.operator} {_within(node.right, right)}"


def _within(node: Expression, least: int) -> str:
    text = expression_text(node)
    return text if _level(node) >= least else f"({text})"


def _level(node: Expression) -> int:
    match node:
        case Binary():
            return LEVEL[node.operator]
        case Unary():
            return _UNARY
        case ScalarLiteral(value=bool()):
            return _ATOM
        case ScalarLiteral(value=int() | float() as number) if number < 0 or repr(number).startswith("-"):
            return _UNARY
        case FeatureRead() | Update():
            return _POSTFIX
        case _:
            return _ATOM


def _constant(node: ScalarLiteral) -> str:
    match node.value:
        case bool() as truth:
            return "true" if truth else "false"
        case None:
            return "null"
        case str() as text:
            return quote(text, '"')
        case number:
            return repr(number)
