"""Saying in plain English what a formula claims.

The words are built from the outside in: the formula, its comparisons, the quantities in them, then the row expressions
of each rate and mean, as the end of "people ..." or of "those ...", and finally other versions of a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeGuard

from isonomia.spec.text import chain_of, number_text, value_text
from isonomia.spec.tree import (
    FLIPPED,
    Arithmetic,
    AsIf,
    Call,
    Column,
    Compare,
    Comparison,
    Constant,
    Do,
    Each,
    Extreme,
    Formula,
    Implies,
    Junction,
    Leaf,
    Literal,
    Mean,
    Member,
    Missing,
    Negative,
    Not,
    Other,
    Output,
    PairCall,
    Power,
    Quantity,
    Rate,
    Relation,
    Row,
    RowArithmetic,
    RowJunction,
    RowNegative,
    RowNot,
    RowRelation,
    Setting,
    Variable,
    Version,
    constant_value,
    versions_of,
)
from isonomia.wording import listed

_RELATIONS: dict[RowRelation, str] = {"<": "less than", "<=": "at most", ">": "more than", ">=": "at least"}
_SIGNS = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}
_FUNCTIONS = {"min": "the smallest of", "max": "the largest of"}


def explain(formula: Formula) -> str:
    """Say what a formula claims, as one English sentence for a reader; the exact statement is the formula's text."""
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
        values = f"{node.variable} among {listed(map(_term, node.source))}"
    excluded = f" except {listed(map(_term, node.excluded))}" if node.excluded else ""
    return f"for every {values}{excluded}: {_formula(node.body)}"


# ---------------------------------------------------------------------------- comparisons


def _comparison(first: Quantity, rest: tuple[tuple[Relation, Quantity], ...]) -> str:
    if len(rest) == 1:
        relation, right = rest[0]
        if constant_value(first) is not None and constant_value(right) is None:
            return _link(right, FLIPPED[relation], first)
        return _link(first, relation, right)
    if len(rest) == 2:
        (lower, middle), (upper, last) = rest
        if lower == upper and constant_value(first) is not None and constant_value(last) is not None:
            return _quantity_between(middle, lower, first, last)
    terms = [first, *(quantity for _, quantity in rest)]
    links = zip(terms, (relation for relation, _ in rest), terms[1:], strict=False)
    return " and ".join(_link(left, relation, right) for left, relation, right in links)


def _link(left: Quantity, relation: RowRelation, right: Quantity) -> str:
    words = _RELATIONS[relation]
    match left, right:
        case Arithmetic("/", Rate() | Mean() as above, Rate() | Mean() as below), Constant():
            return f"{_leaf(above)} is {words} {_quantity(right)} times {_other(below, above)}"
        case Extreme("abs", (Mean(RowArithmetic("-", happened, stated)) as gap,)), _ if _is_truth(happened):
            return f"{_mean_pair(gap, happened, stated)} differ by {words} {_quantity(right)}"
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


def _is_truth(row: Row) -> bool:
    return isinstance(row, Compare | Member | Missing | RowNot | RowJunction)


def _mean_pair(gap: Mean, happened: Row, stated: Row) -> str:
    """What a mean difference of an event and a number is about: how often it happens, and the mean of the number."""
    group = "" if gap.given is None else f"among those {_condition(gap.given)}, "
    return f"{group}the share of people {_event(happened)} and {_leaf(replace(gap, term=stated, given=None))}"


def _quantity_between(middle: Quantity, relation: Relation, first: Quantity, last: Quantity) -> str:
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
            return f"minus {_grouped_quantity(operand)}"
        case Arithmetic(sign, left, right):
            return f"{_grouped_quantity(left)} {_SIGNS[sign]} {_grouped_quantity(right)}"
        case Power(base, exponent):
            raised = "squared" if exponent == 2 else f"to the power {number_text(exponent)}"
            return f"{_grouped_quantity(base)} {raised}"
        case Extreme("abs", (argument,)):
            return f"the absolute value of {_grouped_quantity(argument)}"
        case Extreme(function, arguments):
            return f"{_FUNCTIONS[function]} {listed(map(_grouped_quantity, arguments))}"


def _grouped_quantity(node: Quantity) -> str:
    return _quantity(node) if isinstance(node, Constant) else f"({_quantity(node)})"


def _leaf(leaf: Leaf) -> str:
    if versions_of(leaf):
        return _leaf_of_versions(leaf)
    group = "" if leaf.given is None else f" among those {_condition(leaf.given)}"
    if isinstance(leaf, Rate):
        return f"the share of people {_event(leaf.event)}{group}"
    phrase = _term(leaf.term)
    return f"the mean {'of ' if phrase.startswith(('the ', 'minus ')) else ''}{phrase}{group}"


def _leaf_of_versions(leaf: Leaf) -> str:
    """A leaf with its group in front, where it cannot be read as a part of ``had sex been 'M'``."""
    group = [] if leaf.given is None else [_condition(leaf.given)]
    if Other() in versions_of(leaf):
        among = ", ".join(["people each paired with a second person drawn at random", *group])
    else:
        among = " ".join(["those", *group]) if group else ""
    noun = f", among {among}," if among else ""
    if isinstance(leaf, Rate):
        return f"the share{noun} of {'those' if among else 'people'} {_event(leaf.event)}"
    return f"the mean{noun} of {_term(leaf.term)}"


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
    return f"{noun} among those {_condition(right.given)}"


# ---------------------------------------------------------------------------- row expressions

_EVENT = {"==": "equal to", "!=": "other than", "<": "below", "<=": "at most", ">": "above", ">=": "at least"}
_CONDITION = {relation: f"is {words}" for relation, words in _EVENT.items()} | {"==": "is", "!=": "is not"}


def _event(row: Row) -> str:
    """An event as the end of "people ...": ``with prediction equal to 1``."""
    return _phrase(row, event=True)


def _condition(row: Row) -> str:
    """A condition as the end of "those ...": ``whose sex is 'F'``."""
    return _phrase(row, event=False)


def _phrase(row: Row, *, event: bool) -> str:
    lead = "with" if event else "whose"
    match row:
        case RowJunction(connective, operands):
            links = chain_of(row)
            if links and len(links) == 2 and isinstance(links[0].left, Literal):
                versions = bool(versions_of(row))
                return f"{'for whom' if versions else lead} {_between(links, event=event and not versions)}"
            parts: list[str] = []
            for operand, before in zip(operands, (None, *operands), strict=False):
                if parts and connective == "and" and _same_number(operand, before) and not versions_of(row):
                    parts[-1] += f" and {(_EVENT if event else _CONDITION)[operand.relation].removeprefix('is ')} "
                    parts[-1] += _term(operand.right)
                    continue
                phrase = _phrase(operand, event=event)
                parts.append(f"({phrase})" if isinstance(operand, RowJunction) else phrase)
            return f"{'either ' if connective == 'or' else ''}{listed(parts, connective)}"
        case RowNot(Compare() | RowJunction() | RowNot() as inner):
            return f"for whom it is not true that {_clause(inner)}"
        case Literal():
            return "of any kind" if row.value is True else f"for whom {value_text(row.value)} is true"
        case _ if versions_of(row):
            return f"{'whose' if _sameness(row) else 'for whom'} {_clause(row)}"
        case Column() | Output() | RowNot(Column() | Output()) if not event:
            column, truth = (row.operand, "false") if isinstance(row, RowNot) else (row, "true")
            return f"where `{_term(column)}` is {truth}"
        case _:
            return f"{lead} {_test(row, event=event)}"


_UP, _DOWN = (">", ">="), ("<", "<=")


def _same_number(upper: Row, lower: Row | None) -> TypeGuard[Compare]:
    """Whether ``upper`` bounds from above the number that ``lower`` bounds from below."""
    match lower, upper:
        case Compare(first, one, Literal()), Compare(second, other, Literal()):
            return first in _UP and second in _DOWN and one == other and not isinstance(one, Literal)
        case _:
            return False


def _test(row: Row, *, event: bool) -> str:
    """A single test without its leading word: ``sex is 'F'``, or for an event ``sex equal to 'F'``."""
    be = "" if event else "is "
    match row:
        case Compare(relation, Literal() as left, right) if not isinstance(right, Literal):
            return _test(Compare(FLIPPED[relation], right, left), event=event)
        case Compare(relation, left, right):
            words = (_EVENT if event else _CONDITION)[relation]
            return f"{_term(left)} {words} {_term(right)}"
        case Member(operand, values):
            return f"{_term(operand)} {'equal to' if event else 'is'} {listed(map(_term, values), 'or')}"
        case RowNot(Member(operand, values)):
            return f"{_term(operand)} {be}none of {listed(map(_term, values))}"
        case Missing(operand):
            return f"{_term(operand)} {be}missing"
        case RowNot(Missing(operand)):
            return f"{_term(operand)} {be}not missing"
        case RowNot(operand):
            return f"{_term(operand)} {be}false"
        case _:
            return f"{_term(row)} {be}true"


def _between(links: Sequence[Compare], *, event: bool) -> str:
    low, high = links
    strict = {low.relation, high.relation} == {"<"}
    middle = _term(low.right)
    if strict or {low.relation, high.relation} == {"<="}:
        words = f"{'strictly ' if strict else ''}between {_term(low.left)} and {_term(high.right)}"
        return f"{middle} {words}" if event else f"{middle} is {words}"
    first = _test(Compare(low.relation, low.left, low.right), event=event)
    return f"{first} and {(_EVENT if event else _CONDITION)[high.relation]} {_term(high.right)}"


def _clause(row: Row) -> str:
    """A whole clause: ``sex is 'F' and age is below 25``."""
    match row:
        case RowJunction(connective, operands):
            parts = [f"({_clause(x)})" if isinstance(x, RowJunction) else _clause(x) for x in operands]
            return listed(parts, connective)
        case RowNot(Compare() | RowJunction() | RowNot() as inner):
            return f"not ({_clause(inner)})"
        case _:
            return _sameness(row) or _test(row, event=False)


def _term(row: Row) -> str:
    """A term in words: ``income divided by 12``."""
    match row:
        case Column() | Output():
            return _feature(row)
        case Variable():
            return row.name
        case PairCall():
            return f"{row.name}(person, second person)"
        case Literal():
            return value_text(row.value)
        case RowNegative(operand):
            return f"minus {_grouped(operand)}"
        case RowArithmetic(sign, left, right):
            return f"{_grouped(left)} {_SIGNS[sign]} {_grouped(right)}"
        case Call("abs", (argument,)):
            return f"the absolute value of {_grouped(argument)}"
        case Call(function, arguments):
            return f"{_FUNCTIONS[function]} {listed(map(_grouped, arguments))}"
        case _:
            return f"the truth of ({_clause(row)})"


def _grouped(row: Row) -> str:
    simple = isinstance(row, Column | Variable | Output | Literal | PairCall)
    counterfactual = isinstance(row, Column | Output) and isinstance(row.version, Do)
    return _term(row) if simple and not counterfactual else f"({_term(row)})"


# ---------------------------------------------------------------------------- versions of a person


def _feature(feature: Column | Output) -> str:
    """A column or an answer: ``age``, ``the second person's age``, ``the prediction had sex been 'M'``."""
    name = feature.name
    if isinstance(feature, Output) and feature.label is not None:
        name = f"score for {value_text(feature.label)}"
    match feature.version:
        case None:
            return name
        case Other():
            return f"the second person's {name}"
        case Do():
            return f"the {name} {_had(feature.version)}"


def _sameness(row: Row) -> str | None:
    """Whether one thing is the same in another version, as the end of "whose ..."; ``None`` for any other test."""
    match row:
        case Compare("==" | "!=", Column() | Output() as left, Column() | Output() as right):
            plain, changed = (left, right) if left.version is None else (right, left)
            if plain.version is not None or changed.version is None or replace(changed, version=None) != plain:
                return None
            return _same_or_not(_feature(plain), changed.version, row.relation == "==")
        case _:
            return None


def _same_or_not(name: str, version: Version, same: bool) -> str:
    match version:
        case Other():
            return f"{name} is {'the same as' if same else 'different from'} the second person's"
        case Do():
            return f"{name} would have been {'the same' if same else 'different'} {_had(version)}"


def _had(version: Do) -> str:
    settings = [item for item in version.items if isinstance(item, Setting)]
    mediated = [item for item in version.items if isinstance(item, AsIf)]
    clauses = [_had_been(settings)] if settings else []
    clauses += [f"with {item.name} as it would have been {_had_been(item.settings)}" for item in mediated]
    return " and ".join(clauses)


def _had_been(settings: Iterable[Setting]) -> str:
    return f"had {listed(f'{item.name} been {_term(item.value)}' for item in settings)}"
