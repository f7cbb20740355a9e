"""Saying in plain English what a formula claims."""

from __future__ import annotations

from isonomia.spec.construct import constant_value
from isonomia.spec.lexemes import number_text
from isonomia.spec.names import versions_of
from isonomia.spec.phrases import condition_phrase, event_phrase, term_phrase
from isonomia.spec.tree import (
    Arithmetic,
    Column,
    Comparison,
    Constant,
    Each,
    Extreme,
    Formula,
    Implies,
    Junction,
    Leaf,
    Mean,
    Negative,
    Not,
    Power,
    Quantity,
    Rate,
    Relation,
)
from isonomia.spec.version_phrases import join_words
from isonomia.spec.versions import Other

__all__ = ["explain"]

_WORDS = {"<": "less than", "<=": "at most", ">": "more than", ">=": "at least"}
_FLIPPED: dict[Relation, Relation] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SIGNS = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}
_EXTREMES = {"min": "the smallest of", "max": "the largest of"}


def explain(formula: Formula) -> str:
    """Say what a formula claims, as an English sentence.

    Parameters
    ----------
    formula
        Any formula.

    Returns
    -------
    str
        One sentence. It is meant for a reader; the exact statement is the formula's text.
    """
    sentence = _formula(formula)
    first = len(sentence) - len(sentence.lstrip("(["))
    return f"{sentence[:first]}{sentence[first].upper()}{sentence[first + 1 :]}."


def _formula(formula: Formula) -> str:
    match formula:
        case Comparison(first, rest):
            return _comparison(first, rest)
        case Not(operand):
            return f"it is not the case that {_part(operand)}"
        case Junction(connective, operands):
            lead = "either " if connective == "or" else ""
            return lead + f", {connective} ".join(_part(operand) for operand in operands)
        case Implies(premise, conclusion):
            return f"if {_part(premise)}, then {_part(conclusion)}"
        case Each():
            return _each(formula)


def _part(formula: Formula) -> str:
    return _formula(formula) if isinstance(formula, Comparison) else f"[{_formula(formula)}]"


def _each(node: Each) -> str:
    if isinstance(node.source, Column):
        values = f"value {node.variable} of {node.source.name}"
    else:
        values = f"{node.variable} among {join_words(map(term_phrase, node.source), 'and')}"
    excluded = f" except {join_words(map(term_phrase, node.excluded), 'and')}" if node.excluded else ""
    return f"for every {values}{excluded}: {_formula(node.body)}"


# ---------------------------------------------------------------------------- comparisons


def _comparison(first: Quantity, rest: tuple[tuple[Relation, Quantity], ...]) -> str:
    if len(rest) == 1:
        relation, right = rest[0]
        if constant_value(first) is not None and constant_value(right) is None:
            return _link(right, _FLIPPED[relation], first)
        return _link(first, relation, right)
    if len(rest) == 2:
        (lower, middle), (upper, last) = rest
        if lower == upper and constant_value(first) is not None and constant_value(last) is not None:
            return _between(middle, lower, first, last)
    terms = [first, *(quantity for _, quantity in rest)]
    links = zip(terms, (relation for relation, _ in rest), terms[1:], strict=False)
    return " and ".join(_link(left, relation, right) for left, relation, right in links)


def _link(left: Quantity, relation: Relation, right: Quantity) -> str:
    words = _WORDS[relation]
    match left, right:
        case Arithmetic("/", Rate() | Mean() as above, Rate() | Mean() as below), Constant():
            return f"{_leaf(above)} is {words} {_quantity(right)} times {_other(below, above)}"
        case Extreme("abs", (Arithmetic("-", a, b),)), _:
            return f"{_quantity(a)} and {_other(b, a)} differ by {words} {_quantity(right)}"
        case Arithmetic("-", a, b), Constant(value) if value >= 0:
            if value == 0:
                return f"{_quantity(a)} is {words} {_other(b, a)}"
            return f"{_quantity(a)} exceeds {_other(b, a)} by {words} {_quantity(right)}"
        case Arithmetic("-", a, b), Constant(value):
            return f"{_quantity(a)} is {words} {_other(b, a)} minus {number_text(-value)}"
        case _, Arithmetic("*", Constant(), Rate() | Mean() as other):
            return f"{_quantity(left)} is {words} {_quantity(right.left)} times {_other(other, left)}"
        case _:
            return f"{_quantity(left)} is {words} {_other(right, left)}"


def _between(middle: Quantity, relation: Relation, first: Quantity, last: Quantity) -> str:
    low, high = (first, last) if relation in {"<", "<="} else (last, first)
    between = f"{'strictly ' if relation in {'<', '>'} else ''}between {_quantity(low)} and {_quantity(high)}"
    match middle:
        case Arithmetic("/", Rate() | Mean() as above, Rate() | Mean() as below):
            return f"{_leaf(above)} is {between} times {_other(below, above)}"
        case Arithmetic("-", a, b):
            return f"{_quantity(a)} minus {_other(b, a)} is {between}"
        case _:
            return f"{_quantity(middle)} is {between}"


# ---------------------------------------------------------------------------- quantities


def _quantity(node: Quantity) -> str:
    match node:
        case Constant(value):
            return number_text(value)
        case Rate() | Mean():
            return _leaf(node)
        case Negative(operand):
            return f"minus {_grouped(operand)}"
        case Arithmetic(sign, left, right):
            return f"{_grouped(left)} {_SIGNS[sign]} {_grouped(right)}"
        case Power(base, exponent):
            return f"{_grouped(base)} {'squared' if exponent == 2 else f'to the power {number_text(exponent)}'}"
        case Extreme("abs", (argument,)):
            return f"the absolute value of {_grouped(argument)}"
        case Extreme(function, arguments):
            return f"{_EXTREMES[function]} {join_words(map(_grouped, arguments), 'and')}"


def _grouped(node: Quantity) -> str:
    return _quantity(node) if isinstance(node, Constant) else f"({_quantity(node)})"


def _leaf(leaf: Leaf) -> str:
    if versions_of(leaf):
        return _leaf_of_versions(leaf)
    group = "" if leaf.given is None else f" among those {condition_phrase(leaf.given)}"
    if isinstance(leaf, Rate):
        return f"the share of people {event_phrase(leaf.event)}{group}"
    phrase = term_phrase(leaf.term)
    return f"the mean {'of ' if phrase.startswith(('the ', 'minus ')) else ''}{phrase}{group}"


def _leaf_of_versions(leaf: Leaf) -> str:
    """A leaf with its group in front, where it cannot be read as a part of ``had sex been 'M'``."""
    group = [] if leaf.given is None else [condition_phrase(leaf.given)]
    if Other() in versions_of(leaf):
        among = ", ".join(["people each paired with a second person drawn at random", *group])
    else:
        among = " ".join(["those", *group]) if group else ""
    noun = f", among {among}," if among else ""
    if isinstance(leaf, Rate):
        return f"the share{noun} of {'those' if among else 'people'} {event_phrase(leaf.event)}"
    return f"the mean{noun} of {term_phrase(leaf.term)}"


def _other(right: Quantity, left: Quantity) -> str:
    """The right side of a comparison, shortened to its group where it is about the same event or term as the left."""
    match left, right:
        case (Rate(event), Rate(other)) if event == other:
            noun = "the share"
        case (Mean(term), Mean(other)) if term == other:
            noun = "the mean"
        case _:
            return _quantity(right)
    if right.given is None:
        return f"{noun} in the whole population"
    return f"{noun} among those {condition_phrase(right.given)}"
