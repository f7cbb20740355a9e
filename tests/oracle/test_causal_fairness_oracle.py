"""The causal fairness properties against potential outcomes, computed person by person.

A small world is made up for each case: a sex, two things that depend on it (school and club), one that does not
(years), and a random decision rule. The definitions here apply the rule to each person under each change, with loops;
the property's own leaves are evaluated on columns.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from isonomia.errors import DataError
from isonomia.evidence.exact import exact_truth
from isonomia.spec import Batch, expand, fairness, leaves_of, numbers, score, truth
from isonomia.spec.tree import Rate, Setting, versions_of

WORLDS = 200
SHARES = (0.6, 0.75, 0.9, 1.0)
DIFFERENCES = (0.05, 0.1, 0.2)
RATIOS = (0.7, 0.8, 0.9)
NO_VALUE = "a quotient by zero"


class World:
    """Some people, and what would become of each of them."""

    def __init__(self, seed):
        self.rng = np.random.default_rng([20240522, seed])
        self.rule = self.rng.random((2, 2, 2, 3)) < self.rng.uniform(0.3, 0.7)
        # Some rules hardly look at the sex, so that both answers are common.
        if self.rng.random() < 0.5:
            keep = self.rng.random(self.rule[0].shape) < 0.9
            self.rule[0] = np.where(keep, self.rule[1], self.rule[0])
        self.people = [self._person(k) for k in range(int(self.rng.integers(12, 50)))]

    def _person(self, k):
        sex = "FM"[k] if k < 2 else "FM"[int(self.rng.integers(2))]
        return {"sex": sex, "noise": tuple(self.rng.random(2)), "years": int(self.rng.integers(3))}

    def school(self, person, sex):
        return int(person["noise"][0] < (0.4 if sex == "F" else 0.7))

    def club(self, person, sex):
        return int(person["noise"][1] < (0.2 if sex == "F" else 0.6))

    def decide(self, sex, school, club, years):
        return int(self.rule[int(sex == "F"), school, club, years])

    def factual(self, person):
        return self.had_sex_been(person, person["sex"])

    def had_sex_been(self, person, sex):
        return self.decide(sex, self.school(person, sex), self.club(person, sex), person["years"])

    def batch(self, versions=()):
        changed = {version: Batch(len(self.people), *self._columns(version.items)) for version in versions}
        return Batch(len(self.people), *self._columns(()), versions=changed)

    def _columns(self, items):
        rows = [self._changed(person, items) for person in self.people]
        columns = {name: np.array([row[name] for row in rows]) for name in ("sex", "school", "club", "years")}
        decided = [self.decide(row["sex"], row["school"], row["club"], row["years"]) for row in rows]
        return columns, np.array(decided)

    def _changed(self, person, items):
        sex = next((item.value.value for item in items if isinstance(item, Setting)), person["sex"])
        row = {"sex": sex, "school": self.school(person, sex), "club": self.club(person, sex), "years": person["years"]}
        for item in items:
            if not isinstance(item, Setting):
                row[item.name] = getattr(self, item.name)(person, item.settings[0].value.value)
        return row


def answer(prop, world):
    """The truth of a property, from its own leaves; ``None`` where it turns on a group with nobody in it."""
    formula = expand(prop.formula, lambda _column: ("F", "M"))
    batch = world.batch(versions_of(formula))
    values = {}
    for leaf in leaves_of(formula):
        chosen = np.ones(batch.rows, bool) if leaf.given is None else truth(leaf.given, batch)
        column = truth(leaf.event, batch) if isinstance(leaf, Rate) else numbers(leaf.term, batch)
        if chosen.any():
            values[leaf] = Fraction(int(column[chosen].sum()), int(chosen.sum()))
    try:
        return exact_truth(formula, values)
    except DataError:
        return NO_VALUE


def share_of(people, event):
    people = list(people)
    return Fraction(sum(event(person) for person in people), len(people)) if people else None


def exactly(number):
    return Fraction(repr(number))


def compare_on_worlds(make, define):
    seen = Counter()
    for seed in range(WORLDS):
        world = World(seed)
        prop, choice = make(world.rng)
        want = define(world, choice)
        assert answer(prop, world) is want, f"world {seed}: {prop}"
        seen[want] += 1
    assert min(seen[True], seen[False]) >= WORLDS // 20, seen


def of_sex(world, sex):
    return [person for person in world.people if person["sex"] == sex]


def test_counterfactual_of_a_minority():
    def make(rng):
        share = float(rng.choice(SHARES))
        return fairness.counterfactual("sex", "F", "M", share=share), share

    def define(world, share):
        same = share_of(of_sex(world, "F"), lambda p: world.factual(p) == world.had_sex_been(p, "M"))
        return same >= exactly(share)

    compare_on_worlds(make, define)


def test_counterfactual_of_every_group_among_some_people():
    def make(rng):
        share = float(rng.choice(SHARES))
        return fairness.counterfactual("sex", share=share, given="years < 2"), share

    def define(world, share):
        shares = [
            share_of(
                (p for p in of_sex(world, sex) if p["years"] < 2),
                lambda p, instead=instead: world.factual(p) == world.had_sex_been(p, instead),
            )
            for sex, instead in (("F", "M"), ("M", "F"))
        ]
        links = [None if found is None else found >= exactly(share) for found in shares]
        return False if False in links else None if None in links else True

    compare_on_worlds(make, define)


@pytest.mark.parametrize("kind", ["ratio", "difference"])
def test_counterfactual_effect_on_a_minority(kind):
    def make(rng):
        bound = float(rng.choice(RATIOS if kind == "ratio" else DIFFERENCES))
        return fairness.counterfactual_effect("sex", "F", "M", **{kind: bound}), bound

    def define(world, bound):
        women = of_sex(world, "F")
        actual = share_of(women, world.factual)
        instead = share_of(women, lambda p: world.had_sex_been(p, "M"))
        if kind == "difference":
            return abs(actual - instead) <= exactly(bound)
        return actual / instead >= exactly(bound) if instead else NO_VALUE

    compare_on_worlds(make, define)


@pytest.mark.parametrize("kind", ["ratio", "difference"])
def test_causal_effect_over_everybody(kind):
    def make(rng):
        bound = float(rng.choice(RATIOS if kind == "ratio" else DIFFERENCES))
        groups = {} if rng.random() < 0.5 else {"minority": "F", "majority": "M"}
        return fairness.causal("sex", **groups, **{kind: bound}), (bound, bool(groups))

    def define(world, choice):
        bound, one_sided = choice
        women = share_of(world.people, lambda p: world.had_sex_been(p, "F"))
        men = share_of(world.people, lambda p: world.had_sex_been(p, "M"))
        if kind == "difference":
            return abs(women - men) <= exactly(bound)
        if one_sided:
            return women / men >= exactly(bound) if men else NO_VALUE
        return min(women, men) >= exactly(bound) * max(women, men)

    compare_on_worlds(make, define)


def test_no_causal_discrimination():
    def make(rng):
        share = float(rng.choice(SHARES))
        return fairness.no_causal_discrimination("sex", "F", "M", share=share), share

    def define(world, share):
        same = share_of(world.people, lambda p: world.had_sex_been(p, "F") == world.had_sex_been(p, "M"))
        return same >= exactly(share)

    compare_on_worlds(make, define)


@pytest.mark.parametrize("mediators", [("school",), ("school", "club")])
def test_path_specific_fairness(mediators):
    def make(rng):
        shortfall = float(rng.choice((0.0, 0.05, 0.1)))
        return fairness.path_specific("sex", "F", "M", mediators=mediators, shortfall=shortfall), shortfall

    def decided(world, woman):
        school = world.school(woman, "M" if "school" in mediators else "F")
        club = world.club(woman, "M" if "club" in mediators else "F")
        return world.decide("F", school, club, woman["years"])

    def define(world, shortfall):
        women = share_of(of_sex(world, "F"), lambda p: decided(world, p))
        men = share_of(of_sex(world, "M"), world.factual)
        return women - men >= -exactly(shortfall)

    compare_on_worlds(make, define)


def test_a_condition_on_the_score_is_taken_to_the_other_version():
    prop = fairness.counterfactual_effect("sex", "F", "M", difference=0.1, favourable=score >= 0.5)
    assert str(prop) == "abs(P[score >= 0.5 | sex == 'F'] - P[do(sex = 'M').score >= 0.5 | sex == 'F']) <= 0.1"
