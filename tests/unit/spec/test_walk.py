import pytest

from isonomia.spec.parser import parse_formula
from isonomia.spec.text import to_text
from isonomia.spec.tree import (
    AsIf,
    Column,
    Compare,
    Constant,
    Do,
    Literal,
    Member,
    Other,
    PairCall,
    Rate,
    Setting,
    children,
    depth_of,
    links_of,
    nodes,
    place_of,
)

FORMULA = parse_formula("for g in race except 'a': not (P[b in {1} | c] ** 2 > 0.5 ==> E[-d] > max(1, 2))")


def test_nodes_come_in_the_order_in_which_they_are_written():
    names = [node.name for node in nodes(FORMULA) if isinstance(node, Column)]
    assert names == ["race", "b", "c", "d"]
    assert [node.value for node in nodes(FORMULA) if isinstance(node, Constant)] == [0.5, 1.0, 2.0]


def test_the_depth_counts_the_longest_way_down():
    assert depth_of(Column("a")) == 1
    assert depth_of(Rate(Compare("==", Column("a"), Literal(1)))) == 3


def test_a_node_without_a_place_has_that_of_its_first_part():
    first = next(node for node in nodes(FORMULA) if isinstance(node, Member))
    assert children(first) == (Column("b"), Literal(1))
    place = place_of(FORMULA)
    assert place is not None
    assert place.start == 0
    assert place_of(Rate(Column("a"))) is None


def test_a_version_is_walked_with_everything_in_it():
    settings = (Setting("s", Literal(1)), Setting("t", Literal(2)))
    version = Do((settings[0], AsIf("e", settings)))
    row = Compare("==", Column("a", Other()), Column("b", version))
    literal = [Literal(1), Literal(2)]
    assert list(nodes(row))[1:] == [
        *(Column("a", Other()), Other(), Column("b", version), version, settings[0], literal[0]),
        *(AsIf("e", settings), settings[0], literal[0], settings[1], literal[1]),
    ]
    assert depth_of(row) == 6
    assert children(PairCall("apart", max, ("x",))) == ()


def test_every_comparison_of_two_sides_is_listed_in_the_order_of_the_formula():
    formula = parse_formula("not (0.1 <= P[a] < P[b]) and (P[c] > 0.2 ==> P[d] >= 1 or P[e] < 0.5)")
    links = [(to_text(left), relation, to_text(right)) for left, relation, right in links_of(formula)]
    assert links == [
        *(("0.1", "<=", "P[a]"), ("P[a]", "<", "P[b]")),
        *(("P[c]", ">", "0.2"), ("P[d]", ">=", "1"), ("P[e]", "<", "0.5")),
    ]
    with pytest.raises(TypeError, match="a quantifier is expanded before"):
        list(links_of(FORMULA))
