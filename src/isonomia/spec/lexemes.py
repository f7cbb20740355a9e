"""How names, text and numbers are spelled: the one place that both the reader and the writer of text ask."""

from __future__ import annotations

import re

from isonomia.spec.tree import Value

__all__ = ["RESERVED", "is_plain_name", "name_text", "number_text", "quote", "unquote", "value_text"]

RESERVED = frozenset(
    [
        "P",
        "E",
        "abs",
        "and",
        "except",
        "false",
        "False",
        "for",
        "from",
        "in",
        "is",
        "max",
        "min",
        "missing",
        "not",
        "or",
        "prediction",
        "score",
        "to",
        "true",
        "True",
    ]
)
"""The words that mean something by themselves; a column of that name is written in backticks."""

_NAME = re.compile(r"[^\W\d]\w*")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_SPELLED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_MEANT = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"', "`": "`"}


def is_plain_name(name: str) -> bool:
    """Whether a name can be written without backticks."""
    return bool(_NAME.fullmatch(name)) and name not in RESERVED


def name_text(name: str, bound: frozenset[str] = frozenset()) -> str:
    """Spell a column's name, in backticks where it would otherwise be read as something else.

    Parameters
    ----------
    name
        The column's name.
    bound
        The variables of the enclosing ``for``s; a column of the same name needs backticks.
    """
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


def unquote(quoted: str) -> str:
    r"""Read text between quotation marks back.

    Raises
    ------
    ValueError
        Where a backslash is followed by something that has no meaning; the message names it.
    """
    return _ESCAPE.sub(_unescape, quoted[1:-1])


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) > 1:
        if int(code[1:], 16) > 0x10FFFF:
            raise ValueError(f"\\{code} is no character")
        return chr(int(code[1:], 16))
    if code not in _MEANT:
        raise ValueError(f"\\{code} has no meaning in text; write \\\\ for a backslash")
    return _MEANT[code]


def number_text(value: float) -> str:
    """Spell a quantity's number, without ``.0`` where it is whole and not large."""
    text = repr(float(value))
    return text.removesuffix(".0") if text != "-0.0" else text


def value_text(value: Value) -> str:
    """Spell a literal of a row expression; ``1`` and ``1.0`` stay different."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value, '"' if "'" in value and '"' not in value else "'")
    return repr(value)
