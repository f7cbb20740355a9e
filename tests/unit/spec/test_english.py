import pytest

from isonomia.spec.english import explain
from isonomia.spec.operators import P, other, pair_function, score
from isonomia.spec.parser import parse_formula


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8",
            "The share of people with prediction equal to 1 among those whose sex is 'F' is at least 0.8 times the "
            "share among those whose sex is 'M'.",
        ),
        (
            "P[prediction == 1 | sex == 'F'] >= 0.9 * P[prediction == 1]",
            "The share of people with prediction equal to 1 among those whose sex is 'F' is at least 0.9 times the "
            "share in the whole population.",
        ),
        (
            "0.8 <= P[a | b] / P[a | not b] <= 1.25",
            "The share of people with a true among those where `b` is true is between 0.8 and 1.25 times the share "
            "among those where `b` is false.",
        ),
        (
            "abs(E[score | sex == 'F'] - E[score | sex == 'M']) <= 0.05",
            "The mean score among those whose sex is 'F' and the mean among those whose sex is 'M' differ by at most "
            "0.05.",
        ),
        (
            "P[a] - P[b] < 0.1",
            "The share of people with a true exceeds the share of people with b true by less than 0.1.",
        ),
        ("P[a] - P[b] > 0", "The share of people with a true is more than the share of people with b true."),
        (
            "P[a] - P[b] >= -0.1",
            "The share of people with a true is at least the share of people with b true minus 0.1.",
        ),
        ("0.5 < P[a]", "The share of people with a true is more than 0.5."),
        ("0.5 < P[a] < 0.6", "The share of people with a true is strictly between 0.5 and 0.6."),
        (
            "for g in race except 'white': P[hired | race == g] > 0.5",
            "For every value g of race except 'white': the share of people with hired true among those whose race is g "
            "is more than 0.5.",
        ),
        (
            "for g in {'a', 'b'}: P[x == g] > 0",
            "For every g among 'a' and 'b': the share of people with x equal to g is more than 0.",
        ),
        (
            "P[a] > 0.5 ==> not P[b] > 0.5",
            "If the share of people with a true is more than 0.5, then [it is not the case that the share of people "
            "with b true is more than 0.5].",
        ),
        (
            "P[18 <= age <= 30 | region in {'n', 'e'} and x is missing] > 0",
            "The share of people with age between 18 and 30 among those whose region is 'n' or 'e' and whose x is "
            "missing is more than 0.",
        ),
        (
            "E[income / 12 | age >= 18 or not (a == 1)] > 0",
            "The mean income divided by 12 among those either whose age is at least 18 or for whom it is not true that "
            "a is 1 is more than 0.",
        ),
        ("E[abs(x)] > 0", "The mean of the absolute value of x is more than 0."),
        ("E[-x] > 0", "The mean of minus x is more than 0."),
        (
            "E[min(a, b + 1)] > E[max(a, 2)]",
            "The mean of the smallest of a and (b plus 1) is more than the mean of the largest of a and 2.",
        ),
        (
            "P[a] < P[b] <= P[c]",
            "The share of people with a true is less than the share of people with b true and the share of people with "
            "b true is at most the share of people with c true.",
        ),
        (
            "0.1 <= P[a] - P[b] <= 0.2",
            "The share of people with a true minus the share of people with b true is between 0.1 and 0.2.",
        ),
        (
            "-P[a] > P[b] * 2 + 1",
            "Minus (the share of people with a true) is more than ((the share of people with b true) times 2) plus 1.",
        ),
        (
            "P[a] ** 2 > P[b] ** 3",
            "(The share of people with a true) squared is more than (the share of people with b true) to the power 3.",
        ),
        (
            "abs(P[a]) > min(0.1, E[x])",
            "The absolute value of (the share of people with a true) is more than the smallest of 0.1 and (the mean "
            "x).",
        ),
        (
            "0.1 < E[x] < E[y] < 0.9",
            "0.1 is less than the mean x and the mean x is less than the mean y and the mean y is less than 0.9.",
        ),
        ("P[a | true] > 0", "The share of people with a true among those of any kind is more than 0."),
        ("P[a | 1] > 0", "The share of people with a true among those for whom 1 is true is more than 0."),
        ("P[3 < age] > 0", "The share of people with age above 3 is more than 0."),
        (
            "P[a not in {1, 2} | b is not missing] > 0",
            "The share of people with a none of 1 and 2 among those whose b is not missing is more than 0.",
        ),
        (
            "P[1 < age <= 3 | 1 <= age < 3] > 0",
            "The share of people with age above 1 and at most 3 among those whose age is at least 1 and is below 3 is "
            "more than 0.",
        ),
        (
            "P[a | not (b and (c or not (d == 1)))] > 0",
            "The share of people with a true among those for whom it is not true that b is true and (c is true or not "
            "(d is 1)) is more than 0.",
        ),
        (
            "for g in sex: abs(E[(paid == 1) - score | sex == g and score >= 0 and score < 0.5]) <= 0.1",
            "For every value g of sex: among those whose sex is g and whose score is at least 0 and below 0.5, the "
            "share of people with paid equal to 1 and the mean score differ by at most 0.1.",
        ),
        ("P[(a == b) == c] > 0", "The share of people with the truth of (a is b) equal to c is more than 0."),
        (
            "P[prediction == do(sex = 'M').prediction | sex == 'F'] >= 0.95",
            "The share, among those whose sex is 'F', of those whose prediction would have been the same had sex been "
            "'M' is at least 0.95.",
        ),
        (
            "for g in sex: P[do(sex = g).hired != hired] <= 0.1",
            "For every value g of sex: the share of people whose hired would have been different had sex been g is at "
            "most 0.1.",
        ),
        (
            "P[do(education as if sex = 'M').prediction == 1 | sex == 'F'] - P[prediction == 1 | sex == 'M'] >= -0.15",
            "The share, among those whose sex is 'F', of those for whom the prediction with education as it would have "
            "been had sex been 'M' is 1 is at least the share of people with prediction equal to 1 among those whose "
            "sex is 'M' minus 0.15.",
        ),
        (
            "P[abs(score - other.score) <= 2 * abs(age - other.age)] >= 0.95",
            "The share, among people each paired with a second person drawn at random, of those for whom the absolute "
            "value of (score minus the second person's score) is at most 2 times (the absolute value of (age minus the "
            "second person's age)) is at least 0.95.",
        ),
        (
            "E[do(sex = 'M').score - score] <= 0.05",
            "The mean of (the score had sex been 'M') minus score is at most 0.05.",
        ),
        (
            "E[do(a = 1, b = -2, e as if (s = 'x', t = true)).score['good'] | 0 < other.age < 9] > 0",
            "The mean, among people each paired with a second person drawn at random, for whom the second person's age "
            "is strictly between 0 and 9, of the score for 'good' had a been 1 and b been -2 and with e as it would "
            "have been had s been 'x' and t been true is more than 0.",
        ),
        (
            "P[not (prediction == other.prediction) | sex == 'F' and other.hired] > 0",
            "The share, among people each paired with a second person drawn at random, whose sex is 'F' and for whom "
            "the second person's hired is true, of those for whom it is not true that prediction is the same as the "
            "second person's is more than 0.",
        ),
        (
            "P[not hired | age > 30] >= 0.1",
            "The share of people with hired false among those whose age is above 30 is at least 0.1.",
        ),
    ],
)
def test_a_formula_is_said_in_plain_english(text, expected):
    assert explain(parse_formula(text)) == expected


def test_a_function_of_two_people_is_said_by_its_name():
    claim = P(abs(score - other(score)) <= pair_function(max, ["x"], name="apart")) >= 0.9
    assert explain(claim.formula) == (
        "The share, among people each paired with a second person drawn at random, of those for whom the absolute "
        "value of (score minus the second person's score) is at most apart(person, second person) is at least 0.9."
    )
