"""Saying in plain English what a formula claims.

The words are built from the outside in: the formula, its comparisons, the quantities in them, then the row expressions
of each rate and mean, as the end of "people ..." or of "those ...", and finally other versions of a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeGuard

from isonomia.spec import tree
from isonomia.spec.text import chain_of, number_text, value_text
from isonomia.wording import listed

_RELATIONS: dict[tree.RowRelation, str] = {"<": "less than", "<=": "at most", ">": "more than", ">=": "at least"}
_SIGNS = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}
_FUNCTIONS = {"min": "the smallest of", "max": "the largest of"}


def explain(formula: tree.Formula) -> str:
    """Say what a formula claims, as one English sentence for a reader; the exact statement is the formula's text."""
    sentence = _formula(formula)
    first = len(sentence) - len(sentence.lstrip("(["))
    return f"{sentence[:first]}{sentence[first].upper()}{sentence[first + 1 :]}."


def _formula(formula: tree.Formula) -> str:
    match formula:
        case tree.Comparison(first, rest):
            return _comparison(first, rest)
        case tree.Not(operand):
            return f"it is not the case that {_part(operand)}"
        case tree.Junction(connective, operands):
            lead = "either " if connective == "or" else ""
            return lead + f", {connective} ".join(_part(operand) for operand in operands)
        case tree.Implies(premise, conclusion):
            return f"if {_part(premise)}, then {_part(conclusion)}"
        case tree.Each():
            return _each(formula)


def _part(formula: tree.Formula) -> str:
    return _formula(formula) if isinstance(formula, tree.Comparison) else f"[{_formula(formula)}]"


def _each(node: tree.Each) -> str:
    if isinstance(node.source, tree.Column):
        values = f"value {node.variable} of {node.source.name}"
    else:
        values = f"{node.variable} among {listed(map(_term, node.source))}"
    excluded = f" except {listed(map(_term, node.excluded))}" if node.excluded else ""
    return f"for every {values}{excluded}: {_formula(node.body)}"


# ---------------------------------------------------------------------------- comparisons


def _comparison(first: tree.Quantity, rest: tuple[tuple[tree.Relation, tree.Quantity], ...]) -> str:
    if len(rest) == 1:
        relation, right = rest[0]
        if tree.constant_value(first) is not None and tree.constant_value(right) is None:
            return _link(right, tree.FLIPPED[relation], first)
        return _link(first, relation, right)
    if len(rest) == 2:
        (lower, middle), (upper, last) = rest
        if lower == upper and tree.constant_value(first) is not None and tree.constant_value(last) is not None:
            return _quantity_between(middle, lower, first, last)
    terms = [first, *(quantity for _, quantity in rest)]
    links = zip(terms, (relation for relation, _ in rest), terms[1:], strict=False)
    return " and ".join(_link(left, relation, right) for left, relation, right in links)


def _link(left: tree.Quantity, relation: tree.RowRelation, right: tree.Quantity) -> str:
    words = _RELATIONS[relation]
    match left, right:
        case tree.Arithmetic(
            "/", tree.Rate() | tree.Mean() as above, tree.Rate() | tree.Mean() as below
        ), tree.Constant():
            return f"{_leaf(above)} is {words} {_quantity(right)} times {_other(below, above)}"
        case tree.Extreme("abs", (tree.Mean(tree.RowArithmetic("-", happened, stated)) as gap,)), _ if _is_truth(
            happened
        ):
            return f"{_mean_pair(gap, happened, stated)} differ by {words} {_quantity(right)}"
        case tree.Extreme("abs", (tree.Arithmetic("-", a, b),)), _:
            return f"{_quantity(a)} and {_other(b, a)} differ by {words} {_quantity(right)}"
        case tree.Arithmetic("-", a, b), tree.Constant(value) if value >= 0:
            if value == 0:
                return f"{_quantity(a)} is {words} {_other(b, a)}"
            return f"{_quantity(a)} exceeds {_other(b, a)} by {words} {_quantity(right)}"
        case tree.Arithmetic("-", a, b), tree.Constant(value):
            return f"{_quantity(a)} is {words} {_other(b, a)} minus {number_text(-value)}"
        case _, tree.Arithmetic("*", tree.Constant(), tree.Rate() | tree.Mean() as other):
            return f"{_quantity(left)} is {words} {_quantity(right.left)} times {_other(other, left)}"
        case _:
            return f"{_quantity(left)} is {words} {_other(right, left)}"


def _is_truth(row: tree.Row) -> bool:
    return isinstance(row, tree.Compare | tree.Member | tree.Missing | tree.RowNot | tree.RowJunction)


def _mean_pair(gap: tree.Mean, happened: tree.Row, stated: tree.Row) -> str:
    """What a mean difference of an event and a number is about: how often it happens, and the mean of the number."""
    group = "" if gap.given is None else f"among those {_condition(gap.given)}, "
    return f"{group}the share of people {_event(happened)} and {_leaf(replace(gap, term=stated, given=None))}"


def _quantity_between(middle: tree.Quantity, relation: tree.Relation, first: tree.Quantity, last: tree.Quantity) -> str:
    low, high = (first, last) if relation in {"<", "<="} else (last, first)
    between = f"{'strictly ' if relation in {'<', '>'} else ''}between {_quantity(low)} and {_quantity(high)}"
    match middle:
        case tree.Arithmetic("/", tree.Rate() | tree.Mean() as above, tree.Rate() | tree.Mean() as below):
            return f"{_leaf(above)} is {between} times {_other(below, above)}"
        case tree.Arithmetic("-", a, b):
            return f"{_quantity(a)} minus {_other(b, a)} is {between}"
        case _:
            return f"{_quantity(middle)} is {between}"


# ---------------------------------------------------------------------------- quantities


def _quantity(node: tree.Quantity) -> str:
    match node:
        case tree.Constant(value):
            return number_text(value)
        case tree.Rate() | tree.Mean():
            return _leaf(node)
        case tree.Negative(operand):
            return f"minus {_grouped_quantity(operand)}"
        case tree.Arithmetic(sign, left, right):
            return f"{_grouped_quantity(left)} {_SIGNS[sign]} {_grouped_quantity(right)}"
        case tree.Power(base, exponent):
            raised = "squared" if exponent == 2 else f"to the power {number_text(exponent)}"
            return f"{_grouped_quantity(base)} {raised}"
        case tree.Extreme("abs", (argument,)):
            return f"the absolute value of {_grouped_quantity(argument)}"
        case tree.Extreme(function, arguments):
            return f"{_FUNCTIONS[function]} {listed(map(_grouped_quantity, arguments))}"


def _grouped_quantity(node: tree.Quantity) -> str:
    return _quantity(node) if isinstance(node, tree.Constant) else f"({_quantity(node)})"


def _leaf(leaf: tree.Leaf) -> str:
    if tree.versions_of(leaf):
        return _leaf_of_versions(leaf)
    group = "" if leaf.given is None else f" among those {_condition(leaf.given)}"
    if isinstance(leaf, tree.Rate):
        return f"the share of people {_event(leaf.event)}{group}"
    phrase = _term(leaf.term)
    return f"the mean {'of ' if phrase.startswith(('the ', 'minus ')) else ''}{phrase}{group}"


def _leaf_of_versions(leaf: tree.Leaf) -> str:
    """A leaf with its group in front, where it cannot be read as a part of ``had sex been 'M'``."""
    group = [] if leaf.given is None else [_condition(leaf.given)]
    if tree.Other() in tree.versions_of(leaf):
        among = ", ".join(["people each paired with a second person drawn at random", *group])
    else:
        among = " ".join(["those", *group]) if group else ""
    noun = f", among {among}," if among else ""
    if isinstance(leaf, tree.Rate):
        return f"the share{noun} of {'those' if among else 'people'} {_event(leaf.event)}"
    return f"the mean{noun} of {_term(leaf.term)}"


def _other(right: tree.Quantity, left: tree.Quantity) -> str:
    """The right side of a comparison, shortened to its group where it is about the same event or term as the left."""
    match left, right:
        case (tree.Rate(event), tree.Rate(other)) if event == other:
            noun = "the share"
        case (tree.Mean(term), tree.Mean(other)) if term == other:
            noun = "the mean"
        case _:
            return _quantity(right)
    if right.given is None:
        return f"{noun} in the whole population"
    return f"{noun} among those {_condition(right.given)}"


# ---------------------------------------------------------------------------- row expressions

_EVENT = {"==": "equal to", "!=": "other than", "<": "below", "<=": "at most", ">": "above", ">=": "at least"}
_CONDITION = {relation: f"is {words}" for relation, words in _EVENT.items()} | {"==": "is", "!=": "is not"}


def _event(row: tree.Row) -> str:
    """An event as the end of "people ...": ``with prediction equal to 1``."""
    return _phrase(row, event=True)


def _condition(row: tree.Row) -> str:
    """A condition as the end of "those ...": ``whose sex is 'F'``."""
    return _phrase(row, event=False)


def _phrase(row: tree.Row, *, event: bool) -> str:
    lead = "with" if event else "whose"
    match row:
        case tree.RowJunction(connective, operands):
            links = chain_of(row)
            if links and len(links) == 2 and isinstance(links[0].left, tree.Literal):
                versions = bool(tree.versions_of(row))
                return f"{'for whom' if versions else lead} {_between(links, event=event and not versions)}"
            parts: list[str] = []
            for operand, before in zip(operands, (None, *operands), strict=False):
                if parts and connective == "and" and _same_number(operand, before) and not tree.versions_of(row):
                    parts[-1] += f" and {(_EVENT if event else _CONDITION)[operand.relation].removeprefix('is ')} "
                    parts[-1] += _term(operand.right)
                    continue
                phrase = _phrase(operand, event=event)
                parts.append(f"({phrase})" if isinstance(operand, tree.RowJunction) else phrase)
            return f"{'either ' if connective == 'or' else ''}{listed(parts, connective)}"
        case tree.RowNot(tree.Compare() | tree.RowJunction() | tree.RowNot() as inner):
            return f"for whom it is not true that {_clause(inner)}"
        case tree.Literal():
            return "of any kind" if row.value is True else f"for whom {value_text(row.value)} is true"
        case _ if tree.versions_of(row):
            return f"{'whose' if _sameness(row) else 'for whom'} {_clause(row)}"
        case tree.Column() | tree.Output() | tree.RowNot(tree.Column() | tree.Output()) if not event:
            column, truth = (row.operand, "false") if isinstance(row, tree.RowNot) else (row, "true")
            return f"where `{_term(column)}` is {truth}"
        case _:
            return f"{lead} {_test(row, event=event)}"


_UP, _DOWN = (">", ">="), ("<", "<=")


def _same_number(upper: tree.Row, lower: tree.Row | None) -> TypeGuard[tree.Compare]:
    """Whether ``upper`` bounds from above the number that ``lower`` bounds from below."""
    match lower, upper:
        case tree.Compare(first, one, tree.Literal()), tree.Compare(second, other, tree.Literal()):
            return first in _UP and second in _DOWN and one == other and not isinstance(one, tree.Literal)
        case _:
            return False


def _test(row: tree.Row, *, event: bool) -> str:
    """A single test without its leading word: ``sex is 'F'``, or for an event ``sex equal to 'F'``."""
    be = "" if event else "is "
    match row:
        case tree.Compare(relation, tree.Literal() as left, right) if not isinstance(right, tree.Literal):
            return _test(tree.Compare(tree.FLIPPED[relation], right, left), event=event)
        case tree.Compare(relation, left, right):
            words = (_EVENT if event else _CONDITION)[relation]
            return f"{_term(left)} {words} {_term(right)}"
        case tree.Member(operand, values):
            return f"{_term(operand)} {'equal to' if event else 'is'} {listed(map(_term, values), 'or')}"
        case tree.RowNot(tree.Member(operand, values)):
            return f"{_term(operand)} {be}none of {listed(map(_term, values))}"
        case tree.Missing(operand):
            return f"{_term(operand)} {be}missing"
        case tree.RowNot(tree.Missing(operand)):
            return f"{_term(operand)} {be}not missing"
        case tree.RowNot(operand):
            return f"{_term(operand)} {be}false"
        case _:
            return f"{_term(row)} {be}true"


def _between(links: Sequence[tree.Compare], *, event: bool) -> str:
    low, high = links
    strict = {low.relation, high.relation} == {"<"}
    middle = _term(low.right)
    if strict or {low.relation, high.relation} == {"<="}:
        words = f"{'strictly ' if strict else ''}between {_term(low.left)} and {_term(high.right)}"
        return f"{middle} {words}" if event else f"{middle} is {words}"
    first = _test(tree.Compare(low.relation, low.left, low.right), event=event)
    return f"{first} and {(_EVENT if event else _CONDITION)[high.relation]} {_term(high.right)}"


def _clause(row: tree.Row) -> str:
    """A whole clause: ``sex is 'F' and age is below 25``."""
    match row:
        case tree.RowJunction(connective, operands):
            parts = [f"({_clause(x)})" if isinstance(x, tree.RowJunction) else _clause(x) for x in operands]
            return listed(parts, connective)
        case tree.RowNot(tree.Compare() | tree.RowJunction() | tree.RowNot() as inner):
            return f"not ({_clause(inner)})"
        case _:
            return _sameness(row) or _test(row, event=False)


def _term(row: tree.Row) -> str:
    """A term in words: ``income divided by 12``."""
    match row:
        case tree.Column() | tree.Output():
            return _feature(row)
        case tree.Variable():
            return row.name
        case tree.PairCall():
            return f"{row.name}(person, second person)"
        case tree.Literal():
            return value_text(row.value)
        case tree.RowNegative(operand):
            return f"minus {_grouped(operand)}"
        case tree.RowArithmetic(sign, left, right):
            return f"{_grouped(left)} {_SIGNS[sign]} {_grouped(right)}"
        case tree.Call("abs", (argument,)):
            return f"the absolute value of {_grouped(argument)}"
        case tree.Call(function, arguments):
            return f"{_FUNCTIONS[function]} {listed(map(_grouped, arguments))}"
        case _:
            return f"the truth of ({_clause(row)})"


def _grouped(row: tree.Row) -> str:
    simple = isinstance(row, tree.Column | tree.Variable | tree.Output | tree.Literal | tree.PairCall)
    counterfactual = isinstance(row, tree.Column | tree.Output) and isinstance(row.version, tree.Do)
    return _term(row) if simple and not counterfactual else f"({_term(row)})"


# ---------------------------------------------------------------------------- versions of a person


def _feature(feature: tree.Column | tree.Output) -> str:
    """A column or an answer: ``age``, ``the second person's age``, ``the prediction had sex been 'M'``."""
    name = feature.name
    if isinstance(feature, tree.Output) and feature.label is not None:
        name = f"score for {value_text(feature.label)}"
    if isinstance(feature, tree.Output) and feature.model is not None:
        name = f"{feature.model}'s {name}"
    match feature.version:
        case None:
            return name
        case tree.Other():
            return f"the second person's {name}"
        case tree.Do():
            return f"the {name} {_had(feature.version)}"


def _sameness(row: tree.Row) -> str | None:
    """Whether one thing is the same in another version, as the end of "whose ..."; ``None`` for any other test."""
    match row:
        case tree.Compare("==" | "!=", tree.Column() | tree.Output() as left, tree.Column() | tree.Output() as right):
            plain, changed = (left, right) if left.version is None else (right, left)
            if plain.version is not None or changed.version is None or replace(changed, version=None) != plain:
                return None
            return _same_or_not(_feature(plain), changed.version, row.relation == "==")
        case _:
            return None


def _same_or_not(name: str, version: tree.Version, same: bool) -> str:
    match version:
        case tree.Other():
            return f"{name} is {'the same as' if same else 'different from'} the second person's"
        case tree.Do():
            return f"{name} would have been {'the same' if same else 'different'} {_had(version)}"


def _had(version: tree.Do) -> str:
    settings = [item for item in version.items if isinstance(item, tree.Setting)]
    mediated = [item for item in version.items if isinstance(item, tree.AsIf)]
    clauses = [_had_been(settings)] if settings else []
    clauses += [f"with {item.name} as it would have been {_had_been(item.settings)}" for item in mediated]
    return " and ".join(clauses)


def _had_been(settings: Iterable[tree.Setting]) -> str:
    return f"had {listed(f'{item.name} been {_term(item.value)}' for item in settings)}"
