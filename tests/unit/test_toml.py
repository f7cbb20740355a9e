"""TOML with positions: every key is found where it stands, and what is written reads back."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isonomia.errors import SpecError, UsageError
from isonomia.toml import TomlText, comment_lines, positions, toml_key, toml_value
from raising import raises

NAMES = st.from_regex(r"[a-z][a-z_]{0,5}", fullmatch=True)
VALUES = st.sampled_from(
    ["1", "'a = b # [c]'", '"x \\" = y"', '"""\nz = 1\n[t]\n"""', "[\n 1, # k = 2\n 2,\n]", "{a = 1, b = '['}", "true"]
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(NAMES, st.dictionaries(NAMES, VALUES, max_size=4)), max_size=4, unique_by=lambda table: table[0]
    ),
    st.booleans(),
)
def test_every_key_of_a_file_is_found_where_it_stands(tables: list[tuple[str, dict[str, str]]], several: bool) -> None:
    opening, closing = ("[[", "]]") if several else ("[", "]")
    text = "".join(
        f"# a remark = 1\n{opening}{name}{closing} # here\n"
        + "".join(f"{key} = {value}\n" for key, value in keys.items())
        for name, keys in tables
    )
    content, found = tomllib.loads(text), positions(text)
    expected = {}
    for name, keys in tables:
        table = (name, 0) if several else (name,)
        expected |= {table: name} | {(*table, key): key for key in keys}
    assert set(found) == set(expected)
    assert set(content) == {name for name, _ in tables}
    for path, name in expected.items():
        assert text[slice(*found[path])] == name


def test_a_key_in_quotes_is_known_by_the_name_that_it_stands_for() -> None:
    name = 'a "b" \\ é.[z]\t'
    text = f"[features.{toml_key(name)}]\nlow = 1\n'x y'.z = 2\n"
    toml = TomlText.parse(text, "my.toml")
    assert toml.content == {"features": {name: {"low": 1, "x y": {"z": 2}}}}
    assert set(toml.spans) == {
        ("features",),
        ("features", name),
        ("features", name, "low"),
        ("features", name, "x y", "z"),
    }


@pytest.mark.parametrize(
    "value", ["18446744073709551617", "[1, {a = 18446744073709551617}]", "1" + "0" * 5000, "[" * 5000]
)
def test_a_number_or_a_nesting_that_not_every_reader_takes_is_no_toml(value: str) -> None:
    with pytest.raises(SpecError, match=r"my\.toml is not valid TOML"):
        TomlText.parse(f"a = {value}", "my.toml")


def test_a_text_may_end_within_its_last_line() -> None:
    assert set(positions("a = [1]")) == {("a",)}
    assert set(positions("a = 'x' # b = 1")) == {("a",)}


def test_an_error_points_at_the_key_or_at_the_nearest_table_around_it() -> None:
    toml = TomlText.parse("[a]\nx = 1\n[[b.c]]\ny = {z = 2}\n", "my.toml")
    for path, line in ((("a", "x"), 2), (("a", "w"), 1), (("b",), 3), (("b", "c", 0), 3), (("b", "c", 0, "y", "z"), 4)):
        place = toml.error("no", *path).place
        assert place is not None
        assert place.line == line
    assert toml.error("no", "d").place is None
    assert str(toml.error("no", "a", "x")) == "line 2, column 1: my.toml: no\n  x = 1\n  ^"


def test_an_unknown_key_is_refused_with_the_nearest_and_with_all_that_there_are() -> None:
    toml = TomlText.parse("[a]\nhihg = 1\n", "my.toml")
    message = r"line 2, .*a has no key 'hihg'. Did you mean 'high'\? It may have low, high"
    with pytest.raises(SpecError, match=message):
        toml.check_table(toml.content["a"], ("low", "high"), "a", "a")
    with raises(SpecError, "my.toml", 3, at="a"):
        toml.check_table(3, ("low", "high"), "a", "a")


def test_a_comment_stays_a_comment_whatever_it_holds() -> None:
    assert comment_lines("a\nb = 1\u2028c") == ["# a b = 1 c"]
    assert comment_lines("") == []


def test_a_table_within_a_line_reads_back() -> None:
    value = {"a b": [1, 2.5], "c": "x\x7f", "d": True}
    assert tomllib.loads(f"x = {toml_value(value)}")["x"] == value
    with raises(UsageError, "None", "NoneType"):
        toml_value({"a": None})


def test_keys_within_keys_without_end_are_an_error():
    with raises(SpecError, "audit.toml", cause=RecursionError):
        TomlText.parse("a" + ".a" * 3000 + " = 1", "audit.toml")


@pytest.mark.parametrize("text", ["inf", "-inf", "nan", "1979-05-27", "07:32:00", "1979-05-27T07:32:00", "[inf, 1]"])
def test_every_value_that_toml_reads_is_written(text):
    value = tomllib.loads(f"value = {text}")["value"]
    assert repr(tomllib.loads(f"value = {toml_value(value)}")["value"]) == repr(value)


def test_a_byte_order_mark_is_dropped():
    toml = TomlText.parse("\ufeffname = 1\n", "a.toml")
    assert toml.content == {"name": 1}
    assert toml.place("name").start == 0
