"""A parser's failure as one sentence with a caret: what was given, what was expected, where, and what to do.

Formulas and specifications are read by Lark, programs by Python's own parser. :func:`grammar_error` puts what Lark
reports into words, with one table for each grammar, :data:`FORMULAS` or :data:`SPECIFICATIONS`; :func:`python_error`
rewords what Python reports.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from isonomia.errors import Place, SpecError
from isonomia.spec.text import RESERVED
from isonomia.wording import listed

if TYPE_CHECKING:
    from lark import Lark, Token
    from lark.exceptions import UnexpectedInput


@dataclass(frozen=True, slots=True)
class GrammarWording:
    """How the failures of one grammar are put into words. Terminals are named as in the grammar.

    Attributes
    ----------
    groups
        A phrase, the terminals that it stands for where all of them are expected, and those that need no mention then.
    words
        Phrases for single terminals; without one, a terminal is shown as it is spelled.
    quiet
        Terminals that are mentioned only where nothing else is expected.
    hints
        What to write in place of a character, or a sign, that has no meaning.
    special
        The failures for which this grammar has a sentence of its own: a message, or an error that points elsewhere.
    """

    groups: tuple[tuple[str, set[str], set[str]], ...]
    words: Mapping[str, str]
    quiet: set[str]
    hints: Mapping[str, str]
    special: Callable[[_Failure], str | SpecError | None]

    def expected(self, accepts: set[str], parser: Lark) -> str:
        """The terminals that would have been accepted, in words."""
        left, phrases = set(accepts), []
        for phrase, members, understood in self.groups:
            if members <= left:
                phrases.append(phrase)
                left -= members | understood
        loud = left - self.quiet
        if not loud and not phrases:
            loud = left
        phrases += [self.words.get(name) or f"`{_spelling(name, parser)}`" for name in sorted(loud)]
        return listed(phrases, last="or")


@dataclass(frozen=True, slots=True)
class _Failure:
    """The token at which a parser failed, and the terminals that it would have accepted.

    A character that cannot begin a token is one of type ``$CHARACTER``; the end of the text is one of type ``$END``.
    """

    token: Token
    accepts: set[str]
    text: str
    parser: Lark

    @property
    def place(self) -> Place:
        """Where the token is; at the end of the text, right after the last token."""
        if self.token.type == "$END":
            end = self.token.end_pos or 0
            return Place(self.text, end, end)
        return self.place_of(self.token)

    def place_of(self, token: Token) -> Place:
        """Where another token is."""
        start = token.start_pos or 0
        return Place(self.text, start, start + len(token))


def grammar_error(error: UnexpectedInput, text: str, parser: Lark, wording: GrammarWording) -> SpecError:
    """The error to raise in place of Lark's own."""
    failure = _failure(error, text, parser)
    token, accepts = failure.token, failure.accepts
    start = failure.place.start
    signs = text[start : start + 2]
    if signs in {"=>", "=<"}:
        return SpecError(f"unexpected `{signs}`: write `{signs[::-1]}`", failure.place)
    message = wording.special(failure)
    if isinstance(message, SpecError):
        return message
    if message is None and token.type == "$CHARACTER":
        message = f"unexpected {str(token)!r}: {wording.hints.get(token, 'it has no meaning here')}"
    elif message is None and token.type == "$END":
        message = f"the text ends too early: expected {wording.expected(accepts, parser)}"
    elif message is None:
        message = f"unexpected `{token}`: expected {wording.expected(accepts, parser)}"
    return SpecError(message, failure.place)


def _failure(error: UnexpectedInput, text: str, parser: Lark) -> _Failure:
    from lark import Token
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    if isinstance(error, UnexpectedCharacters):
        start = error.pos_in_stream or 0
        return _Failure(Token("$CHARACTER", text[start], start), set(), text, parser)
    assert isinstance(error, UnexpectedToken)  # an LALR parser has no other failure
    return _Failure(error.token, set(error.accepts or error.expected), text, parser)


def _spelling(name: str, parser: Lark) -> str:
    pattern = parser.get_terminal(name).pattern
    return pattern.value if pattern.type == "str" else name.lower()


# ---------------------------------------------------------------------------- formulas

_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_CLOSING = {"(": "RPAR", "[": "RSQB", "{": "RBRACE"}


def _special_in_formula(failure: _Failure) -> str | SpecError | None:
    token, accepts = failure.token, failure.accepts
    if token.type == "$CHARACTER":
        return _not_a_number(failure) if token.isdigit() else None
    if token.type == "$END":
        return _unfinished(failure)
    if token.type == "LPAR" and "RELATION" in accepts:
        called = _before(failure)
        if called.type == "NAME":
            return SpecError(_no_function(str(called), "a column, a value"), failure.place_of(called))
    return _about_version(token, accepts) or _misplaced(failure)


def _not_a_number(failure: _Failure) -> SpecError:
    start = failure.place.start
    word = re.match(r"[\w.]+", failure.text[start:])
    written = word[0] if word else str(failure.token)
    message = f"`{written}` is neither a number nor a name; a column of that name is written in backticks"
    return SpecError(message, Place(failure.text, start, start + len(written)))


def _unfinished(failure: _Failure) -> str | None:
    """What is wrong with a text that ends too early; ``None`` where there is no more to say than that."""
    tokens = list(failure.parser.lex(failure.text))
    if not tokens:
        return "the property is empty: write one such as `P[prediction == 1 | sex == 'F'] >= 0.8`"
    opened = _still_open(tokens)
    if opened is not None and _CLOSING[opened] in failure.accepts:
        place = failure.place_of(opened)
        where = f"line {place.line}, column {place.column}"
        return f"the text ends, but `{opened}` ({where}) is still open: expected `{_CLOSERS[opened]}`"
    if "RELATION" in failure.accepts:
        return "this is a number, not yet a claim: compare it, as in `P[...] >= 0.8`"
    return None


def _still_open(tokens: Iterable[Token]) -> Token | None:
    waiting: list[Token] = []
    for token in tokens:
        if token in _CLOSERS:
            waiting.append(token)
        elif token in _CLOSERS.values() and waiting:
            waiting.pop()
    return waiting[-1] if waiting else None


def _before(failure: _Failure) -> Token:
    start = failure.token.start_pos
    return list(takewhile(lambda token: token.start_pos != start, failure.parser.lex(failure.text)))[-1]


def _about_version(token: Token, accepts: set[str]) -> str | None:
    """What is wrong with ``other.`` or ``do(...)``, or with signs that only they use; ``None`` for anything else."""
    if accepts == {"DOT"}:
        return "expected `.` and what is meant of that person, such as `do(...).age` or `other.age`"
    if token.type in {"RELATION", "IS"} and "EQUAL" in accepts:
        return "write one `=` in `do(...)`: it sets a value, it does not compare"
    if token.type == "RPAR" and accepts == {"NAME", "BACKTICKED"}:
        return "`do(...)` sets nothing here: say what, as in `do(sex = 'M').prediction`"
    if token.type in {"OTHER", "DO", "MODEL"} and "LBRACE" in accepts:
        return "a `for` runs over a column of the population as it is: write the column without `other.` or `do(...).`"
    if token.type in {"OTHER", "DO", "MODEL"} and accepts == {"NAME", "BACKTICKED", "PREDICTION", "SCORE"}:
        return "a version has no versions: after the dot write a column, `prediction` or `score`"
    if token.type == "DOT" or (token.type == "EQUAL" and accepts & {"RELATION", "STRING"}):
        return f"unexpected {str(token)!r}: {FORMULAS.hints[token]}"
    return None


def _misplaced(failure: _Failure) -> str | None:
    """What is wrong with a token that has a meaning, but not in this place."""
    token, accepts = failure.token, failure.accepts
    about_people, about_one = "P" in accepts, "BACKTICKED" in accepts
    if token.type == "NAME" and token.lower() in RESERVED and token.lower() != token:
        return f"`{token}` is not a keyword: write it in small letters, `{token.lower()}`"
    if about_people and not about_one:
        about_person = _outside_brackets(failure)
        if about_person:
            return about_person
    if about_one and token.type in {"P", "E"}:
        return (
            f"`{token}` cannot stand inside P[...] or E[...], which speak about one person; "
            f"a column of that name is written in backticks, `{token}` between them"
        )
    if token == "(" and accepts == {"LSQB"}:
        return "unexpected `(`: write square brackets, `P[...]` or `E[...]`"
    if token.type == "PERCENT":
        return f"`{token}` can only stand outside P[...] and E[...]: write it as a plain number here"
    if "NAME" in accepts and token in RESERVED:
        expected = FORMULAS.expected(accepts, failure.parser)
        return f"`{token}` is a reserved word: expected {expected}; a column of that name needs backticks"
    if token.type == "VBAR" and "RSQB" in accepts:
        return "only one `|` can stand inside the brackets: join conditions by `and`, alternatives by `or`"
    return None


def _outside_brackets(failure: _Failure) -> str | None:
    """What is wrong with something about one person outside ``P[...]`` and ``E[...]``."""
    token, text = failure.token, failure.text
    after = text[(token.start_pos or 0) + len(token) :].lstrip()[:1]
    if token.type == "NAME" and after in {"[", "("}:
        return _no_function(str(token), "`P[...]`, `E[...]`")
    if token.type == "NAME" and re.search(rf"\bfor\s+{re.escape(token)}\b", text):
        return f"`{token}` is a variable: it can only stand inside P[...] or E[...]"
    if token.type in {"NAME", "BACKTICKED"}:
        name = token.strip("`")
        return f"`{name}` is a column: wrap it in P[...] or E[...]"
    if token.type in {"PREDICTION", "SCORE", "OTHER", "DO", "MODEL"}:
        return f"`{token}` is about one person: wrap it in P[...] or E[...]"
    if token.type in {"STRING", "TRUE", "FALSE"}:
        return f"{token} can only be compared inside P[...] or E[...]; outside, write numbers about the population"
    return None


def _no_function(name: str, others: str) -> str:
    if name == "other":
        return "a column of the second person is written with a dot, such as `other.age`"
    return (
        f"`{name}` is an unknown function: expected {others}, `abs(...)`, `min(...)` or `max(...)`; "
        "a distance given as a Python function can only be used from Python"
    )


_PLAIN = {"STRING", "NAME", "NUMBER"}
FORMULAS = GrammarWording(
    groups=(
        ("`P[...]`, `E[...]` or a number", {"P"}, _PLAIN),
        ("a column or a value", {"BACKTICKED", "STRING"}, _PLAIN),
        ("a name", {"NAME"}, set()),
        ("a value", {"STRING"}, _PLAIN),
        ("a number", {"NUMBER"}, set()),
        ("a comparison such as `>=`", {"RELATION"}, set()),
        ("an operator such as `+`", {"PLUS", "MINUS"}, set()),
        ("`and`, `or`", {"AND"}, set()),
        ("`=` or `as if`", {"EQUAL", "AS_IF"}, set()),
    ),
    words={"$END": "the end of the text"},
    quiet={
        *("FUNCTION", "FALSE", "TRUE", "PERCENT", "PREDICTION", "SCORE", "E", "LPAR", "FOR", "NOT", "IS", "IN"),
        *(
            "STAR",
            "SLASH",
            "CIRCUMFLEX",
            "OR",
            "MINUS",
            "PLUS",
            "FROM",
            "_POWER",
            "BACKTICKED",
            "OTHER",
            "DO",
            "MODEL",
            "$END",
        ),
    },
    hints={
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
    },
    special=_special_in_formula,
)


# ---------------------------------------------------------------------------- specifications in Nomos

_BEFORE_THE_BLOCK = {
    "requires": "a precondition speaks of inputs: write it before the block",
    "input": "inputs are declared before the block",
    "output": "outputs are declared before the block, which sets them",
    "import": "imports come first",
}


def _special_in_specification(failure: _Failure) -> str | None:
    token, accepts, word = failure.token, failure.accepts, str(failure.token)
    if token.type == "$END" and {"LBRACE", "IMPORT"} <= accepts:
        return "there is no block: write `{ d1 = predict(x1) }` with the calls of the model, and what it `ensures`"
    if "ENSURES" in accepts and word in _BEFORE_THE_BLOCK:
        return f"`{word}` cannot stand behind the block: {_BEFORE_THE_BLOCK[word]}"
    if word == "ensures" and "IMPORT" in accepts:
        return "`ensures` speaks of outputs: write it behind the block that sets them"
    if token.type == "LBRACE":
        return "a specification has one block, and this is a second brace"
    if "NAME" in accepts and token.type.isupper() and word.isidentifier() and token.type != "NAME":
        expected = SPECIFICATIONS.expected(accepts, failure.parser)
        return f"`{word}` is a word of the language and cannot be a name here: expected {expected}"
    if token.type == "RELATION" and "SEMICOLON" in accepts:
        return f"unexpected `{word}`: comparisons do not chain, so join them by `&&`"
    return None


SPECIFICATIONS = GrammarWording(
    groups=(("a value", {"NUMBER", "STRING", "NAME", "LPAR"}, {"BANG", "TRUE", "FALSE", "NULL", "SIGN"}),),
    words={
        "NAME": "a name",
        "NUMBER": "a number",
        "STRING": "a text in quotation marks",
        "RELATION": "a comparison such as `<=`",
        "SIGN": "`+` or `-`",
        "POINT": "`*` or `/`",
        "LBRACE": "a block `{ ... }`",
        "$END": "the end of the text",
    },
    # The last three are `==>`, `||` and `&&`.
    quiet={"SIGN", "POINT", "DOT", "LSQB", "RELATION", "RATE", "NOISE", "__ANON_1", "__ANON_2", "__ANON_3"},
    hints={
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
    },
    special=_special_in_specification,
)


# ---------------------------------------------------------------------------- programs, read by Python's parser

TOO_DEEP = (
    "this is nested too deeply: a pair of brackets, a term of a long sum and an `elif` each count as one level. "
    "Set a variable to a part of it, and go on with that variable"
)

# What Python's parser reports, and what is said instead.
_WORDING = (
    (r"'(.)' was never closed", r"`\1` is never closed"),
    (r"unmatched '(.)'", r"this `\1` closes nothing"),
    (r"closing parenthesis '(.)' does not match opening parenthesis '(.)'.*", r"this `\1` cannot close a `\2`"),
    (r"expected ':'", r"a `:` is missing here"),
    (r"expected an indented block after (.*) on line (\d+)", r"the lines after the \1 on line \2 must be indented"),
    (r"unexpected indent", r"this line is indented further than the one before it, without need"),
    (r"unindent does not match any outer indentation level", r"this line is indented like no line before it"),
    (r"inconsistent use of tabs and spaces.*", r"tabs and spaces are mixed at the start of lines: use spaces only"),
    (r"unterminated .*string literal.*", r"this quotation mark is never closed"),
    (r".*[Mm]aybe you meant '==' .*", r"write `==` to compare; only a variable can be set by `=`"),
    (r"cannot assign to .*", r"only a variable can be set, as in `x = 1`"),
    (r"Exceeds the limit .*", r"this number is too large"),
    (r"too many (?:nested parentheses|levels of indentation)", TOO_DEEP),
    (r"invalid decimal literal", r"this is neither a number nor a name: a name begins with a letter"),
    (r"invalid character .*\((.*)\)", r"the character \1 has no meaning here"),
    (r"invalid non-printable character (.*)", r"the character \1 has no meaning here: is it a special blank?"),
    (r"leading zeros in .*", r"a number cannot begin with 0: leave the zeros out"),
    (r"unexpected unindent|unexpected EOF.*", r"something is missing before this"),
    (r"Missing parentheses in call to '(.*?)'.*", r"there is no `\1`: a program cannot print"),
)

# What people write who come from other languages, and what to write here.
_FOREIGN_SPELLINGS = (
    (r"&&", "write `and`"),
    (r"\|\|", "write `or`"),
    (r"!(?!=)", "write `not`"),
    (r"\belse\s+if\b", "write `elif`"),
    (r"<>", "write `!=`"),
    (r"=[<>]", "write `<=` or `>=`"),
    (r"\+\+|--\s*$", "write `x = x + 1`"),
    (r"//", "a comment begins with `#`"),
    (r"[{}]", "the lines of a branch are indented, without braces"),
)


def python_error(error: SyntaxError, place: Place) -> SpecError:
    """The error to raise in place of one from Python's parser, which has no fields but its message."""
    for pattern, instead in _WORDING:
        match = re.fullmatch(pattern, error.msg)
        if match:
            return SpecError(match.expand(instead), place)
    reason = "" if error.msg == "invalid syntax" else error.msg.removeprefix("invalid syntax. ")
    reason = _foreign_spelling(place) or reason
    return SpecError(f"this cannot be read: {reason}" if reason else "this cannot be read", place)


def _foreign_spelling(place: Place) -> str | None:
    begin = place.text.rfind("\n", 0, place.start) + 1
    line = place.text[begin:].split("\n", 1)[0].split("#", 1)[0]
    # The parser fails at the second sign of such a pair, or at what follows it.
    near = line[max(0, place.start - begin - 8) : place.start - begin + 8]
    return next((hint for pattern, hint in _FOREIGN_SPELLINGS if re.search(pattern, near)), None)
