"""Saying in words why a text is no specification: what came, what was expected, where, and what to do."""

from __future__ import annotations

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from isonomia.errors import Place, SpecError

__all__ = ["complaint"]

_OPERAND = {"NUMBER", "STRING", "NAME", "LPAR"}
_WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a text in quotation marks",
    "RELATION": "a comparison such as `<=`",
    "SIGN": "`+` or `-`",
    "POINT": "`*` or `/`",
    "SEMICOLON": "`;`",
    "COMMA": "`,`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "LBRACE": "a block `{ ... }`",
    "RBRACE": "`}`",
    "DOT": "`.`",
    "BANG": "`!`",
    "__ANON_0": "`:=`",
    "__ANON_1": "`==>`",
    "__ANON_2": "`||`",
    "__ANON_3": "`&&`",
    "$END": "the end of the text",
}
_QUIET = {"SIGN", "POINT", "DOT", "LSQB", "RELATION", "__ANON_1", "__ANON_2", "__ANON_3", "RATE"}
_HINTS = {
    "=": "write `==` to compare, and `:=` to give a variable its value",
    "&": "write `&&`",
    "|": "write `||`",
    '"': "this quotation mark is never closed",
    "'": "this quotation mark is never closed",
    "/": "is a comment never closed here?",
    "≤": "write `<=`",
    "≥": "write `>=`",
    "≠": "write `!=`",
    "%": "a percentage is a number with `%` right behind it, and stands only in `in 99% of cases`",
}
_LATE = {
    "requires": "a precondition speaks of inputs: write it before the block",
    "input": "inputs are declared before the block",
    "output": "outputs are declared before the block, which sets them",
    "import": "imports come first",
}


def complaint(error: UnexpectedInput, text: str, parser: Lark) -> SpecError:
    """The error to raise in place of the parser's own."""
    if isinstance(error, UnexpectedCharacters):
        return _about_character(text, error.pos_in_stream or 0)
    assert isinstance(error, UnexpectedToken)  # a parser that looks one token ahead stumbles over nothing else
    accepts, token = set(error.accepts or error.expected), error.token
    if token.type == "$END":
        return _about_the_end(text, accepts)
    start = token.start_pos or 0
    return SpecError(_about_token(token, accepts, parser), Place(text, start, start + len(token)))


def _about_character(text: str, start: int) -> SpecError:
    hint = _HINTS.get(text[start], "it has no meaning here")
    return SpecError(f"unexpected {text[start]!r}: {hint}", Place(text, start, start + 1))


def _about_the_end(text: str, accepts: set[str]) -> SpecError:
    end = len(text.rstrip())
    if "LBRACE" in accepts and "IMPORT" in accepts:
        message = "there is no block: write `{ d1 = predict(x1) }` with the calls of the model, and what it `ensures`"
        return SpecError(message, Place(text, end, end))
    return SpecError(f"the text ends too early: expected {_wanted(accepts)}", Place(text, end, end))


def _about_token(token: Token, accepts: set[str], parser: Lark) -> str:
    del parser
    word = str(token)
    if "ENSURES" in accepts and word in _LATE:
        return f"`{word}` cannot stand behind the block: {_LATE[word]}"
    if word == "ensures" and "IMPORT" in accepts:
        return "`ensures` speaks of outputs: write it behind the block that sets them"
    if token.type == "LBRACE":
        return "a specification has one block, and this is a second brace"
    if "NAME" in accepts and token.type.isupper() and word.isidentifier() and token.type != "NAME":
        return f"`{word}` is a word of the language and cannot be a name here: expected {_wanted(accepts)}"
    if token.type == "RELATION" and "SEMICOLON" in accepts:
        return f"unexpected `{word}`: comparisons do not chain, so join them by `&&`"
    return f"unexpected `{word}`: expected {_wanted(accepts)}"


def _wanted(accepts: set[str]) -> str:
    left = set(accepts)
    said = []
    if left >= _OPERAND:
        said.append("a value")
        left -= _OPERAND | {"BANG", "TRUE", "FALSE", "NULL", "SIGN"}
    loud = left - _QUIET or left
    said += [_WORDS.get(name, f"`{name.lower()}`") for name in sorted(loud)]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} or {said[-1]}"
