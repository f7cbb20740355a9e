from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import AsIf, Column, Compare, Constant, Do, Literal, Member, Other, PairCall, Rate, Setting
from isonomia.spec.walk import children, depth_of, nodes, place_of

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
