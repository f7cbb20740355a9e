import pytest

from isonomia.errors import SpecError
from isonomia.spec.parser import parse_formula
from isonomia.spec.text import to_text, unquote, value_text
from isonomia.spec.tree import Column, Compare, Constant, Do, Literal, Other, PairCall, Setting


@pytest.mark.parametrize(
    "text",
    [
        "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8",
        "0.8 <= P[a] / P[b] <= 1.25",
        "(P[a] - P[b]) * 2 > P[c] - (P[d] - P[e])",
        "P[a] / (P[b] / P[c]) > P[a] / P[b] / P[c]",
        "-P[a] ** 2 > (-P[a]) ** 2",
        "(-0.5) ** 2 > -0.5",
        "(P[a] > 0.5 or P[b] > 0.5) and not P[c] > 0.5",
        "(P[a] > 0.5 and P[b] > 0.5) and P[c] > 0.5",
        "P[a] > 0.5 ==> P[b] > 0.5 ==> P[c] > 0.5",
        "(P[a] > 0.5 ==> P[b] > 0.5) ==> P[c] > 0.5",
        "for g in race except 'white', 'x': P[race == g] > 0.5 and P[b] > 0",
        "(for g in race: P[race == g] > 0.5) and P[b] > 0",
        "for g in race: P[`g` == g] > 0",
        "for race in `race`: P[`race` == race] > 0",
        "E[income from 0 to 100000 | 0 <= age < 25 and a] > 3",
        "P[a is not missing or b not in {1, 1.0, true}] > 0",
        "P[not (a and b)] > 0",
        'P[`hours per week` == "it\'s"] > 0',
        "P[(a == b) == c] > 0",
        "E[a - (b - c) * -2 + abs(-(d + e))] > min(1, P[a], 2)",
        "E[score['good'] - score[1]] > 1e-09",
        "P[prediction == do(sex = 'M').prediction | sex == 'F'] >= 0.95",
        "P[do(education as if sex = 'M').prediction == 1 | sex == 'F'] - P[prediction == 1 | sex == 'M'] >= -0.15",
        "P[abs(score - other.score) <= 2 * (abs(age - other.age) / 50 + abs(hours - other.hours) / 40)] >= 0.95",
        "E[do(sex = 'M').score - score] <= 0.05",
        "for g in sex: P[prediction == do(sex = g).prediction] >= 0.9",
        "for g in sex: P[other.`g` == do(`g` = g, e as if (a = g, b = -1.5)).`g`] >= 0.9",
        "P[do(sex = 'F', `years of school` as if sex = 'M').score['good'] > other.`hours per week`] >= 0.9",
        "P[other.other == other and do(as as if if = true).do == do and other.prediction] > 0",
    ],
)
def test_text_in_its_plainest_form_is_written_as_it_was_read(text):
    assert to_text(parse_formula(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("((P[((a))]))>=80%", "P[a] >= 0.8"),
        ("P[a] ^ 2 > 1.0", "P[a] ** 2 > 1"),
        ("P[a == 1 and 1 < b] > 0", "P[a == 1 < b] > 0"),
        ("for g in race except {'a'}: P[a] > 0", "for g in race except 'a': P[a] > 0"),
        ("P[other . age>do ( e  as\nif (s='M') ) . age] > 0", "P[other.age > do(e as if s = 'M').age] > 0"),
        ("for g in a: P[do(g = g).g] > 0", "for g in a: P[do(`g` = g).`g`] > 0"),
    ],
)
def test_other_text_is_written_in_its_plainest_form(text, expected):
    assert to_text(parse_formula(text)) == expected


def test_rows_and_quantities_can_be_written_alone():
    assert to_text(Compare("==", Column("a"), Literal("x"))) == "a == 'x'"
    assert to_text(Constant(-2.0)) == "-2"


def test_versions_and_functions_of_two_people_can_be_written_alone():
    assert to_text(Other()) == "other"
    assert to_text(Do((Setting("sex", Literal("M")),))) == "do(sex = 'M')"
    assert to_text(PairCall("apart", max, ("age",))) == "apart(person, other)"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a\nb\t\\", r"'a\nb\t\\'"),
        ("\x07", r"'\x07'"),
        ("\u200b", r"'\u200b'"),
        ("\U000e0001", r"'\U000e0001'"),
    ],
)
def test_what_cannot_be_seen_is_written_with_a_backslash_and_read_back(value, written):
    assert value_text(value) == written
    assert unquote(written) == value


def test_a_number_beyond_the_last_character_is_refused():
    with pytest.raises(SpecError, match=r"\\Uffffffff is not a character"):
        parse_formula(r"P[a == '\Uffffffff'] > 0")
