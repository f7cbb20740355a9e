"""Reading a formula from text.

The grammar is the file ``grammar.lark`` beside this one. Lark turns the text into a concrete tree,
:mod:`~isonomia.spec.build` turns that into the syntax tree, and :mod:`~isonomia.spec.complaints` turns a failure into
a sentence.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from isonomia.errors import Place, SpecError, UsageError
from isonomia.spec.tree import Formula, Row
from isonomia.spec.walk import DEEPEST

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

__all__ = ["parse_condition", "parse_formula"]


def parse_formula(text: str) -> Formula:
    """Read a formula.

    Parameters
    ----------
    text
        A property, such as ``P[prediction == 1 | sex == 'F'] >= 0.8``.

    Returns
    -------
    Formula
        Its syntax tree; every node knows its place in the text.

    Raises
    ------
    SpecError
        Where the text is no formula; the error says what came, what was expected, and where.

    Examples
    --------
    >>> parse_formula("P[hired] >= 80%")
    Comparison(first=Rate(event=Column(name='hired', version=None), given=None), rest=(('>=', Constant(value=0.8)),))
    """
    from isonomia.spec.build import build_formula

    return build_formula(_read(text, "start"), text)


def parse_condition(text: str) -> Row:
    """Read a condition by itself, such as ``sex == 'F' and age < 25``.

    Raises
    ------
    SpecError
        Where the text is no condition.

    Examples
    --------
    >>> parse_condition("sex == 'F'")
    Compare(relation='==', left=Column(name='sex', version=None), right=Literal(value='F'))
    """
    from isonomia.spec.build import build_condition

    return build_condition(_read(text, "condition"), text)


def _read(text: str, start: str) -> Tree[Token] | Token:
    if not isinstance(text, str):
        raise UsageError(f"text must be a str, but it is {text!r} of type {type(text).__name__}")
    from lark.exceptions import UnexpectedInput

    from isonomia.spec.complaints import complaint

    try:
        tree = _parser().parse(text, start=start)
    except UnexpectedInput as error:
        raise complaint(error, text, _parser()) from None
    _check_depth(tree, text)
    return tree.children[0]


@cache
def _parser() -> Lark:
    from lark import Lark

    grammar = resources.files(__package__).joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        grammar,
        start=["start", "condition"],
        parser="lalr",
        lexer="basic",
        propagate_positions=True,
        maybe_placeholders=True,
    )


def _check_depth(tree: Tree[Token], text: str) -> None:
    from lark import Tree

    level: list[Tree[Token]] = [tree]
    for _ in range(DEEPEST + 5):  # the concrete tree has a few levels more than the syntax tree
        level = [child for node in level for child in node.children if isinstance(child, Tree)]
        if not level:
            return
    place = Place(text, level[0].meta.start_pos, level[0].meta.start_pos + 1)
    raise SpecError(f"this is nested more than {DEEPEST} levels deep: split the property into several", place)
