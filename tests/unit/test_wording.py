"""Words for people: plurals, lists, and text that is cut."""

from __future__ import annotations

import pytest

from isonomia.wording import capitalised, excerpt, first_few, listed, plural, printable, shortened


def test_one_is_not_many() -> None:
    assert plural(1, "case") == "1 case"
    assert plural(0, "case") == "0 cases"
    assert plural(12_345, "person", "people") == "12,345 people"


@pytest.mark.parametrize(
    ("items", "words"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", 2, "c"], "a, 2 and c")]
)
def test_items_stand_one_after_the_other(items: list[object], words: str) -> None:
    assert listed(items) == words
    assert listed(items, last="or") == words.replace(" and ", " or ")


def test_of_many_the_first_few_are_named_and_the_others_counted() -> None:
    assert first_few("abc", 3) == "a, b, c"
    assert first_few("abcde", 3) == "a, b, c and 2 more"


def test_what_is_cut_says_so() -> None:
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abcdefg", 6) == "abc..."
    assert excerpt("a b c", 2) == "a … (cut: 5 characters in total)"


def test_what_cannot_be_printed_is_a_blank() -> None:
    assert printable("a\nb\u2028c\x00é") == "a b c é"


def test_a_capital_leaves_the_rest_alone() -> None:
    assert capitalised("holds for P[X]") == "Holds for P[X]"
    assert capitalised("") == ""
