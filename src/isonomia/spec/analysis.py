"""What the syntax alone proves: whether two groups can meet, whether one lies in the other, and the range of a term.

The first two questions are one: can a conjunction be true of any row? A conjunction is split into tests, a disjunction
into cases, and each case is searched for a contradiction. The answer is one-sided: *yes* is certain whatever the data,
*no* means only that it was not shown.

The tests are those of :mod:`isonomia.spec.evaluate`, whose rounding matters here: a column in single precision compares
with the literal rounded to single precision. So two numbers count as different only where they stay different after
that rounding, and numbers so large that whole numbers are not exact are not reasoned about.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from isonomia.spec import tree
from isonomia.spec.columns import moment

_MAX_CASES = 512
"""How many cases a conjunction is split into before the search gives up: this bounds its cost."""


def conjuncts(row: tree.Row | None) -> tuple[tree.Row, ...]:
    """The conditions that a condition is the conjunction of; none for ``None``, which is everyone."""
    if row is None:
        return ()
    if isinstance(row, tree.RowJunction) and row.connective == "and":
        return tuple(part for operand in row.operands for part in conjuncts(operand))
    return (row,)


def compared_outcomes(formula: tree.Formula) -> tuple[str, ...]:
    """The columns that are compared with the model's answer, or subtracted from it: they hold the outcome."""
    names: dict[str, None] = {}
    for node in tree.nodes(formula):
        match node:
            case (
                tree.Compare("==" | "!=", tree.Output(), tree.Column(name=name))
                | tree.Compare("==" | "!=", tree.Column(name=name), tree.Output())
                | tree.RowArithmetic("-", tree.Output(), tree.Column(name=name))
                | tree.RowArithmetic("-", tree.Column(name=name), tree.Output())
            ):
                names[name] = None
            case _:
                pass
    return tuple(names)


def outcome_candidates(formula: tree.Formula) -> tuple[str, ...]:
    """The columns that may hold the outcome, as ``paid`` in ``P[prediction == 1 | paid == 1]``, in order of appearance.

    In a comparison that involves the model's answers, every column may hold it, except a column in a distance between
    two people, as in ``abs(age - other.age)``, or that tells apart the groups that are compared. Such a column is only
    compared with fixed values, with others in each rate or with those of a ``for``, and neither with a usual label,
    such as 0 or yes, nor with what the model's answer is compared with. Syntax does not tell an outcome from a feature.
    """
    names: dict[str, None] = {}
    for comparison in tree.nodes(formula):
        if not isinstance(comparison, tree.Comparison) or not _asks_model(comparison):
            continue
        by_leaf = [(_asks_model(leaf), list(_uses(leaf))) for leaf in tree.leaves_of(comparison)]
        uses = [use for _, each in by_leaf for use in each]
        answers = {test for name, tests in uses if name is None for test in tests or ()}
        for name in dict.fromkeys(name for name, _ in uses if name is not None):
            all_tests = [tests for other, tests in uses if other == name]
            of_rates = [_tests_of(name, each) for asks, each in by_leaf if asks]
            if None in all_tests or not _tells_groups_apart(of_rates, _tests_of(name, uses), answers):
                names[name] = None
    return tuple(names)


_Tests: TypeAlias = frozenset[tuple[tree.RowRelation, "tree.Value | tree.Variable"]]
_LABELS = frozenset({"yes", "no", "y", "n", "true", "false", "0", "1"})


def _asks_model(node: tree.Node) -> bool:
    return any(isinstance(each, tree.Output) for each in tree.nodes(node))


def _uses(node: tree.Node) -> Iterator[tuple[str | None, _Tests | None]]:
    """Each use of a column, with its tests, ``None`` if it is not only tested; those of the answers are under ``None``.

    A difference between two versions of a person is left out.
    """
    match node:
        case tree.Compare(
            relation, tree.Column() | tree.Output() as subject, tree.Literal() | tree.Variable() as value
        ):
            yield _name_if_column(subject), frozenset({(relation, _fixed_value(value))})
        case tree.Compare(
            relation, tree.Literal() | tree.Variable() as value, tree.Column() | tree.Output() as subject
        ):
            yield _name_if_column(subject), frozenset({(tree.FLIPPED[relation], _fixed_value(value))})
        case tree.Member(tree.Column() | tree.Output() as subject, values):
            yield _name_if_column(subject), frozenset(("==", _fixed_value(value)) for value in values)
        case tree.RowArithmetic(
            "-", tree.Column(name=name, version=one), tree.Column(name=other, version=two)
        ) | tree.Compare("!=", tree.Column(name=name, version=one), tree.Column(name=other, version=two)) if (
            name == other and one != two
        ):
            pass
        case tree.Column(name=name):
            yield name, None
        case _:
            for each in tree.children(node):
                yield from _uses(each)


def _name_if_column(subject: tree.Column | tree.Output) -> str | None:
    return subject.name if isinstance(subject, tree.Column) else None


def _fixed_value(value: tree.Literal | tree.Variable) -> tree.Value | tree.Variable:
    return value.value if isinstance(value, tree.Literal) else value


def _tests_of(name: str, uses: Iterable[tuple[str | None, _Tests | None]]) -> _Tests:
    return frozenset(test for other, tests in uses if other == name for test in tests or ())


def _tells_groups_apart(of_rates: Sequence[_Tests], tests: _Tests, answers: Set[Any]) -> bool:
    """Whether a column with these tests in the rates of the model's answers, and in all, defines the groups."""
    if tests & answers or any(_is_label(value) for _, value in tests):
        return False
    if len(of_rates) > 1:
        return len(set(of_rates)) > 1
    return bool(of_rates[0]) and all(isinstance(value, tree.Variable) for _, value in of_rates[0])


def _is_label(value: tree.Value | tree.Variable) -> bool:
    if isinstance(value, str):
        return value.casefold() in _LABELS
    return isinstance(value, int | float) and 0 <= value <= 1


def disjoint(a: tree.Row | None, b: tree.Row | None) -> bool:
    """Whether it is certain that no row satisfies both conditions; ``None`` is everyone.

    True only where the syntax proves it, for every table and with missing values as in :mod:`isonomia.spec.evaluate`.
    A condition that nothing satisfies is disjoint from everything.
    """
    return _impossible((*conjuncts(a), *conjuncts(b)))


@dataclass(slots=True)
class Conditions:
    """Conditions, indexed by the values that they fix: few pairs are left to compare where most are disjoint.

    Two conjunctions of comparisons that fix one term to different values are disjoint, as :func:`disjoint` also finds.
    """

    _all: list[tuple[tree.Row | None, dict[_Subject, tree.Value]]] = field(default_factory=list)
    _by_value: dict[tuple[_Subject, tree.Value], list[tree.Row | None]] = field(default_factory=dict)
    _fixing: Counter[_Subject] = field(default_factory=Counter)  # how many conditions fix a term

    def add(self, row: tree.Row | None) -> None:
        """Add one more condition."""
        fixed = _fixed(row)
        self._all.append((row, fixed))
        self._fixing.update(fixed.keys())
        for each in fixed.items():
            self._by_value.setdefault(each, []).append(row)

    def overlapping(self, row: tree.Row | None) -> Iterator[tree.Row | None]:
        """The conditions that are not certainly disjoint from this one, in any order."""
        fixed = _fixed(row)
        subject = min(
            fixed, key=lambda each: len(self._by_value.get((each, fixed[each]), ())) - self._fixing[each], default=None
        )
        near = [] if subject is None else list(self._by_value.get((subject, fixed[subject]), ()))
        if subject is None or self._fixing[subject] < len(self._all):
            near += [other for other, values in self._all if subject not in values]
        return (other for other in near if not disjoint(other, row))


_Subject: TypeAlias = tuple[tree.Row, bool]
"""A term, and whether it is compared with text: text and numbers are not certainly different."""


def _fixed(row: tree.Row | None) -> dict[_Subject, tree.Value]:
    """The terms that a conjunction of comparisons fixes to a value, rounded so that different ones stay different."""
    parts = conjuncts(row)
    if not all(isinstance(part, tree.Compare) for part in parts):
        return {}
    fixed: dict[_Subject, tree.Value] = {}
    for part in parts:
        match part:
            case tree.Compare("==", term, tree.Literal(str() as value)) if moment(value) is None:
                fixed[term, True] = value
            case tree.Compare("==", term, tree.Literal(value)) if _is_modest(value):
                fixed[term, False] = _single(value)
            case _:
                pass
    return fixed


def implies(a: tree.Row | None, b: tree.Row | None) -> bool:
    """Whether it is certain that every row which satisfies ``a`` satisfies ``b``; ``None`` is everyone."""
    return all(_impossible((*conjuncts(a), tree.RowNot(condition))) for condition in conjuncts(b))


# ---------------------------------------------------------------------------- cases


@dataclass(frozen=True, slots=True)
class _Test:
    """A test that must come out true, or one that must come out false."""

    row: tree.Row
    wanted: bool


_Case: TypeAlias = tuple[_Test, ...]


def _impossible(conditions: Iterable[tree.Row]) -> bool:
    cases: list[_Case] = [()]
    for condition in conditions:
        cases = [(*case, *more) for case in cases for more in _cases(condition, True)]
        if len(cases) > _MAX_CASES:
            return False
    return all(_is_contradiction(case) for case in cases)


def _cases(row: tree.Row, wanted: bool) -> list[_Case]:
    """The ways in which a condition can come out as wanted, each a conjunction of tests."""
    match row:
        case tree.RowNot():
            return _cases(row.operand, not wanted)
        case tree.Literal(bool() as value):
            return [()] if value == wanted else []
        case tree.RowJunction() if (row.connective == "and") == wanted:
            cases: list[_Case] = [()]
            for operand in row.operands:
                cases = [(*case, *more) for case in cases for more in _cases(operand, wanted)][: _MAX_CASES + 1]
            return cases
        case tree.RowJunction():
            return [case for operand in row.operands for case in _cases(operand, wanted)]
        case tree.Column() | tree.Output() | tree.Variable():
            return [(_Test(tree.Compare("==", row, tree.Literal(True)), wanted),)]
        case _:
            return [(_Test(row, wanted),)]


# ---------------------------------------------------------------------------- contradictions


@dataclass(frozen=True, slots=True)
class _Statement:
    """A test taken apart: what it is about, and what it says of that.

    ``about`` is one term, or a pair of terms that are compared. ``fact`` is ``None`` for ``is missing``.
    """

    about: tuple[tree.Row, ...]
    fact: _Fact | None
    wanted: bool


def _is_contradiction(case: _Case) -> bool:
    wanted = {test.row for test in case if test.wanted}
    if any(test.row in wanted for test in case if not test.wanted):
        return True
    statements = [statement for test in case for statement in _statements(test)]
    subjects = {statement.about for statement in statements}
    return any(_clash([each for each in statements if each.about == about]) for about in subjects)


def _statements(test: _Test) -> Iterator[_Statement]:
    match test.row:
        case tree.Missing(operand):
            yield _Statement((operand,), None, test.wanted)
        case tree.Member(operand, values):
            known = tuple(value.value for value in values if isinstance(value, tree.Literal))
            if len(known) == len(values):
                yield _Statement((operand,), _Fact("==", known), test.wanted)
        case tree.Compare(_, tree.Literal(), tree.Literal()):
            pass
        case tree.Compare(relation, left, tree.Literal(value)):
            yield _Statement((left,), _Fact(relation, (value,)), test.wanted)
        case tree.Compare(relation, tree.Literal(value), right):
            yield _Statement((right,), _Fact(tree.FLIPPED[relation], (value,)), test.wanted)
        case tree.Compare(relation, left, right):
            yield _Statement((left, right), _Fact(relation, ()), test.wanted)
            yield _Statement((right, left), _Fact(tree.FLIPPED[relation], ()), test.wanted)
        case _:
            pass


def _clash(statements: list[_Statement]) -> bool:
    """Whether statements about one and the same subject cannot all be true."""
    missing = any(each.fact is None and each.wanted for each in statements)
    there = any((each.fact is not None) == each.wanted for each in statements)
    if missing and there:
        return True
    # A false test says something about the value only where the value is known not to be missing.
    facts = [fact for each in statements for fact in _facts(each, there)]
    if len(statements[0].about) == 2:
        return not frozenset.intersection(frozenset({-1, 0, 1}), *(_OUTCOMES[fact.relation] for fact in facts))
    return _no_value_satisfies(facts)


def _facts(statement: _Statement, there: bool) -> list[_Fact]:
    fact = statement.fact
    if fact is None:
        return []
    if statement.wanted:
        return [fact]
    if not there:
        return []
    opposite = _OPPOSITE[fact.relation]
    return [_Fact(opposite, (value,)) for value in fact.values] or [_Fact(opposite, ())]


# ---------------------------------------------------------------------------- facts about one term

_OPPOSITE: dict[tree.RowRelation, tree.RowRelation] = {
    "==": "!=",
    "!=": "==",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}
"""The relation between two values, neither missing, for which a relation is false."""

_OUTCOMES: dict[tree.RowRelation, frozenset[int]] = {
    "==": frozenset({0}),
    "!=": frozenset({-1, 1}),
    "<": frozenset({-1}),
    "<=": frozenset({-1, 0}),
    ">": frozenset({1}),
    ">=": frozenset({0, 1}),
}
"""The signs of left minus right for which a relation is true."""

_LARGEST = 2.0**53


@dataclass(frozen=True, slots=True)
class _Fact:
    """A term stands in a relation to one of some values; only ``==`` has more than one."""

    relation: tree.RowRelation
    values: tuple[tree.Value, ...]


def _no_value_satisfies(facts: Sequence[_Fact]) -> bool:
    """Whether no value, other than a missing one, can satisfy all the facts. False where that is not certain."""
    if _clash_at_one_bound(facts):
        return True
    roundings: tuple[Callable[[tree.Value], tree.Value], ...] = (_exact, _single)
    return all(_no_rounded_value_satisfies([_rounded(fact, rounding) for fact in facts]) for rounding in roundings)


def _clash_at_one_bound(facts: Sequence[_Fact]) -> bool:
    """Whether the relations to one and the same literal exclude each other, as ``<`` and ``>=`` do."""
    possible: dict[tuple[type, tree.Value], frozenset[int]] = {}
    for fact in facts:
        if len(fact.values) == 1:
            key = (type(fact.values[0]), fact.values[0])
            possible[key] = possible.get(key, frozenset({-1, 0, 1})) & _OUTCOMES[fact.relation]
    return not all(possible.values())


def _no_rounded_value_satisfies(facts: Sequence[_Fact]) -> bool:
    sets = [fact.values for fact in facts if fact.relation == "=="]
    others = [fact for fact in facts if fact.relation != "=="]
    if not sets:
        return _no_number_between(others)
    return not any(
        all(any(_may_be_equal(value, other) for other in values) for values in sets)
        and all(_may_satisfy(value, fact) for fact in others)
        for value in sets[0]
    )


def _rounded(fact: _Fact, rounding: Callable[[tree.Value], tree.Value]) -> _Fact:
    return _Fact(fact.relation, tuple(rounding(value) for value in fact.values))


def _exact(value: tree.Value) -> tree.Value:
    return int(value) if isinstance(value, bool) else value


def _single(value: tree.Value) -> tree.Value:
    if isinstance(value, str) or not _is_modest(value):
        return value
    return float(np.float32(value))


def _is_modest(value: tree.Value) -> bool:
    return not isinstance(value, str) and abs(value) < _LARGEST


def _may_be_equal(a: tree.Value, b: tree.Value) -> bool:
    if isinstance(a, str) and isinstance(b, str):
        # Two spellings of one moment are equal in a column of times.
        first, second = moment(a), moment(b)
        return a == b or (first is not None and second is not None and bool(first == second))
    return a == b or not (_is_modest(a) and _is_modest(b))


def _may_satisfy(value: tree.Value, fact: _Fact) -> bool:
    bound = fact.values[0]
    if fact.relation == "!=":
        return value != bound or not (type(value) is type(bound) or (_is_modest(value) and _is_modest(bound)))
    if isinstance(value, str) or isinstance(bound, str) or not (_is_modest(value) and _is_modest(bound)):
        return True
    return (value > bound) - (value < bound) in _OUTCOMES[fact.relation]


def _no_number_between(facts: Iterable[_Fact]) -> bool:
    low, above = -math.inf, False
    high, below = math.inf, False
    for fact in facts:
        bound = fact.values[0]
        if isinstance(bound, str) or not _is_modest(bound):
            continue
        if fact.relation in {">", ">="}:
            low, above = max((low, above), (float(bound), fact.relation == ">"))
        elif fact.relation in {"<", "<="}:
            edge, loose = min((high, not below), (float(bound), fact.relation == "<="))
            high, below = edge, not loose
    return low > high or (low == high and (above or below))


# ---------------------------------------------------------------------------- ranges

Range: TypeAlias = tuple[float, float]


def range_of(row: tree.Row, declared: Mapping[str, Range], score: Range | None = None) -> Range | None:
    """A range that holds every value of a term whose columns stay in their ranges; ``None`` if none is known.

    ``declared`` has the range of each column that has one, and under ``"prediction"`` that of the model's prediction.
    Conditions count as 0 and 1. The range comes from interval arithmetic and need not be the smallest: a column that
    occurs twice is treated as two. Another version of a column or of an answer has the range of the plain one, widened
    to a value that the version sets it to.
    """
    ends = _range(row, declared, score)
    return ends if ends is not None and all(map(math.isfinite, ends)) else None


def _range(row: tree.Row, declared: Mapping[str, Range], score: Range | None) -> Range | None:
    match row:
        case tree.Column() | tree.Output("prediction"):
            return _widened(declared.get(row.name), row.name, row.version)
        case tree.Output("score"):
            return score if score is not None else _widened(declared.get("score"), "score", row.version)
        case tree.Literal():
            return None if isinstance(row.value, str) else (float(row.value), float(row.value))
        case tree.Variable() | tree.PairCall():
            return None
        case tree.RowNegative():
            inner = _range(row.operand, declared, score)
            return None if inner is None else (-inner[1], -inner[0])
        case tree.RowArithmetic():
            left, right = _range(row.left, declared, score), _range(row.right, declared, score)
            return None if left is None or right is None else _arithmetic(row.sign, left, right)
        case tree.Call():
            arguments = [_range(argument, declared, score) for argument in row.arguments]
            known = [argument for argument in arguments if argument is not None]
            return _call(row.function, known) if len(known) == len(arguments) else None
        case _:
            return (0.0, 1.0)


def _widened(ends: Range | None, name: str, version: tree.Version | None) -> Range | None:
    """A declared range that also holds the value to which a version sets the column, which need not lie in it."""
    if ends is None or not isinstance(version, tree.Do):
        return ends
    for item in version.items:
        if isinstance(item, tree.Setting) and item.name == name:
            if not isinstance(item.value, tree.Literal) or isinstance(item.value.value, str):
                return None
            number = float(item.value.value)
            return min(ends[0], number), max(ends[1], number)
    return ends


def _arithmetic(sign: tree.ArithmeticSign, left: Range, right: Range) -> Range | None:
    if sign == "/" and right[0] <= 0 <= right[1]:
        return None
    corners = [tree.OPERATIONS[sign](a, b) for a, b in product(left, right)]
    return min(corners), max(corners)


def _call(function: str, arguments: list[Range]) -> Range:
    lows, highs = [low for low, _ in arguments], [high for _, high in arguments]
    if function == "min":
        return min(lows), min(highs)
    if function == "max":
        return max(lows), max(highs)
    low, high = arguments[0]
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return nearest, max(abs(low), abs(high))
