import subprocess
import sys

import pytest

from isonomia.errors import UsageError
from isonomia.spec.property import Property, parse
from raising import raises

TEXT = "P[b] >= 0.2"

TEXT = "P[hired | woman] >= 0.8"


def test_a_property_prints_as_its_text():
    assert str(parse(TEXT)) == TEXT
    assert repr(parse(TEXT)) == f"Property({TEXT!r})"
    assert repr(parse(TEXT).named("x")) == f"Property({TEXT!r}, name='x')"


def test_a_name_takes_no_part_in_equality():
    named = parse(TEXT).named("enough women")
    assert named.name == "enough women"
    assert named == parse(f"({TEXT})  # the same")
    assert hash(named) == hash(parse(TEXT))
    assert named != parse("P[hired] >= 0.8")


def test_joined_properties_are_flat():
    p = parse(TEXT)
    assert str(p & p & p) == f"{TEXT} and {TEXT} and {TEXT}"
    assert str((p | p) & ~p) == f"({TEXT} or {TEXT}) and not {TEXT}"
    assert str(p.implies(p)) == f"{TEXT} ==> {TEXT}"


def test_a_property_explains_itself():
    assert parse(TEXT).explain().startswith("The share of people with hired true")


def test_a_formula_makes_a_property():
    assert Property(parse(TEXT).formula) == parse(TEXT)


def test_importing_the_room_does_not_load_the_parser():
    code = "import sys, isonomia.spec; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "join",
    [lambda prop: prop & TEXT, lambda prop: TEXT & prop, lambda prop: prop | TEXT, lambda prop: TEXT | prop],
)
def test_a_text_is_not_joined_before_it_is_read(join):
    with raises(UsageError, "P[hired | woman] >= 0.8", "str"):
        join(parse("P[a] >= 0.1"))
