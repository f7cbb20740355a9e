"""Names: what is checked without data."""

from __future__ import annotations

import pytest

from isonomia.errors import SpecError
from isonomia.spec.nomos import parse_nomos
from isonomia.spec.nomos.tree import calls_in, names_in
from raising import raises

GOOD = """input x1;
var v1 := getFeat(x1, 1);
output d1;
{
    d1 = predict(x1)
}
var w := d1 + v1;
ensures w >= 0;
"""


def test_a_variable_behind_the_block_may_use_outputs() -> None:
    assert parse_nomos(GOOD).after[0].name == "w"


def test_max_int_has_a_value_without_being_declared() -> None:
    parse_nomos(GOOD.replace("d1 + v1", "d1 + MAX_INT"))


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("getFeat(x1, 1)", "getFeat(x2, 1)", ("`x2` is not declared", ": `x1`", "line 2")),
        ("getFeat(x1, 1)", "d1", ("is an output",)),
        ("getFeat(x1, 1)", "w", ("further down",)),
        ("var v1", "var x1", ("more than once",)),
        ("input x1;", "import v1; input x1;", ("has a meaning already",)),
        ("var v1", "var MAX_INT", ("has a meaning already",)),
        ("d1 = predict(x1)", "d2 = predict(x1)", ("`d1` is never set", "line 3")),
        ("d1 = predict(x1)", "d1 = predict(x3)", ("`x3` is not declared",)),
        ("d1 = predict(x1)", "d1 = e\n    e = predict(x1)", ("`e` is not declared",)),
        ("d1 = predict(x1)", "d1 = compas.predict(x1)", ("not imported",)),
        ("d1 = predict(x1)", "v1 = 3\n    d1 = predict(x1)", ("give it another name",)),
        ("getFeat(x1, 1)", "predict(x1)", ("can only be called in the block",)),
        ("d1 + v1", "predict(x1)", ("can only be called in the block",)),
        ("ensures w >= 0;", "", ("has no `ensures`",)),
        ("input x1;", "", ("at least one input",)),
    ],
)
def test_what_has_no_meaning_is_refused(before: str, after: str, words: tuple[str, ...]) -> None:
    with pytest.raises(SpecError) as caught:
        parse_nomos(GOOD.replace(before, after))
    for word in words:
        assert word in str(caught.value)


def test_a_local_name_of_the_block_is_not_seen_behind_it() -> None:
    with raises(SpecError, "d1", "w", "x1", name="e", at="e"):
        parse_nomos(GOOD.replace("    d1 = predict(x1)", "    e = 1\n    d1 = predict(x1)").replace("w >= 0", "e >= 0"))


def test_names_and_calls_are_found_within_every_kind_of_expression() -> None:
    spec = parse_nomos(GOOD.replace("ensures w >= 0;", "ensures f(x1[a := -g(d1)].b) + 1 <= w;"))
    (ensured,) = spec.ensures
    assert [name.name for name in names_in(ensured.condition)] == ["x1", "d1", "w"]
    assert [call.function for call in calls_in(ensured.condition)] == ["g", "f"]
