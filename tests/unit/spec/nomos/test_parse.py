"""Reading specifications."""

from __future__ import annotations

import pytest
from figure_one import BLUR, FELONIES, LANDER, REVIEWS

from isonomia.errors import SpecError, UsageError
from isonomia.spec.nomos import parse_nomos, spec_text
from isonomia.spec.nomos.tree import (
    Binary,
    Ensures,
    FeatureRead,
    FunctionCall,
    Name,
    Requires,
    ScalarLiteral,
    Unary,
    Update,
    Var,
    expression_text,
)
from raising import raises


def with_ensures(expression: str) -> str:
    return FELONIES.replace("ensures d1 <= d2;", f"ensures {expression};")


def ensured(expression: str) -> object:
    return parse_nomos(with_ensures(expression)).ensures[0].condition


@pytest.mark.parametrize("text", [FELONIES, BLUR, REVIEWS, LANDER], ids=["1a", "1b", "1c", "1d"])
def test_the_four_specifications_of_the_papers_first_figure_read_and_write_back(text: str) -> None:
    spec = parse_nomos(text)
    assert parse_nomos(spec_text(spec)) == spec
    assert spec_text(parse_nomos(spec_text(spec))) == spec_text(spec)


def test_every_part_of_a_specification_is_found() -> None:
    spec = parse_nomos("import compas;\n" + FELONIES.replace("predict(x1)", "compas.predict(x1)"))
    assert (spec.imports, spec.inputs, spec.outputs) == (("compas",), ("x1",), ("d1", "d2"))
    assert spec.before[0] == Var("v1", FunctionCall("getFeat", (Name("x1"), ScalarLiteral(1))))
    assert spec.before[3] == Requires(Binary("<=", Name("v2"), ScalarLiteral(20)))
    assert spec.block.source == "d1 = compas.predict(x1)\nd2 = predict(x2)"
    assert spec.ensures == (Ensures(Binary("<=", Name("d1"), Name("d2"))),)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("d1 == 1 || d1 == 2 && d2 == 3", "d1 == 1 || (d1 == 2 && d2 == 3)"),
        ("d1 == 1 ==> d2 == 1 ==> d1 == d2", "d1 == 1 ==> (d2 == 1 ==> d1 == d2)"),
        ("d1 == 1 || d2 == 1 ==> d1 == d2", "(d1 == 1 || d2 == 1) ==> d1 == d2"),
        ("! (d1 == d2) && d1 < 3", "(!(d1 == d2)) && (d1 < 3)"),
        ("d1 + d2 * 2 - 1 < d1 - d2 - 1", "((d1 + (d2 * 2)) - 1) < ((d1 - d2) - 1)"),
        ("d1 / 2 / 2 >= -d2", "((d1 / 2) / 2) >= (-d2)"),
        ("x1.f3 + 1 != x2.priors_count", "(x1.f3 + 1) != (x2.priors_count)"),
    ],
)
def test_operators_bind_as_usual(text: str, same: str) -> None:
    assert ensured(text) == ensured(same)


def test_features_and_updates_are_read() -> None:
    spec = parse_nomos(FELONIES.replace("setFeat(x1, 1, v2)", "x1[f1 := v2][f4 := x1.priors_count]"))
    inner = Update(Name("x1"), "f1", Name("v2"))
    assert spec.before[2] == Var("x2", Update(inner, "f4", FeatureRead(Name("x1"), "priors_count")))


def test_constants_keep_their_kind() -> None:
    text = 'd1 == null || d1 == true || d1 == "a\\"b" || d1 == \'c\' || d1 == 1.0 || d1 == 1 || d1 == -2 || d1 == 1e3'
    found = []
    node = ensured(text)
    while isinstance(node, Binary) and node.operator == "||":
        found.append(node.right.right)  # type: ignore[union-attr]
        node = node.left
    assert found == [ScalarLiteral(value) for value in (1000.0, -2, 1, 1.0, "c", 'a"b', True)]
    assert ScalarLiteral(1) != ScalarLiteral(1.0) != ScalarLiteral(True)


def test_comments_of_all_three_kinds_are_passed_over_and_a_brace_in_one_opens_no_block() -> None:
    text = "// a { comment\n/* another {\n one */ # and { this\n" + FELONIES + "/* the } end */"
    assert parse_nomos(text) == parse_nomos(FELONIES)


def test_braces_inside_the_block_belong_to_it() -> None:
    block = 'd1 = predict(x1)\n  d2 = {"a": {1: 2}}["a"][1]  # }\n  s = "}" \'}\' """}"""'
    spec = parse_nomos(FELONIES.replace("d1 = predict(x1)\n  d2 = predict(x2)", block))
    assert spec.block.source == block.replace("\n  ", "\n")


def test_a_block_on_one_line_is_read() -> None:
    spec = parse_nomos("input x1; output d1; { d1 = predict(x1) } ensures d1 == 1;")
    assert spec.block.source == "d1 = predict(x1)"


def test_the_indentation_that_all_lines_share_is_taken_away_and_the_rest_kept() -> None:
    assert "\n    rs = randInt(0, MAX_INT)" not in parse_nomos(LANDER).block.source
    assert "\n  rs = randInt(0, MAX_INT)" in parse_nomos(LANDER).block.source


@pytest.mark.parametrize(
    ("word", "rate"),
    [("99%", 0.99), ("0.95", 0.95), ("100%", 1.0), ("1e-1", 0.1), ("99.9%", 0.999), ("0.7%", 0.007), (".5e1%", 0.05)],
)
def test_ensures_may_demand_a_rate(word: str, rate: float) -> None:
    spec = parse_nomos(with_ensures(f"d1 <= d2 in {word} of cases"))
    assert spec.ensures[0].rate == rate
    assert parse_nomos(spec_text(spec)) == spec


def test_a_name_may_be_called_like_a_word_of_a_rate() -> None:
    assert parse_nomos(FELONIES.replace("v1", "cases")).variables[0].name == "cases"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ("line 1", "there is no block")),
        ("input x1;", ("no block",)),
        (FELONIES.replace(":= getFeat", "= getFeat"), ("line 2", "column 8", "`:=`", "^")),
        (FELONIES.replace("v2 <= 20", "v2 <= "), ("line 5", "expected a value")),
        (FELONIES.replace("v2 <= 20;", "v2 <= 20"), ("`;`",)),
        (FELONIES.replace("}", ""), ("never closed", "line 8")),
        (FELONIES + "requires 1 == 1;", ("line 14", "before the block")),
        ("ensures d1 == 1;\n" + FELONIES, ("line 1", "behind the block")),
        (with_ensures("d1 < d2 < 3"), ("do not chain", "`&&`")),
        (with_ensures("d1 = d2"), ("`==`",)),
        (with_ensures("d1 & d2"), ("`&&`",)),
        (with_ensures("d1 == 20%"), ("'%'",)),
        (with_ensures("d1 <= d2 in 0% of cases"), ("above 0",)),
        (with_ensures("d1 <= d2 in 120% of cases"), ("at most 1",)),
        (with_ensures('d1 == "a'), ("never closed",)),
        (with_ensures('d1 == "\\q"'), ("\\q",)),
        (FELONIES.replace("input x1", "input output"), ("word of the language",)),
        (FELONIES + "{ d3 = 1 }", ("one block",)),
        (FELONIES.replace("predict(x1)", "predict(x1"), ("not Python", "line 9", "never closed")),
        (FELONIES.replace("  d1 = predict(x1)\n  d2 = predict(x2)\n", ""), ("empty",)),
        (with_ensures("!" * 150 + "(d1 == 1)"), ("nested",)),
        (FELONIES.replace("20", "1" + "0" * 400), ("too large",)),
        (with_ensures("d1 == x1.f1.g(2)"), ("name of an import",)),
    ],
)
def test_a_text_that_is_no_specification_is_refused_with_the_place(text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(SpecError) as caught:
        parse_nomos(text)
    for word in words:
        assert word in str(caught.value)
    assert caught.value.place is not None


def test_brackets_alone_add_no_level() -> None:
    assert ensured("(" * 150 + "d1" + ")" * 150 + " == 1") == ensured("d1 == 1")


def test_something_that_is_no_text_is_refused() -> None:
    with raises(UsageError, 3, name="text"):
        parse_nomos(3)  # type: ignore[arg-type]


def test_brackets_are_written_only_where_they_are_needed() -> None:
    texts = [
        "(d1 == d2) == true",
        "(d1 == 1 ==> d2 == 1) ==> d1 == d2",
        "d1 - (d2 - 1) == 0",
        "-(d1 + 1) == -3",
        "!(d1 == d2 && true)",
        "(-d1).f3 == null",
    ]
    for text in texts:
        node = ensured(text)
        assert expression_text(node) == text  # type: ignore[arg-type]
    assert ensured("--d1 == 1") == Binary("==", Unary("-", Unary("-", Name("d1"))), ScalarLiteral(1))


def test_a_function_of_an_import_is_called_by_its_owner_and_a_plus_changes_nothing() -> None:
    text = "import compas;\n" + with_ensures("compas.rank(d1) <= +d2")
    call = FunctionCall("rank", (Name("d1"),), "compas")
    assert parse_nomos(text).ensures[0].condition == Binary("<=", call, Name("d2"))


@pytest.mark.parametrize(("text", "wanted"), [("input x1", "`;`"), ("input x1; var", "a name")])
def test_a_text_that_ends_in_the_middle_of_a_statement_says_what_is_missing(text: str, wanted: str) -> None:
    with pytest.raises(SpecError, match=f"the text ends too early: expected {wanted}"):
        parse_nomos(text)


def test_the_base_of_a_power_has_brackets_where_it_has_a_sign() -> None:
    power = Binary("**", Unary("-", Name("d1")), ScalarLiteral(2))
    assert expression_text(power) == "(-d1) ** 2"
    assert expression_text(Binary("**", power, Unary("-", Name("d2")))) == "((-d1) ** 2) ** -d2"


def test_an_update_is_written_as_it_is_read() -> None:
    assert expression_text(Update(Name("x1"), "age", ScalarLiteral(3))) == "x1[age := 3]"


def test_equal_constants_are_one_key_and_1_and_true_are_two() -> None:
    assert {ScalarLiteral(1), ScalarLiteral(1), ScalarLiteral(True), ScalarLiteral(1.0)} == {
        ScalarLiteral(1),
        ScalarLiteral(True),
        ScalarLiteral(1.0),
    }
    assert len({ScalarLiteral(1), ScalarLiteral(1), ScalarLiteral(True), ScalarLiteral(1.0)}) == 3
