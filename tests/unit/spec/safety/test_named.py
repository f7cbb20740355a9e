"""Properties by name."""

from __future__ import annotations

from pathlib import Path

import pytest

import isonomia as iso
from isonomia.errors import SpecError, UsageError
from isonomia.spec.nomos import parse_nomos
from raising import raises


def test_monotone_writes_a_specification_that_reads_back() -> None:
    prop = iso.safety.monotone("felonies", up=(1, 10), at_most=20)
    assert parse_nomos(str(prop)) == prop.spec
    assert "randInt(1, 10)" in str(prop)
    assert "requires v2 <= 20;" in str(prop)
    assert prop.name == "not lower when felonies rises"


@pytest.mark.parametrize(
    ("prop", "line"),
    [
        (iso.safety.monotone("a"), "var v2 := v1 + 1;"),
        (iso.safety.monotone("a", down=2, output="not higher"), "ensures d2 <= d1;"),
        (iso.safety.monotone(3, down=(1, 2), at_least=0), "requires v2 >= 0;"),
        (iso.safety.monotone("a", ask="score"), "    d1 = score(x1)"),
        (iso.safety.robust(["a", "b"], 0.5), 'getFeat(x1, "b") + randReal(-0.5, 0.5)'),
        (iso.safety.robust("a", {"a": 2}, whole=True), "randInt(-2, 2)"),
        (iso.safety.invariant_to('a "b"'), 'randFeat(x1, "a \\"b\\"")'),
        (iso.safety.implies_after("blur", label="digit"), "ensures d2 == v1 ==> d1 == v1;"),
    ],
)
def test_a_named_property_says_what_it_means(prop: iso.safety.Safety, line: str) -> None:
    assert line in str(prop)
    assert parse_nomos(str(prop)) == prop.spec


@pytest.mark.parametrize(
    "make",
    [
        lambda: iso.safety.monotone("a", up=1, down=1),
        lambda: iso.safety.monotone("a", output="lower"),
        lambda: iso.safety.monotone("a", up=float("inf")),
        lambda: iso.safety.monotone(None),  # type: ignore[arg-type]
        lambda: iso.safety.monotone("a", ask="guess"),
        lambda: iso.safety.robust([], 1),
        lambda: iso.safety.robust("a", -1),
        lambda: iso.safety.monotone("a", eps=0),
        lambda: iso.safety.monotone("a", seconds=0),
        lambda: iso.safety.property(Path("nowhere.nom")),
        lambda: iso.safety.property("nowhere.nom"),
    ],
)
def test_an_argument_without_meaning_is_refused(make: object) -> None:
    with pytest.raises(UsageError):
        make()  # type: ignore[operator]


def test_edge_cases_are_tried_unless_it_is_said_that_they_are_not() -> None:
    text = str(iso.safety.monotone("age"))
    assert iso.safety.property(text).edge_cases
    assert not iso.safety.property(text, edge_cases=False).edge_cases
    with raises(UsageError, "edge_cases='no'"):
        iso.safety.property(text, edge_cases="no")  # type: ignore[arg-type]


def test_a_file_gives_its_name(tmp_path: Path) -> None:
    path = tmp_path / "age.nom"
    path.write_text(str(iso.safety.monotone("age")), encoding="utf-8")
    assert iso.safety.property(path).name == "age"
    path.write_bytes(b"\xff\xfe")
    with raises(SpecError, "age.nom", cause=UnicodeDecodeError):
        iso.safety.property(path)


def test_a_python_function_can_be_the_transformation() -> None:
    prop = iso.safety.implies_after(sorted, label="digit")
    assert prop.functions == {"transform": sorted}
    assert "var x2 := transform(x1);" in str(prop)


def test_domains_are_for_imports_only() -> None:
    text = "import compas;\n" + str(iso.safety.monotone("age"))
    assert list(iso.safety.property(text, domains={"compas": [1, 2]}).domains) == ["compas"]
    with raises(iso.UsageError, name="compass", meant="compas"):
        iso.safety.property(text, domains={"compass": [1, 2]})
    with raises(iso.UsageError, name="a"):
        iso.safety.property(str(iso.safety.monotone("age")), domains={"a": [1, 2]})


@pytest.mark.parametrize("step", [(0.1, 0.2), (3, 1), (1.5, 1.9)])
def test_steps_with_no_whole_number_between_are_refused_where_they_are_stated(step: tuple[float, float]) -> None:
    with raises(UsageError, name="step"):
        iso.safety.monotone("age", up=step)


def test_steps_may_have_any_ends_with_a_whole_number_between() -> None:
    assert "randInt(0.5, 1.5)" in iso.safety.monotone("age", down=(0.5, 1.5)).spec.text
