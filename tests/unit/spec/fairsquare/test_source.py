"""From the parser's lines and bytes to characters of the text."""

import ast

import pytest

from isonomia.spec.fairsquare.expressions import equation_source, program_source
from isonomia.spec.text import plain_text


@pytest.mark.parametrize("text", ["x = é + 1\nyy = 'ß' + zz\n", "𝒳 = 1; b = 𝒳", "a\x0c = 1\n\n  # ü\nb = a"])
def test_a_place_is_the_stretch_that_the_parser_means(text: str) -> None:
    source = program_source(text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.expr | ast.stmt):
            place = source.place(node)
            assert text[place.start : place.end] == ast.get_source_segment(text, node)


def test_a_line_or_column_that_is_not_there_becomes_the_nearest_one() -> None:
    source = program_source("ab\ncd")
    assert [source.at(1, 1), source.at(1, 99), source.at(2, 2), source.at(99, 99)] == [0, 2, 4, 5]
    assert [source.at(0, 0), source.at(None, None), source.at(-5, -5)] == [0, 0, 0]


def test_an_equation_is_one_line_of_the_same_length() -> None:
    text = "\n a + # it's b\n '#' \\\n+ c"
    source = equation_source(text)
    assert source.skipped + len(source.parsed) == len(text)
    assert source.parsed.split() == ["a", "+", "'#'", "+", "c"]


def test_plain_text_has_one_kind_of_line_end_and_no_mark() -> None:
    assert plain_text("\ufeffa\r\nb\rc\n\ufeff") == "a\nb\nc\n\ufeff"
