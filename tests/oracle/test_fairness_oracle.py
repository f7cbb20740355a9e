"""Every named fairness property against its definition, computed person by person on small random populations.

The definitions here are written with Python loops and fractions and share nothing with the package. A rate of nobody
is ``None``, and a claim that turns on one is neither true nor false (Kleene's logic); a quotient by zero is an error.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import isonomia as iso
from isonomia.spec import col, fairness

TABLES = 200
RATIOS = (0.5, 0.75, 0.8, 1.0)
DIFFERENCES = (0.0, 0.1, 0.25, 0.5)


class NoValueError(Exception):
    """A quotient whose denominator is zero."""


def random_rows(seed):
    """Between 10 and 60 people, some with a missing race or outcome; every sex and race occurs."""
    rng = np.random.default_rng([20240521, seed])
    n = int(rng.integers(10, 60))
    tilt = rng.random(2)
    rows = []
    for k in range(n):
        sex = "FM"[k] if k < 2 else "FM"[int(rng.integers(2))]
        rows.append(
            {
                "sex": sex,
                "race": "ABC"[k] if k < 3 else None if rng.random() < 0.03 else "ABC"[int(rng.integers(3))],
                "job": "xy"[int(rng.integers(2))],
                "age": int(rng.integers(18, 70)),
                "prediction": int(rng.random() < tilt[int(sex == "F")]),
                "y": None if rng.random() < 0.03 else int(rng.random() < 0.6),
                "pay": int(rng.integers(0, 5)),
            }
        )
    return rng, rows


def table_of(rows):
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns["y"] = [np.nan if value is None else float(value) for value in columns["y"]]
    return columns


def rate(rows, event, member):
    among = [row for row in rows if member(row)]
    return Fraction(sum(bool(event(row)) for row in among), len(among)) if among else None


def exactly(number):
    return Fraction(repr(number))


def every(parts):
    parts = list(parts)
    return False if False in parts else None if None in parts else True


# ---------------------------------------------------------------------------- the two ways of comparing


def quotient(a, b, least):
    if a is None or b is None:
        return None
    if b == 0:
        raise NoValueError
    return a / b >= exactly(least)


def not_below(a, b, least):
    return None if a is None or b is None else a >= exactly(least) * b


def near(a, b, most):
    return None if a is None or b is None else abs(a - b) <= exactly(most)


def pair(value, compare, threshold):
    """A minority, women, against a majority, men."""
    return compare(value(lambda row: row["sex"] == "F"), value(lambda row: row["sex"] == "M"), threshold)


def against(rows, value, compare, threshold):
    """Every other race that occurs against A."""
    others = {row["race"] for row in rows} - {None, "A"}
    reference = value(lambda row: row["race"] == "A")
    outcomes = [_attempt(compare, value(lambda row, g=g: row["race"] == g), reference, threshold) for g in others]
    if NoValueError in outcomes:
        raise NoValueError
    return every(outcomes)


def _attempt(compare, a, b, threshold):
    try:
        return compare(a, b, threshold)
    except NoValueError:
        return NoValueError


def highest(values, least):
    """Each of some rates against the highest, as the four-fifths rule is worded."""
    known = [value for value in values if value is not None]
    if known and any(value < exactly(least) * max(known) for value in known):
        return False
    return None if None in values else True


def spread(values, most):
    """The largest minus the smallest."""
    known = [value for value in values if value is not None]
    if known and max(known) - min(known) > exactly(most):
        return False
    return None if None in values else True


def races(rows):
    return sorted({row["race"] for row in rows} - {None})


def by_race(rows, value):
    return [value(lambda row, g=g: row["race"] == g) for g in races(rows)]


def crossed(rows, value):
    return [
        value(lambda row, s=s, g=g: row["sex"] == s and row["race"] == g)
        for s in sorted({row["sex"] for row in rows})
        for g in races(rows)
    ]


# ---------------------------------------------------------------------------- what is measured in a group


def everybody(_row):
    return True


def selected(rows, restrict=everybody):
    return lambda member: rate(rows, lambda row: row["prediction"] == 1, lambda row: member(row) and restrict(row))


def true_positive(rows):
    return selected(rows, lambda row: row["y"] == 1)


def false_positive(rows):
    return selected(rows, lambda row: row["y"] == 0)


def precision(rows):
    return lambda member: rate(rows, lambda row: row["y"] == 1, lambda row: member(row) and row["prediction"] == 1)


def accuracy(rows):
    return lambda member: rate(rows, lambda row: row["prediction"] == row["y"], member)


def mean_pay(rows):
    def value(member):
        pays = [row["pay"] for row in rows if member(row)]
        return Fraction(f"{sum(pays) / len(pays):.15g}") if pays else None

    return value


# ---------------------------------------------------------------------------- the properties and their definitions

RATES = {
    "demographic_parity": (fairness.demographic_parity, {}, (selected,)),
    "equal_opportunity": (fairness.equal_opportunity, {"outcome": "y"}, (true_positive,)),
    "predictive_equality": (fairness.predictive_equality, {"outcome": "y"}, (false_positive,)),
    "equalized_odds": (fairness.equalized_odds, {"outcome": "y"}, (true_positive, false_positive)),
    "predictive_parity": (fairness.predictive_parity, {"outcome": "y"}, (precision,)),
    "accuracy_parity": (fairness.accuracy_parity, {"outcome": "y"}, (accuracy,)),
}


def all_of(claims):
    """The conjunction of some claims, any of which may have no value."""
    outcomes = []
    for claim in claims:
        try:
            outcomes.append(claim())
        except NoValueError:
            outcomes.append(NoValueError)
    if NoValueError in outcomes:
        raise NoValueError
    return every(outcomes)


def checked(prop, rows, model=None):
    try:
        answer = iso.check(prop, model, iso.Census(table_of(rows))).answer
    except iso.DataError:
        return NoValueError
    return {"holds": True, "violated": False, "undecided": None}[answer]


def compare_on_tables(make, define, tables=TABLES, people=60):
    """Check a property and its definition on random tables, and that neither answer was a rarity.

    ``make`` makes the property from a random generator, and says what was chosen; ``define`` gives the answer for that
    choice, straight from the definition. Only so many ``people`` of each table are kept.
    """
    seen = Counter()
    for seed in range(tables):
        rng, rows = random_rows(seed)
        rows = rows[:people]
        prop, choice = make(rng)
        try:
            want = define(rows, choice)
        except NoValueError:
            want = NoValueError
        assert checked(prop, rows) is want, f"table {seed}: {prop}"
        seen[want] += 1
    assert min(seen[True], seen[False]) >= tables // 20, seen


@pytest.mark.parametrize("name", RATES)
def test_a_minority_against_a_majority_by_ratio(name):
    constructor, options, measures = RATES[name]

    def make(rng):
        ratio = float(rng.choice(RATIOS))
        return constructor("sex", "F", "M", ratio=ratio, **options), ratio

    compare_on_tables(make, lambda rows, least: all_of([lambda m=m: pair(m(rows), quotient, least) for m in measures]))


@pytest.mark.parametrize("name", RATES)
def test_a_minority_and_a_majority_by_difference(name):
    constructor, options, measures = RATES[name]

    def make(rng):
        difference = float(rng.choice(DIFFERENCES))
        return constructor("sex", "F", "M", difference=difference, **options), difference

    compare_on_tables(make, lambda rows, most: every(pair(m(rows), near, most) for m in measures), TABLES // 2)


@pytest.mark.parametrize("name", RATES)
def test_every_group_with_every_other(name):
    constructor, options, measures = RATES[name]

    def make(rng):
        if rng.random() < 0.5:
            ratio = float(rng.choice((0.3, 0.5, 0.6)))
            return constructor("race", ratio=ratio, **options), (highest, ratio)
        difference = float(rng.choice((0.25, 0.4, 0.6)))
        return constructor("race", difference=difference, **options), (spread, difference)

    compare_on_tables(
        make,
        lambda rows, how: every(how[0](by_race(rows, measure(rows)), how[1]) for measure in measures),
        TABLES // 2,
    )


@pytest.mark.parametrize("name", RATES)
def test_every_other_group_against_a_majority(name):
    constructor, options, measures = RATES[name]

    def make(rng):
        if rng.random() < 0.5:
            ratio = float(rng.choice(RATIOS))
            return constructor("race", majority="A", ratio=ratio, **options), (quotient, ratio)
        difference = float(rng.choice((0.1, 0.25, 0.5)))
        return constructor("race", majority="A", difference=difference, **options), (near, difference)

    compare_on_tables(
        make,
        lambda rows, how: all_of([lambda m=m: against(rows, m(rows), how[0], how[1]) for m in measures]),
        TABLES // 2,
    )


def test_intersections_of_attributes():
    def make(rng):
        if rng.random() < 0.5:
            ratio = float(rng.choice((0.1, 0.25, 0.4)))
            return fairness.demographic_parity(["sex", "race"], ratio=ratio), (highest, ratio)
        difference = float(rng.choice((0.4, 0.6, 0.8)))
        return fairness.demographic_parity(["sex", "race"], difference=difference), (spread, difference)

    compare_on_tables(make, lambda rows, how: how[0](crossed(rows, selected(rows)), how[1]), TABLES // 2)


def test_the_four_fifths_rule_compares_with_the_highest_rate():
    def make(rng):
        if rng.random() < 0.5:
            return fairness.four_fifths("sex"), "sex"
        return fairness.four_fifths("race", groups=["A", "B"]), "race"

    def define(rows, attribute):
        groups = ("F", "M") if attribute == "sex" else ("A", "B")
        value = selected(rows)
        return highest([value(lambda row, g=g: row[attribute] == g) for g in groups], 0.8)

    compare_on_tables(make, define)


def test_conditional_parity_within_every_stratum():
    def make(rng):
        difference = float(rng.choice((0.25, 0.4, 0.5)))
        return fairness.conditional_parity("sex", "F", "M", strata="job", difference=difference), difference

    def define(rows, most):
        jobs = {row["job"] for row in rows}
        return every(pair(selected(rows, lambda row, j=j: row["job"] == j), near, most) for j in jobs)

    compare_on_tables(make, define)


def test_conditional_parity_under_a_condition():
    def make(rng):
        ratio = float(rng.choice(RATIOS))
        condition = ("age >= 40", col("age") >= 40)[int(rng.integers(2))]
        return fairness.conditional_parity("sex", "F", "M", given=condition, ratio=ratio), ratio

    compare_on_tables(make, lambda rows, least: pair(selected(rows, lambda row: row["age"] >= 40), quotient, least))


def test_conditional_parity_within_strata_under_a_condition_for_every_group():
    def make(rng):
        ratio = float(rng.choice((0.2, 0.4)))
        return fairness.conditional_parity("sex", strata=["job"], given="age >= 30", ratio=ratio), ratio

    def define(rows, least):
        return every(
            highest(
                [
                    selected(rows, lambda row, j=j: row["age"] >= 30 and row["job"] == j)(
                        lambda row, s=s: row["sex"] == s
                    )
                    for s in {row["sex"] for row in rows}
                ],
                least,
            )
            for j in {row["job"] for row in rows}
        )

    compare_on_tables(make, define)


def test_regression_parity():
    def make(rng):
        difference = float(rng.choice((0.25, 0.5, 1.0)))
        if rng.random() < 0.5:
            return fairness.regression_parity("sex", "F", "M", decision="pay", difference=difference), (0, difference)
        return fairness.regression_parity("race", decision="pay", low=0, high=4, difference=difference), (1, difference)

    def define(rows, how):
        many, most = how
        return spread(by_race(rows, mean_pay(rows)), most) if many else pair(mean_pay(rows), near, most)

    compare_on_tables(make, define)


def test_accuracy_by_what_goes_together():
    def make(rng):
        ratio = float(rng.choice((0.8, 0.9)))
        return fairness.accuracy_parity("sex", "F", "M", outcome="job", positive="x", favourable=1, ratio=ratio), ratio

    def define(rows, least):
        right = lambda row: (row["prediction"] == 1) == (row["job"] == "x")  # noqa: E731
        return pair(lambda member: rate(rows, right, member), quotient, least)

    compare_on_tables(make, define)


# ---------------------------------------------------------------------------- pairs of people


def pairs_near(rows, apart, restrict=everybody):
    """The share of all ordered pairs, everybody with themselves too, whose pay differs no more than they do.

    A second person who is drawn independently of the first may be the first one again.
    """
    people = [row for row in rows if restrict(row)]
    kept = [abs(Fraction(a["pay"] - b["pay"])) <= apart(a, b) for a in people for b in people]
    return Fraction(sum(kept), len(kept)) if kept else None


def years_and_job(a, b):
    return Fraction(abs(a["age"] - b["age"]), 20) + (a["job"] != b["job"])


def years(person, other):
    return np.abs(np.asarray(person["age"]) - np.asarray(other["age"])) / 16


@pytest.mark.parametrize(
    ("options", "apart"),
    [
        ({"distance": {"age": 20, "job": "differs"}}, years_and_job),
        ({"distance": {"age": 20, "job": "differs"}, "lipschitz": 2}, lambda a, b: 2 * years_and_job(a, b)),
        ({"distance": "abs(age - other.age)", "lipschitz": 0.125}, lambda a, b: Fraction(abs(a["age"] - b["age"]), 8)),
        ({"distance": years, "columns": ["age"]}, lambda a, b: Fraction(abs(a["age"] - b["age"]), 16)),
    ],
    ids=["scales", "scales and constant", "text", "function"],
)
def test_individual_fairness_over_all_pairs(options, apart):
    def make(rng):
        share = float(rng.choice((0.4, 0.5, 0.6, 0.7, 0.8, 0.9)))
        return fairness.individual(share=share, decision="pay", **options), share

    compare_on_tables(make, lambda rows, share: pairs_near(rows, apart) >= exactly(share), people=24)


def test_individual_fairness_among_pairs_who_meet_a_condition():
    def make(rng):
        share = float(rng.choice((0.4, 0.5, 0.6)))
        return fairness.individual({"age": 20}, share=share, decision="pay", given="sex == 'F'"), share

    def define(rows, share):
        return pairs_near(
            rows, lambda a, b: Fraction(abs(a["age"] - b["age"]), 20), lambda row: row["sex"] == "F"
        ) >= exactly(share)

    compare_on_tables(make, define, people=30)
