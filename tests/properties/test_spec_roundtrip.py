"""Reading what was written gives the same tree, and reading anything at all gives a tree or a SpecError."""

from dataclasses import replace
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from isonomia.errors import SpecError
from isonomia.spec import construct
from isonomia.spec.english import explain
from isonomia.spec.parser import parse_formula
from isonomia.spec.text import to_text
from isonomia.spec.tree import (
    AsIf,
    Column,
    Compare,
    Comparison,
    Constant,
    Do,
    Each,
    Implies,
    Junction,
    Literal,
    Member,
    Missing,
    Not,
    Other,
    Output,
    Rate,
    RowJunction,
    RowNot,
    Setting,
    Variable,
)

SETTINGS = settings(max_examples=120, derandomize=True, deadline=None, database=None)

BOUND = ("g", "h", "longer")
finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.one_of(st.text(max_size=5), st.booleans(), st.integers(), finite)
literals = st.builds(Literal, values)
names = st.one_of(
    st.sampled_from(["sex", "age", "P", "prediction", "and", "missing", "hours per week", "g", "h", "é`\\n", "True"]),
    st.sampled_from(["other", "do", "as", "if", "as if", "other.x", "do("]),
    st.text(min_size=1, max_size=4),
)
columns = st.builds(Column, names)
outputs = st.one_of(
    st.just(Output("prediction")), st.builds(Output, st.just("score"), st.one_of(st.none(), st.text(max_size=3)))
)
row_relations = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
relations = st.sampled_from(["<", "<=", ">", ">="])
signs = st.sampled_from(["+", "-", "*", "/"])
connectives = st.sampled_from(["and", "or"])


def many(inner, smallest):
    return st.lists(inner, min_size=smallest, max_size=3).map(tuple)


def built(function, *arguments):
    """What a checked constructor makes; an example that it refuses is replaced by its first node."""

    def build(drawn):
        try:
            return function(*drawn)
        except SpecError:
            return next(part for part in drawn if not isinstance(part, str | tuple))

    return st.tuples(*arguments).map(build)


def versions(items):
    """Versions of a person in which nothing is set twice, and no variable as if it were set itself."""
    settings = st.lists(st.builds(Setting, names, items), max_size=2, unique_by=lambda setting: setting.name)
    changes = st.lists(st.tuples(names, items, settings), min_size=1, max_size=2, unique_by=lambda change: change[0])
    return st.one_of(st.just(Other()), changes.map(lambda drawn: Do(tuple(change(*parts) for parts in drawn))))


def change(name, value, settings):
    left = tuple(setting for setting in settings if setting.name != name)
    return AsIf(name, left) if left else Setting(name, value)


@cache
def rows(bound):
    items = st.one_of(literals, *(st.just(Variable(name)) for name in bound))
    of_versions = st.builds(
        lambda feature, version: replace(feature, version=version), columns | outputs, versions(items)
    )
    atoms = st.one_of(columns, outputs, items, of_versions)

    def larger(inner):
        return st.one_of(
            built(construct.row_negative, inner),
            built(construct.row_arithmetic, signs, inner, inner),
            st.builds(lambda x: construct.call("abs", (x,)), inner),
            st.builds(construct.call, st.sampled_from(["min", "max"]), many(inner, 2)),
            st.builds(Compare, row_relations, inner, inner),
            st.tuples(row_relations, row_relations, inner, inner, inner).map(
                lambda x: RowJunction("and", (Compare(x[0], x[2], x[3]), Compare(x[1], x[3], x[4])))
            ),
            st.builds(Member, inner, many(items, 1)),
            st.builds(Missing, inner),
            st.builds(RowNot, inner),
            st.builds(RowJunction, connectives, many(inner, 2)),
        )

    return st.recursive(atoms, larger, max_leaves=6)


@cache
def quantities(bound):
    given_ = st.one_of(st.none(), rows(bound))
    constants = st.builds(Constant, finite)
    leaves = st.one_of(
        constants,
        st.builds(Rate, rows(bound), given_),
        st.tuples(rows(bound), given_, finite, finite).map(
            lambda x: construct.mean(x[0], x[1], min(x[2:]), max(x[2:])) if x[2] != x[3] else construct.mean(*x[:2])
        ),
    )

    def larger(inner):
        return st.one_of(
            built(construct.negative, inner),
            built(construct.arithmetic, signs, inner, inner),
            built(construct.power, inner, st.sampled_from([2, -1, 0.5, -3]).map(float).map(Constant)),
            st.builds(lambda x: construct.extreme("abs", (x,)), inner),
            st.builds(construct.extreme, st.sampled_from(["min", "max"]), many(inner, 2)),
        )

    return st.recursive(leaves, larger, max_leaves=4)


@cache
def formulas(bound=()):
    base = quantities(bound)
    links = st.lists(st.tuples(relations, base), min_size=1, max_size=2).map(tuple)
    atoms = st.builds(Comparison, base, links)
    if len(bound) < 2:
        variable = BOUND[len(bound)]
        source = st.one_of(columns, many(literals, 1))
        excluded = many(st.one_of(literals, *(st.just(Variable(name)) for name in bound)), 0)
        each = st.builds(Each, st.just(variable), source, excluded, st.deferred(lambda: formulas((*bound, variable))))
        atoms = st.one_of(atoms, each)
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.builds(Not, inner),
            st.builds(Junction, connectives, many(inner, 2)),
            st.builds(Implies, inner, inner),
        ),
        max_leaves=3,
    )


@settings(SETTINGS, max_examples=200)
@given(formulas())
def test_a_written_formula_reads_back_as_itself(formula):
    text = to_text(formula)
    again = parse_formula(text)
    assert again == formula
    assert to_text(again) == text


@settings(SETTINGS, max_examples=400)
@given(rows(()))
def test_a_written_row_expression_reads_back_as_itself(row):
    assert parse_formula(f"P[{to_text(row)}] > 0") == Comparison(Rate(row), ((">", Constant(0.0)),))


@SETTINGS
@given(formulas())
def test_every_formula_has_a_sentence(formula):
    sentence = explain(formula)
    assert sentence.endswith(".")
    assert "None" not in sentence or "None" in to_text(formula)


@settings(SETTINGS, max_examples=400)
@given(st.text())
def test_any_text_is_read_or_refused_with_a_spec_error(text):
    assert place_of_refusal(text) != "nowhere"


WORDS = """
    P[ E[ ] ( ) { } | : , == != <= < ==> + - * / ** ^ and or not in is missing for g h race except 'a' "b" `c
    prediction score score['x'] abs( min( 1 0 0.5 80% 1e400 from to true # \\ ' ` % = & . $ P E x
    other other. do do( do(x=1).y as if as
"""
PIECES = st.sampled_from(["\n", *WORDS.split()])


def place_of_refusal(text):
    """Where a text is refused; ``None`` where it is read."""
    try:
        parse_formula(text)
    except SpecError as error:
        return error.place or "nowhere"
    return None


@settings(SETTINGS, max_examples=1500)
@given(st.lists(PIECES, max_size=15).map(" ".join))
def test_any_heap_of_words_is_read_or_refused_with_a_spec_error(text):
    assert place_of_refusal(text) != "nowhere"
    if place_of_refusal(text) is None:
        formula = parse_formula(text)
        assert parse_formula(to_text(formula)) == formula


@SETTINGS
@given(formulas(), st.data())
def test_a_damaged_formula_is_read_or_refused_with_a_spec_error(formula, data):
    text = to_text(formula)
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, min(len(text), start + 3)))
    assert place_of_refusal(text[:start] + data.draw(PIECES) + text[stop:]) != "nowhere"
