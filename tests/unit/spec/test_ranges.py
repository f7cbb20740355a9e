import pytest

from isonomia.spec.analysis import range_of
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Comparison, Mean, PairCall, Variable

DECLARED = {"x": (-1.0, 2.0), "y": (1.0, 4.0), "prediction": (0.0, 1.0)}


def term(text):
    formula = parse_formula(f"E[{text}] > 0")
    assert isinstance(formula, Comparison)
    assert isinstance(formula.first, Mean)
    return formula.first.term


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", (-1, 2)),
        ("-x", (-2, 1)),
        ("x + y", (0, 6)),
        ("x - y", (-5, 1)),
        ("x * y", (-4, 8)),
        ("x / y", (-1, 2)),
        ("y / x", None),
        ("y / 2", (0.5, 2)),
        ("abs(x)", (0, 2)),
        ("abs(y)", (1, 4)),
        ("abs(-y)", (1, 4)),
        ("min(x, y)", (-1, 2)),
        ("max(x, y)", (1, 4)),
        ("max(x, z)", None),
        ("x < 3", (0, 1)),
        ("not a or b is missing", (0, 1)),
        ("true + 1", (2, 2)),
        ("score", (0, 1)),
        ("score['a'] * 10", (0, 10)),
        ("prediction", (0, 1)),
        ("z", None),
        ("z + 1", None),
        ("'a'", None),
        ("x * 1e308 * 1e10", None),
        ("other.x", (-1, 2)),
        ("x - other.x", (-3, 3)),
        ("do(a = 1).x", (-1, 2)),
        ("do(x as if a = 9).x", (-1, 2)),
        ("do(x = 1).x", (-1, 2)),
        ("do(x = 7).x", (-1, 7)),
        ("do(a = 1, x = -7).x + 1", (-6, 3)),
        ("do(x = 'text').x", None),
        ("do(z = 7).z", None),
        ("do(a = 1).score - other.score['a']", (-1, 1)),
        ("other.prediction", (0, 1)),
    ],
)
def test_the_range_of_a_term_follows_from_those_of_its_columns(text, expected):
    assert range_of(term(text), DECLARED, (0.0, 1.0)) == expected


def test_what_is_not_declared_has_no_range():
    assert range_of(term("score"), {}, None) is None
    assert range_of(Variable("g"), {}, None) is None
    assert range_of(PairCall("apart", max, ("x",)), DECLARED, None) is None
    assert range_of(term("score"), {"score": (0, 5)}, None) == (0, 5)
