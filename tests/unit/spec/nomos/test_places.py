"""Errors inside the block point at the line and column of the file."""

from __future__ import annotations

import pytest

from isonomia.errors import SpecError
from isonomia.spec.nomos import CodeBlock, PlainBlock, parse_nomos, read_block
from isonomia.spec.nomos.tree import walk

HEAD = "// a comment\nimport m;\ninput x1;\noutput d1;\n"


def refused(block: str) -> SpecError:
    with pytest.raises(SpecError) as caught:
        parse_nomos(HEAD + block + "\nensures d1 == 1;\n")
    return caught.value


@pytest.mark.parametrize(
    ("block", "line", "column", "pointed"),
    [
        ("{\n    d1 = predict(y1)\n}", 6, 18, "y1"),
        ("{ d1 = predict(y1) }", 5, 16, "y1"),
        ("{ d1 = predict(x1)\n  d1 = d1 + y1 }", 6, 13, "y1"),
        ("{\n\td1 = predict(y1)\n}", 6, 15, "y1"),
        ("{\n\n\n    # é\n    a = 'é' + predict(y1)\n    d1 = 2\n}", 9, 23, "y1"),
        ("{\n    d1 = predict(x1) + (\n        y1\n    )\n}", 7, 9, "y1"),
        ("{\n    d1 = q.predict(x1)\n}", 6, 10, "q.predict(x1)"),
        ("{\n    d1 = predict(x1)\n    x1 = 3\n}", 7, 5, "x1"),
        ("{\n    for i in [1]:\n        d1 = 1\n        x1 = 3\n}", 8, 9, "x1"),
        ("{\n    d1 = predict(x1))\n}", 6, 21, ")"),
        ("{\n    d1 = 1\n    d1 = 1 +\n}", 7, 13, None),
    ],
)
def test_an_error_points_at_its_line_and_column(block: str, line: int, column: int, pointed: str | None) -> None:
    place = refused(block).place
    assert place is not None
    assert (place.line, place.column) == (line, column)
    if pointed is not None:
        assert place.text[place.start : place.end] == pointed


def test_lines_in_pythons_own_message_are_those_of_the_file() -> None:
    message = str(refused("{\n    for i in range(3):\n    d1 = 2\n}"))
    assert "line 7, column 5" in message
    assert "'for' statement on line 6" in message


def test_every_node_of_a_plain_block_stands_where_it_is_written() -> None:
    text = HEAD + "{\n      a, b = 1, predict(x1)\n      d1 = -a + abs(b) // 2\n}\nensures d1 == 1;\n"
    block = read_block(parse_nomos(text).block)
    assert isinstance(block, PlainBlock)
    seen = [text[node.place.start : node.place.end] for step in block.steps for node in walk(step.value) if node.place]
    assert seen == ["1", "x1", "predict(x1)", "a", "-a", "b", "abs(b)", "2", "abs(b) // 2", "-a + abs(b) // 2"]


def test_what_makes_it_code_is_pointed_at() -> None:
    text = HEAD + "{\n    d1 = 1\n    while d1 < 3:\n        d1 += 1\n}\nensures d1 == 1;\n"
    block = read_block(parse_nomos(text).block)
    assert isinstance(block, CodeBlock)
    assert block.place is not None
    assert (block.place.line, block.place.column) == (7, 5)
