"""Writing a syntax tree as text, so that reading the text gives the same tree back.

Parentheses are written only where they are needed. ``a and b and c`` is one conjunction of three, so a conjunction
inside a conjunction is written with parentheses. A conjunction of comparisons, each beginning where the last one ended,
is written as a chain, ``0 <= age < 25``, which is read back as the same conjunction.

The spelling of names, text and numbers is defined here for the parsers, too.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, TypeAlias

from isonomia.errors import Place, SpecError
from isonomia.spec import tree

# How tightly a piece of text holds together; a looser piece inside a tighter one needs parentheses.
_IMPLIES, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _UNARY, _POWER, _ATOM = range(10)

_Piece: TypeAlias = tuple[str, int]
_Bound: TypeAlias = frozenset[str]


def to_text(node: tree.Node) -> str:
    """Write a row expression, a version of a person, a quantity or a formula.

    Guarantees ``parse_formula(to_text(formula)) == formula``, except for a formula with a function of two people,
    ``name(person, other)``, which text cannot hold. Comments and layout of the original are not kept.
    """
    return _write(node, frozenset())[0]


def chain_of(node: tree.RowJunction) -> tuple[tree.Compare, ...] | None:
    """The links of a conjunction that can be written as a chain such as ``0 <= age < 25``; otherwise ``None``."""
    links = tuple(operand for operand in node.operands if isinstance(operand, tree.Compare))
    if node.connective != "and" or len(links) != len(node.operands):
        return None
    return links if all(a.right == b.left for a, b in pairwise(links)) else None


def _write(node: tree.Node, bound: _Bound) -> _Piece:
    match node:
        case (
            tree.Rate()
            | tree.Mean()
            | tree.Constant()
            | tree.Negative()
            | tree.Arithmetic()
            | tree.Power()
            | tree.Extreme()
        ):
            return _quantity(node, bound)
        case tree.Comparison() | tree.Not() | tree.Junction() | tree.Implies() | tree.Each():
            return _formula(node, bound)
        case tree.Do() | tree.Other() | tree.Setting() | tree.AsIf():
            return _version(node, bound), _ATOM
        case _:
            return _row(node, bound)


def _inside(node: tree.Node, bound: _Bound, tightness: int) -> str:
    text, own = _write(node, bound)
    return text if own >= tightness else f"({text})"


def _list(nodes: tuple[tree.Node, ...], bound: _Bound) -> str:
    return ", ".join(_write(node, bound)[0] for node in nodes)


# ---------------------------------------------------------------------------- row expressions


def _row(node: tree.Row, bound: _Bound) -> _Piece:
    match node:
        case tree.Column():
            return _prefix(node.version, bound) + name_text(node.name, bound), _ATOM
        case tree.Variable():
            return node.name, _ATOM
        case tree.Output():
            label = "" if node.label is None else f"[{value_text(node.label)}]"
            whose = "" if node.model is None else f"{node.model}."
            return f"{_prefix(node.version, bound)}{whose}{node.name}{label}", _ATOM
        case tree.Literal():
            text = value_text(node.value)
            return text, _UNARY if text.startswith("-") else _ATOM
        case tree.RowNegative():
            return f"-{_inside(node.operand, bound, _POWER)}", _UNARY
        case tree.RowArithmetic():
            return _binary(node, bound)
        case tree.Call():
            return f"{node.function}({_list(node.arguments, bound)})", _ATOM
        case tree.PairCall():
            return f"{node.name}(person, other)", _ATOM
        case _:
            return _condition(node, bound)


def _prefix(version: tree.Version | None, bound: _Bound) -> str:
    return "" if version is None else f"{_version(version, bound)}."


def _version(node: tree.Version | tree.Setting | tree.AsIf, bound: _Bound) -> str:
    match node:
        case tree.Other():
            return "other"
        case tree.Do():
            return f"do({_list(node.items, bound)})"
        case tree.Setting():
            return f"{name_text(node.name, bound)} = {_write(node.value, bound)[0]}"
        case tree.AsIf():
            settings = _list(node.settings, bound)
            return f"{name_text(node.name, bound)} as if {settings if len(node.settings) == 1 else f'({settings})'}"


def _condition(
    node: tree.Compare | tree.Member | tree.Missing | tree.RowNot | tree.RowJunction, bound: _Bound
) -> _Piece:
    match node:
        case tree.Compare():
            return _chain((node,), bound), _COMPARE
        case tree.Member():
            return _membership(node, "in", bound), _COMPARE
        case tree.Missing():
            return f"{_inside(node.operand, bound, _SUM)} is missing", _COMPARE
        case tree.RowNot(tree.Member() as member):
            return _membership(member, "not in", bound), _COMPARE
        case tree.RowNot(tree.Missing(operand)):
            return f"{_inside(operand, bound, _SUM)} is not missing", _COMPARE
        case tree.RowNot():
            return f"not {_inside(node.operand, bound, _NOT)}", _NOT
        case tree.RowJunction():
            links = chain_of(node)
            return (_chain(links, bound), _COMPARE) if links else _junction(node, bound)


def _membership(node: tree.Member, word: str, bound: _Bound) -> str:
    return f"{_inside(node.operand, bound, _SUM)} {word} {{{_list(node.values, bound)}}}"


def _chain(links: tuple[tree.Compare, ...], bound: _Bound) -> str:
    first = _inside(links[0].left, bound, _SUM)
    return " ".join([first, *(f"{link.relation} {_inside(link.right, bound, _SUM)}" for link in links)])


# ---------------------------------------------------------------------------- both levels


def _binary(node: tree.RowArithmetic | tree.Arithmetic, bound: _Bound) -> _Piece:
    own = _SUM if node.sign in "+-" else _PRODUCT
    return f"{_inside(node.left, bound, own)} {node.sign} {_inside(node.right, bound, own + 1)}", own


def _junction(node: tree.RowJunction | tree.Junction, bound: _Bound) -> _Piece:
    own = _OR if node.connective == "or" else _AND
    return f" {node.connective} ".join(_inside(operand, bound, own + 1) for operand in node.operands), own


# ---------------------------------------------------------------------------- quantities


def _quantity(node: tree.Quantity, bound: _Bound) -> _Piece:
    match node:
        case tree.Constant():
            text = number_text(node.value)
            return text, _UNARY if text.startswith("-") else _ATOM
        case tree.Rate():
            return f"P[{_write(node.event, bound)[0]}{_given(node.given, bound)}]", _ATOM
        case tree.Mean():
            declared = ""
            if node.low is not None and node.high is not None:
                declared = f" from {number_text(node.low)} to {number_text(node.high)}"
            return f"E[{_write(node.term, bound)[0]}{declared}{_given(node.given, bound)}]", _ATOM
        case tree.Negative():
            return f"-{_inside(node.operand, bound, _POWER)}", _UNARY
        case tree.Arithmetic():
            return _binary(node, bound)
        case tree.Power():
            return f"{_inside(node.base, bound, _ATOM)} ** {number_text(node.exponent)}", _POWER
        case tree.Extreme():
            return f"{node.function}({_list(node.arguments, bound)})", _ATOM


def _given(condition: tree.Row | None, bound: _Bound) -> str:
    return "" if condition is None else f" | {_write(condition, bound)[0]}"


# ---------------------------------------------------------------------------- formulas


def _formula(node: tree.Formula, bound: _Bound) -> _Piece:
    match node:
        case tree.Comparison():
            links = (f"{relation} {_inside(quantity, bound, _SUM)}" for relation, quantity in node.rest)
            return " ".join([_inside(node.first, bound, _SUM), *links]), _COMPARE
        case tree.Not():
            return f"not {_inside(node.operand, bound, _NOT)}", _NOT
        case tree.Junction():
            return _junction(node, bound)
        case tree.Implies():
            return f"{_inside(node.premise, bound, _OR)} ==> {_inside(node.conclusion, bound, _IMPLIES)}", _IMPLIES
        case tree.Each():
            return _each(node, bound), _IMPLIES


def _each(node: tree.Each, bound: _Bound) -> str:
    inside = bound | {node.variable}
    if isinstance(node.source, tree.Column):
        source = name_text(node.source.name, inside)
    else:
        source = f"{{{_list(node.source, bound)}}}"
    excluded = f" except {_list(node.excluded, bound)}" if node.excluded else ""
    return f"for {node.variable} in {source}{excluded}: {_write(node.body, inside)[0]}"


# ---------------------------------------------------------------------------- how names and values are spelled

RESERVED = frozenset(
    {"P", "E", "abs", "and", "except", "false", "False", "for", "from", "in", "is", "max", "min", "missing", "not"}
    | {"or", "prediction", "score", "to", "true", "True"}
)
"""Words with a meaning of their own; a column of that name is written in backticks."""

_NAME = re.compile(r"[^\W\d]\w*")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_SPELLED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_MEANT = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"', "`": "`"}


def is_plain_name(name: str) -> bool:
    """Whether a name can be written without backticks."""
    return bool(_NAME.fullmatch(name)) and name not in RESERVED


def name_text(name: str, bound: frozenset[str] = frozenset()) -> str:
    """Spell a column's name, in backticks where it would be read as something else, such as a ``bound`` variable."""
    return name if is_plain_name(name) and name not in bound else quote(name, "`")


def quote(text: str, mark: str) -> str:
    """Put text between quotation marks, with backslashes before what would end it early."""
    return mark + "".join(_spell(character, mark) for character in text) + mark


def _spell(character: str, mark: str) -> str:
    if character == mark:
        return "\\" + mark
    if character in _SPELLED:
        return _SPELLED[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def unquote(quoted: str, place: Place | None = None) -> str:
    """Read text between quotation marks back; ``place`` is where it stands, for errors."""

    def unescaped(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) == 1 and code not in _MEANT:
            raise SpecError(f"\\{code} has no meaning in text; write \\\\ for a backslash", place)
        if len(code) > 1 and int(code[1:], 16) > 0x10FFFF:
            raise SpecError(f"\\{code} is not a character", place)
        return _MEANT[code] if len(code) == 1 else chr(int(code[1:], 16))

    return _ESCAPE.sub(unescaped, quoted[1:-1])


def number_text(value: float) -> str:
    """Spell a quantity's number, without ``.0`` where it is whole and not large."""
    text = repr(float(value))
    return text.removesuffix(".0") if text != "-0.0" else text


def value_text(value: tree.Value) -> str:
    """Spell a literal of a row expression; ``1`` and ``1.0`` stay different."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value, '"' if "'" in value and '"' not in value else "'")
    return repr(value)


def shown(value: Any) -> str:
    """A value and its type, as an error message shows them."""
    return f"{value!r} of type {type(value).__name__}"


def plain_text(text: str) -> str:
    r"""A text without byte-order mark and with ``\n`` at the end of each line.

    A character that no text file can hold is refused: a null, or half of a surrogate pair.
    """
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in plain:
        start = plain.index("\0")
        shown = plain.replace("\0", "\ufffd").encode(errors="replace").decode()
        raise SpecError("there is a null character here: is this a text file?", Place(shown, start, start + 1))
    try:
        plain.encode()
    except UnicodeEncodeError as error:
        shown = plain.encode(errors="replace").decode()
        message = "this character is half of a pair and has no meaning alone: save the file as UTF-8"
        raise SpecError(message, Place(shown, error.start, error.start + 1)) from None
    return plain
