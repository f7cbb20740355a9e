"""Python's own parser, used for its syntax tree only: nothing is compiled or run, and every failure is a SpecError."""

from __future__ import annotations

import ast
import re
import warnings

from isonomia.errors import Place, SpecError
from isonomia.spec.programs.source import Source

__all__ = ["TOO_DEEP", "parse_expression", "parse_module"]

TOO_DEEP = (
    "this is nested too deeply: a pair of brackets, a term of a long sum and an `elif` each count as one level. "
    "Set a variable to a part of it, and go on with that variable"
)
_UNREADABLE = "this cannot be read"

# What the parser says, and what is said instead.
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
    (r"Missing parentheses in call to '(.*?)'.*", r"there is no `\1`: a program draws and decides, and shows nothing"),
    (r"invalid syntax", _UNREADABLE),
    (r"invalid syntax\. (.*)", rf"{_UNREADABLE}: \1"),
)

# What people write who come from another language, and what it is called here.
_SPELLINGS = (
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


def parse_module(source: Source) -> ast.Module:
    """The syntax tree of a whole program."""
    tree = _parse(source, "exec")
    assert isinstance(tree, ast.Module)
    return tree


def parse_expression(source: Source) -> ast.expr:
    """The syntax tree of one expression."""
    tree = _parse(source, "eval")
    assert isinstance(tree, ast.Expression)
    return tree.body


def _parse(source: Source, mode: str) -> ast.AST:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.seen, mode=mode)
    except SyntaxError as error:
        raise _complaint(error, source) from None
    except (RecursionError, MemoryError):
        raise SpecError(TOO_DEEP, Place(source.text, source.skipped, source.skipped)) from None


def _complaint(error: SyntaxError, source: Source) -> SpecError:
    start = source.at(error.lineno, error.offset)
    end = source.at(error.end_lineno or error.lineno, error.end_offset or error.offset)
    place = Place(source.text, start, max(start, end))
    reason = _reworded(error.msg)
    if reason.startswith(_UNREADABLE):
        hint = _spelling(place)
        reason = f"{_UNREADABLE}: {hint}" if hint else reason
    return SpecError(reason, place)


def _reworded(said: str) -> str:
    for pattern, instead in _WORDING:
        found = re.fullmatch(pattern, said)
        if found:
            return found.expand(instead)
    return f"{_UNREADABLE}: {said}"


def _spelling(place: Place) -> str | None:
    begin = place.text.rfind("\n", 0, place.start) + 1
    line = place.text[begin:].split("\n", 1)[0].split("#", 1)[0]
    # The parser stumbles over the second sign of such a pair, or over what comes behind it.
    near = line[max(0, place.start - begin - 8) : place.start - begin + 8]
    return next((hint for pattern, hint in _SPELLINGS if re.search(pattern, near)), None)
