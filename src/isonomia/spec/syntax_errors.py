"""A parser failure as a sentence with a caret, for both grammars.

Saying in words why a text is no formula: what came, what was expected, where, and what to do.

Saying in words why a text is no specification: what came, what was expected, where, and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr

from isonomia.errors import Place, SpecError
from isonomia.spec.text import RESERVED

__all__ = ["complaint", "nomos_complaint"]


_KINDS = (
    ("`P[...]`, `E[...]` or a number", {"P"}),
    ("a column or a value", {"BACKTICKED", "STRING"}),
    ("a name", {"NAME"}),
    ("a value", {"STRING"}),
    ("a number", {"NUMBER"}),
    ("a comparison such as `>=`", {"RELATION"}),
    ("an operator such as `+`", {"PLUS", "MINUS"}),
    ("`and`, `or`", {"AND"}),
    ("`=` or `as if`", {"EQUAL", "AS_IF"}),
)
_QUIET = {"FUNCTION", "FALSE", "TRUE", "PERCENT", "PREDICTION", "SCORE", "E", "LPAR", "FOR", "NOT", "IS", "IN"} | {
    *("STAR", "SLASH", "CIRCUMFLEX", "OR", "MINUS", "PLUS", "FROM", "_POWER", "BACKTICKED", "OTHER", "DO", "$END")
}
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_CLOSING = {"(": "RPAR", "[": "RSQB", "{": "RBRACE"}
_HINTS = {
    "=": "write `==` to compare",
    "&": "write `and`",
    "!": "write `not`, or `!=` to compare",
    "'": "this quotation mark is never closed",
    '"': "this quotation mark is never closed",
    "`": "this backtick is never closed, or has nothing behind it",
    "%": "a percentage is a number with `%` right behind it, such as 80%",
    ".": "a column whose name has a dot is written in backticks; only `other` and `do(...)` have parts",
    "≤": "write `<=`",
    "≥": "write `>=`",
    "≠": "write `!=`",
}


def complaint(error: UnexpectedInput, text: str, parser: Lark) -> SpecError:
    """The error to raise in place of the parser's own."""
    if isinstance(error, UnexpectedCharacters):
        return _about_character(text, error.pos_in_stream or 0)
    assert isinstance(error, UnexpectedToken)  # a parser that looks one token ahead stumbles over nothing else
    accepts = set(error.accepts or error.expected)
    token = error.token
    if token.type == "$END":
        return _about_the_end(text, accepts, parser)
    called = _before(token, text, parser) if token.type == "LPAR" and "RELATION" in accepts else None
    if called is not None and called.type == "NAME":
        return SpecError(_no_function(str(called), "a column, a value"), _place_of(called, text))
    return SpecError(_about_token(token, accepts, text, parser), _place_of(token, text))


def _place_of(token: Token, text: str) -> Place:
    start = token.start_pos or 0
    return Place(text, start, start + len(token))


def _before(token: Token, text: str, parser: Lark) -> Token | None:
    earlier = list(takewhile(lambda found: found.start_pos != token.start_pos, parser.lex(text)))
    return earlier[-1] if earlier else None


def _about_character(text: str, start: int) -> SpecError:
    character = text[start]
    if character.isdigit():
        word = re.match(r"[\w.]+", text[start:])
        found = word[0] if word else character
        message = f"`{found}` is neither a number nor a name; a column of that name is written in backticks"
        return SpecError(message, Place(text, start, start + len(found)))
    hint = _HINTS.get(character, "it has no meaning here")
    return SpecError(f"unexpected {character!r}: {hint}", Place(text, start, start + 1))


def _about_the_end(text: str, accepts: set[str], parser: Lark) -> SpecError:
    tokens = list(parser.lex(text))
    if not tokens:
        message = "the property is empty: write one such as `P[prediction == 1 | sex == 'F'] >= 0.8`"
        return SpecError(message, Place(text, 0, 0))
    end = (tokens[-1].start_pos or 0) + len(tokens[-1])
    place = Place(text, end, end)
    opened = _still_open(tokens)
    if opened is not None and _CLOSING[opened] in accepts:
        where = Place(text, opened.start_pos or 0, 0)
        message = f"the text ends, but `{opened}` (line {where.line}, column {where.column}) is still open: "
        return SpecError(f"{message}expected `{_CLOSERS[opened]}`", place)
    if "RELATION" in accepts:
        return SpecError("this is a number, not yet a claim: compare it, as in `P[...] >= 0.8`", place)
    return SpecError(f"the text ends too early: expected {_wanted(accepts, parser)}", place)


def _still_open(tokens: Iterable[Token]) -> Token | None:
    waiting: list[Token] = []
    for token in tokens:
        if token in _CLOSERS:
            waiting.append(token)
        elif token in _CLOSERS.values() and waiting:
            waiting.pop()
    return waiting[-1] if waiting else None


def _about_token(token: Token, accepts: set[str], text: str, parser: Lark) -> str:
    about_version = _about_version(token, accepts)
    if about_version:
        return about_version
    about_people = "P" in accepts
    about_one = "BACKTICKED" in accepts
    if token.type == "NAME" and token.lower() in RESERVED and token.lower() != token:
        return f"`{token}` is not a keyword: write it in small letters, `{token.lower()}`"
    if about_people and not about_one:
        stray = _stray(token, text)
        if stray:
            return stray
    if about_one and token.type in {"P", "E"}:
        return (
            f"`{token}` cannot stand inside P[...] or E[...], which speak about one person; "
            f"a column of that name is written in backticks, `{token}` between them"
        )
    if token.type == "PERCENT":
        return f"`{token}` can only stand outside P[...] and E[...]: write it as a plain number here"
    if "NAME" in accepts and token in RESERVED:
        return (
            f"`{token}` is a reserved word: expected {_wanted(accepts, parser)}; a column of that name needs backticks"
        )
    if token.type == "VBAR" and "RSQB" in accepts:
        return "only one `|` can stand inside the brackets: join conditions by `and`, alternatives by `or`"
    return f"unexpected `{token}`: expected {_wanted(accepts, parser)}"


def _about_version(token: Token, accepts: set[str]) -> str | None:
    """What is wrong with ``other.`` or ``do(...)``, or with signs that only they use; ``None`` for anything else."""
    if accepts == {"DOT"}:
        return "expected `.` and what is meant of that person, such as `do(...).age` or `other.age`"
    if token.type in {"RELATION", "IS"} and "EQUAL" in accepts:
        return "write one `=` in `do(...)`: it sets a value, it does not compare"
    if token.type == "RPAR" and accepts == {"NAME", "BACKTICKED"}:
        return "`do(...)` sets nothing here: say what, as in `do(sex = 'M').prediction`"
    if token.type in {"OTHER", "DO"} and "LBRACE" in accepts:
        return "a `for` runs over a column of the population as it is: write the column without `other.` or `do(...).`"
    if token.type in {"OTHER", "DO"} and accepts == {"NAME", "BACKTICKED", "PREDICTION", "SCORE"}:
        return "a version has no versions of its own: behind the dot stands a column, `prediction` or `score`"
    if token.type == "DOT" or (token.type == "EQUAL" and accepts & {"RELATION", "STRING"}):
        return f"unexpected {str(token)!r}: {_HINTS[token]}"
    return None


def _no_function(name: str, others: str) -> str:
    if name == "other":
        return "a column of the second person is written with a dot, such as `other.age`"
    return (
        f"`{name}` is no known function: expected {others}, `abs(...)`, `min(...)` or `max(...)`; "
        "a distance given as a Python function can only be used from Python"
    )


def _stray(token: Token, text: str) -> str | None:
    after = text[(token.start_pos or 0) + len(token) :].lstrip()[:1]
    if token.type == "NAME" and after in {"[", "("}:
        return _no_function(str(token), "`P[...]`, `E[...]`")
    if token.type == "NAME" and re.search(rf"\bfor\s+{re.escape(token)}\b", text):
        return f"`{token}` is a variable: it can only stand inside P[...] or E[...]"
    if token.type in {"NAME", "BACKTICKED"}:
        name = token.strip("`")
        return f"`{name}` is a column: wrap it in P[...] or E[...]"
    if token.type in {"PREDICTION", "SCORE", "OTHER", "DO"}:
        return f"`{token}` is about one person: wrap it in P[...] or E[...]"
    if token.type in {"STRING", "TRUE", "FALSE"}:
        return f"{token} can only be compared inside P[...] or E[...]; out here stand numbers about the population"
    return None


def _wanted(accepts: set[str], parser: Lark) -> str:
    left = set(accepts)
    said = []
    for words, members in _KINDS:
        if members <= left:
            said.append(words)
            left -= members | ({"STRING", "NAME", "NUMBER"} if members & {"P", "BACKTICKED", "STRING"} else set())
    said += [f"`{_spelling(name, parser)}`" for name in sorted(left - _QUIET)]
    said = said or [f"`{_spelling(name, parser)}`" for name in sorted(accepts - {"$END"})] or ["the end of the text"]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} or {said[-1]}"


def _spelling(name: str, parser: Lark) -> str:
    pattern = parser.get_terminal(name).pattern
    return pattern.value if isinstance(pattern, PatternStr) else name.lower()


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
_QUIET_COMPLAINTS = {"SIGN", "POINT", "DOT", "LSQB", "RELATION", "__ANON_1", "__ANON_2", "__ANON_3", "RATE"}
_HINTS_COMPLAINTS = {
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


def nomos_complaint(error: UnexpectedInput, text: str, parser: Lark) -> SpecError:
    """The error to raise in place of the parser's own."""
    if isinstance(error, UnexpectedCharacters):
        return _about_character_complaints(text, error.pos_in_stream or 0)
    assert isinstance(error, UnexpectedToken)  # a parser that looks one token ahead stumbles over nothing else
    accepts, token = set(error.accepts or error.expected), error.token
    if token.type == "$END":
        return _about_the_end_complaints(text, accepts)
    start = token.start_pos or 0
    return SpecError(_about_token_complaints(token, accepts, parser), Place(text, start, start + len(token)))


def _about_character_complaints(text: str, start: int) -> SpecError:
    hint = _HINTS_COMPLAINTS.get(text[start], "it has no meaning here")
    return SpecError(f"unexpected {text[start]!r}: {hint}", Place(text, start, start + 1))


def _about_the_end_complaints(text: str, accepts: set[str]) -> SpecError:
    end = len(text.rstrip())
    if "LBRACE" in accepts and "IMPORT" in accepts:
        message = "there is no block: write `{ d1 = predict(x1) }` with the calls of the model, and what it `ensures`"
        return SpecError(message, Place(text, end, end))
    return SpecError(f"the text ends too early: expected {_wanted_complaints(accepts)}", Place(text, end, end))


def _about_token_complaints(token: Token, accepts: set[str], parser: Lark) -> str:
    del parser
    word = str(token)
    if "ENSURES" in accepts and word in _LATE:
        return f"`{word}` cannot stand behind the block: {_LATE[word]}"
    if word == "ensures" and "IMPORT" in accepts:
        return "`ensures` speaks of outputs: write it behind the block that sets them"
    if token.type == "LBRACE":
        return "a specification has one block, and this is a second brace"
    if "NAME" in accepts and token.type.isupper() and word.isidentifier() and token.type != "NAME":
        return f"`{word}` is a word of the language and cannot be a name here: expected {_wanted_complaints(accepts)}"
    if token.type == "RELATION" and "SEMICOLON" in accepts:
        return f"unexpected `{word}`: comparisons do not chain, so join them by `&&`"
    return f"unexpected `{word}`: expected {_wanted_complaints(accepts)}"


def _wanted_complaints(accepts: set[str]) -> str:
    left = set(accepts)
    said = []
    if left >= _OPERAND:
        said.append("a value")
        left -= _OPERAND | {"BANG", "TRUE", "FALSE", "NULL", "SIGN"}
    loud = left - _QUIET_COMPLAINTS or left
    said += [_WORDS.get(name, f"`{name.lower()}`") for name in sorted(loud)]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} or {said[-1]}"
