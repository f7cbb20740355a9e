"""Reading a specification from text.

The grammar is the file ``grammar.lark`` beside this one. The block is cut out first and read by Python's own parser,
for its syntax tree only; nothing is run.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from isonomia.errors import Place, SpecError, UsageError
from isonomia.spec.nomos.cutting import cut_block
from isonomia.spec.nomos.tree import Spec
from isonomia.spec.programs.source import plain_text

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

__all__ = ["DEEPEST", "parse_nomos"]

DEEPEST = 100
"""How many levels an expression may have."""


def parse_nomos(text: str) -> Spec:
    """Read a specification, and check what can be checked without data.

    Parameters
    ----------
    text
        What a ``.nom`` file holds.

    Returns
    -------
    Spec
        The syntax tree; every node knows its place in the text.

    Raises
    ------
    SpecError
        Where the text is no specification: the error says what came, what was expected, and where. Also for a name
        that is not declared or declared twice, and for an output that the block never sets.
    """
    from lark.exceptions import UnexpectedInput

    from isonomia.spec.nomos.build import build
    from isonomia.spec.nomos.complaints import complaint
    from isonomia.spec.nomos.scope import check_names

    if not isinstance(text, str):
        raise UsageError(f"text must be a str, but it is {text!r} of type {type(text).__name__}")
    text = plain_text(text)
    cut = cut_block(text)
    try:
        tree = _parser().parse(cut.blanked)
    except UnexpectedInput as error:
        raise complaint(error, text, _parser()) from None
    _check_depth(tree, text)
    spec = build(tree, text, cut)
    check_names(spec)
    return spec


@cache
def _parser() -> Lark:
    from lark import Lark

    grammar = resources.files(__package__).joinpath("grammar.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer="basic", propagate_positions=True, maybe_placeholders=True)


def _check_depth(tree: Tree[Token], text: str) -> None:
    from lark import Tree

    level: list[Tree[Token]] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in node.children if isinstance(child, Tree)]
        if not level:
            return
    start = level[0].meta.start_pos if not level[0].meta.empty else 0
    message = f"this is nested more than {DEEPEST} levels deep: set a variable to a part of it"
    raise SpecError(message, Place(text, start, start + 1))
