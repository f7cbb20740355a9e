"""Programs proved: against rational arithmetic, closed forms and draws; what is kept; what is refused, and why."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

import isonomia as iso
from isonomia.audits.check import new_check, run_check
from isonomia.audits.proofs import QUICK, THOROUGH
from isonomia.audits.rates.programs import prove
from isonomia.audits.rates.question import ask_about
from isonomia.audits.verdicts import recorded_model, recorded_population
from isonomia.engine.parameters import NullObserver
from isonomia.records.journal import ReadOnlyJournal
from raising import raises


@dataclass
class Notebook:
    """A journal in memory."""

    entries: dict[str, Any] = field(default_factory=dict)

    def recall(self, key: str) -> Any:
        return self.entries.get(key)

    def keep(self, key: str, pack: Callable[[], Any]) -> None:
        self.entries[key] = json.loads(json.dumps(pack()))


HIRING = """
def popModel():
    sex = step([(0, 1, 0.3), (1, 2, 0.7)])
    if sex < 1:
        skill = gaussian(48, 100)
    else:
        skill = gaussian(50, 100)
    luck = gaussian(0, 25)
    sensitiveAttribute(sex < 1)
def F():
    score = skill + 2 * luck
    if score < 40:
        score = 0
    fairnessTarget(score > 52)
"""
RATES = {group: stats.norm.sf((52 - mean) / sqrt(100 + 4 * 25)) for group, mean in (("minority", 48), ("others", 50))}


def proof_of(text: str, population: iso.Program | iso.Causal, model: object = None, **options: object):
    check = new_check(text, model, population, seed=1, **options)
    question = ask_about(check.prop, check.population, check.model, {})
    return prove(check, question, NullObserver(), THOROUGH), question


def test_a_ratio_is_proved_with_no_risk() -> None:
    program = iso.Program.of(HIRING)
    ratio = RATES["minority"] / RATES["others"]
    prop = "P[target | minority] / P[target | not minority] >= {}"
    held = iso.check(prop.format(ratio - 1e-8), population=program, delta=1e-10, seed=1)
    assert (held.answer, held.method, held.risk, held.samples) == ("holds", "exact", 0.0, 0)
    assert held.proved
    assert held.exact
    assert held.leaves[0].low <= RATES["minority"] <= held.leaves[0].high
    assert held.leaves[0].high - held.leaves[0].low < 1e-8
    assert "by proof" in str(held)
    assert "no risk" in str(held)
    assert any("proved" in remark for remark in held.remarks)
    assert iso.check(prop.format(ratio + 1e-8), population=program, seed=1).answer == "violated"


def test_any_seed_and_any_risk_give_the_same_proof() -> None:
    program = iso.Program.of(HIRING)
    one, two = (
        iso.check("P[target | minority] <= 0.4", population=program, seed=s, delta=d) for s, d in ((1, 0.5), (2, 1e-9))
    )
    assert one.leaves == two.leaves
    assert one.answer == two.answer == "holds"


def test_bets_say_the_same() -> None:
    program = iso.Program.of(HIRING)
    drawn = iso.check("P[target | minority] <= 0.42", population=program, seed=1, delta=1e-6, method="bets")
    proved = iso.check("P[target | minority] <= 0.42", population=program, seed=1, method="exact")
    assert drawn.answer == proved.answer == "holds"
    assert not drawn.proved
    assert drawn.leaves[0].low <= proved.leaves[0].estimate <= drawn.leaves[0].high


def test_groups_are_answered_one_by_one() -> None:
    world = iso.Causal(
        {
            "sex": iso.Categories({"F": 0.5, "M": 0.5}),
            "hours": "gaussian(30 if sex == 'F' else 40, 25)",
            "hired": "hours > 28",
        }
    )
    verdict = iso.check("for g in sex: P[hired == 1 | sex == g] >= 0.7", population=world, seed=1)
    assert {group.group: group.answer for group in verdict.groups} == {"sex == 'F'": "violated", "sex == 'M'": "holds"}
    assert verdict.worst is not None
    assert verdict.worst.estimate == pytest.approx(stats.norm.sf(-0.4), abs=1e-12)
    assert verdict.method == "exact"


def test_counterfactuals_share_their_noise() -> None:
    world = iso.Causal(
        {
            "sex": iso.Categories({"F": 0.5, "M": 0.5}),
            "hours": "gaussian(30 if sex == 'F' else 40, 25 if sex == 'F' else 16)",
            "hired": "hours > 32",
        }
    )
    prop = "P[do(sex = 'M').hired == 1 and hired == 0 | sex == 'F'] <= {}"
    # As women their noise must be below 0.4 deviations, as men above -2.
    truth = stats.norm.cdf(0.4) - stats.norm.cdf(-2)
    assert iso.check(prop.format(truth + 1e-9), population=world, seed=1).answer == "holds"
    assert iso.check(prop.format(truth - 1e-9), population=world, seed=1).answer == "violated"


def test_a_share_of_steps_is_carried_from_one_table_to_another() -> None:
    text = """
def popModel():
    sex = step([(0, 1, 0.5), (1, 2, 0.5)])
    if sex < 1:
        age = step([(0, 10, 0.25), (10, 30, 0.75)])
    else:
        age = step([(20, 40, 0.5), (50, 60, 0.5)])
    sensitiveAttribute(sex < 1)
def F():
    fairnessTarget(age > 15)
"""
    program = iso.Program.of(text)
    # Of the minority's shares u: age > 15 iff u > 7/16; as the majority it is above 35 iff u > 3/8.
    found, question = proof_of("P[do(sex = 1.5).age > 35 and not target | minority] >= 0.1", program)
    assert found.leaves[question.leaves[0]][0] == Fraction(7, 16) - Fraction(3, 8)


def test_a_causal_model_of_some_people_is_proved_for_those() -> None:
    world = iso.Causal({"x": "gaussian(0, 1)", "y": "gaussian(x, 1)"}).given("x > 0")
    verdict = iso.check("P[y > 0] >= 0.7499999", population=world, seed=1)
    assert verdict.method == "exact"
    assert verdict.answer == "holds"
    assert verdict.leaves[0].estimate == pytest.approx(0.75, abs=1e-8)


def test_means_of_what_every_way_settles() -> None:
    world = iso.Causal({"x": "gaussian(0, 1)", "points": "3 if x > 1 else 1 if x > 0 else 0"})
    verdict = iso.check("E[points from 0 to 3] <= 0.7", population=world, seed=1)
    assert verdict.method == "exact"
    truth = 3 * stats.norm.sf(1) + (0.5 - stats.norm.sf(1))
    assert verdict.leaves[0].low <= truth <= verdict.leaves[0].high


def test_nobody_is_said_to_be_nobody() -> None:
    verdict = iso.check("P[target | sex < 1 and sex > 1] >= 0.5", population=iso.Program.of(HIRING), seed=1)
    assert verdict.answer == "undecided"
    assert verdict.risk == 0.0
    assert any("no row can have sex < 1 and sex > 1" in remark for remark in verdict.remarks)


def test_a_rare_group_keeps_its_digits() -> None:
    program = iso.Program.of("def popModel():\n    x = gaussian(0, 1)\n    y = gaussian(0, 1)\ndef F():\n    pass\n")
    verdict = iso.check("P[x > 8.1 | x > 8] >= 0.4", population=program, seed=1)
    assert verdict.leaves[0].estimate == pytest.approx(stats.norm.sf(8.1) / stats.norm.sf(8), rel=1e-9)


def test_a_tie_is_a_tie_where_all_draws_are_steps() -> None:
    program = iso.Program.of("def popModel():\n    x = step([(0, 1, 0.1), (1, 2, 0.9)])\ndef F():\n    pass\n")
    assert iso.check("P[x < 1] >= 0.1", population=program, seed=1).answer == "holds"
    assert iso.check("P[x < 1] > 0.1", population=program, seed=1).answer == "violated"
    assert iso.check("P[x < 0.5 | x < 1] <= 0.5", population=program, seed=1).holds


PAIR = iso.Causal({"x": "gaussian(0, 1)", "y": "gaussian(0, 1)"})


def test_a_half_is_a_half() -> None:
    assert iso.check("P[x > 0] >= 0.5", population=PAIR, seed=1).answer == "holds"
    assert iso.check("P[x > 0] > 0.5", population=PAIR, seed=1).answer == "violated"


def test_a_tie_that_floats_cannot_tell_is_undecided_at_once() -> None:
    verdict = iso.check("P[x > y] >= 0.5", population=PAIR, seed=1)
    assert (verdict.answer, verdict.method, verdict.samples) == ("undecided", "exact", 0)
    assert verdict.leaves[0].low < 0.5 < verdict.leaves[0].high
    assert verdict.headline is not None
    assert verdict.headline.settled is None
    assert any("move it slightly" in remark for remark in verdict.remarks)


# ---------------------------------------------------------------------------- what cannot be proved


def test_numbers_beyond_floats_are_told_and_sampled() -> None:
    verdict = iso.check("P[x * 1e-200 + y * 1e-200 > 1e200] <= 0.5", population=PAIR, seed=1)
    assert verdict.answer == "holds"
    assert any("too far apart" in remark for remark in verdict.remarks)


@pytest.mark.parametrize(
    ("equations", "reason"),
    [
        ({"x": "gaussian(0, 1)", "y": "x * x"}, "a product of two draws"),
        ({"x": "gaussian(2, 1)", "y": "1 / x"}, "a division by a random quantity"),
        ({"x": "step([(1, 2, 1)])", "y": "gaussian(0, x)"}, "a variance that itself is drawn"),
        ({"x": "gaussian(0, 1)", "y": lambda x: np.sin(x)}, "'y' is a Python function"),
    ],
)
def test_what_is_not_linear_is_sampled_and_says_why(equations: dict[str, object], reason: str) -> None:
    world = iso.Causal(equations)
    verdict = iso.check("P[y > 0] >= 0.001", population=world, seed=1)
    assert verdict.answer == "holds"
    assert verdict.method == "bets"
    assert any(remark.startswith("it was sampled, since") and reason in remark for remark in verdict.remarks)
    with pytest.raises(iso.errors.UsageError, match=reason):
        iso.check("P[y > 0] >= 0.001", population=world, seed=1, method="exact")


def test_what_is_not_read_need_not_be_linear() -> None:
    world = iso.Causal({"x": "gaussian(0, 1)", "y": "x * x"})
    assert iso.check("P[x > 0] >= 0.4999999", population=world, seed=1).method == "exact"


def test_only_programs_and_censuses_are_exact() -> None:
    people = {"y": [0, 1] * 50}
    with raises(iso.errors.UsageError, "method='exact'"):
        iso.check("P[y == 1] >= 0.4", population=iso.Sample(people), method="exact")
    assert iso.check("P[y == 1] >= 0.4", population=iso.Census(people), method="exact").exact


def test_a_second_person_and_a_random_model_are_sampled() -> None:
    world = iso.Causal({"x": "gaussian(0, 1)"})
    verdict = iso.check("P[other.x > x] <= 0.6", population=world, seed=1)
    assert verdict.method != "exact"
    assert any("a second person" in remark for remark in verdict.remarks)


def test_too_many_ways_are_sampled() -> None:
    lines = "\n".join(f"    x{k} = gaussian(0, 1)" for k in range(16))
    tests = "\n".join(f"    if x{k} > 0:\n        t = t + 1" for k in range(16))
    program = iso.Program.of(f"def popModel():\n{lines}\n    t = 0\n{tests}\ndef F():\n    fairnessTarget(t > 7)\n")
    verdict = iso.check("P[target] >= 0.4", population=program, seed=1)
    assert verdict.answer == "holds"
    assert verdict.method == "bets"
    assert any(f"more than {QUICK.ways:,} paths" in remark for remark in verdict.remarks)


# ---------------------------------------------------------------------------- what is kept


def test_a_proof_is_replayed_without_the_program() -> None:
    text = "P[target | minority] / P[target | not minority] >= 0.8"
    journal = Notebook()
    verdict = run_check(new_check(text, None, iso.Program.of(HIRING), seed=2).with_journal(journal), NullObserver())
    assert verdict.proved
    stand_ins = recorded_model(journal.entries), recorded_population(journal.entries)
    again = run_check(
        new_check(text, *stand_ins, seed=2).with_journal(ReadOnlyJournal(journal.entries)), NullObserver()
    )
    assert replace(again, seconds=verdict.seconds) == verdict


def test_a_proof_of_another_property_is_refused() -> None:
    journal = Notebook()
    run_check(new_check("P[target] >= 0.1", None, iso.Program.of(HIRING), seed=2).with_journal(journal), NullObserver())
    population = recorded_population(journal.entries)
    other = new_check("P[target | minority] >= P[target]", None, population, seed=2)
    with pytest.raises(iso.errors.DataError, match="another property"):
        run_check(other.with_journal(ReadOnlyJournal(journal.entries)), NullObserver())


class Impatient(NullObserver):
    """Presses Ctrl-C at the first sign of progress."""

    def advance(self, progress: Any) -> None:  # noqa: ARG002
        raise KeyboardInterrupt


def test_a_proof_that_is_interrupted_can_be_made_later() -> None:
    journal, population = Notebook(), iso.Program.of(HIRING)
    check = new_check("P[target | minority] <= 0.4", None, population, seed=2).with_journal(journal)
    stopped = run_check(check, Impatient())
    assert (stopped.answer, stopped.stopped) == ("undecided", "interrupted")
    assert "proof" not in journal.entries
    assert run_check(check, NullObserver()).answer == "holds"


def test_a_proof_within_its_time() -> None:
    """Time is asked after every few hundred ways, and at every polytope."""
    lines = "\n".join(f"    x{k} = gaussian(0, {k + 1})" for k in range(12))
    tests = "\n".join(f"    if x{k} > x{k + 1}:\n        t = t + 1" for k in range(11))
    program = iso.Program.of(f"def popModel():\n{lines}\n    t = 0\n{tests}\ndef F():\n    fairnessTarget(t > 5)\n")
    with pytest.raises(iso.errors.UsageError, match="time limit reached"):
        iso.check("P[target] >= 0.4", population=program, seed=1, method="exact", budget=iso.Budget(seconds=0.05))


# ---------------------------------------------------------------------------- random programs

NUMBERS = st.integers(-4, 4)


@st.composite
def programs(draw: st.DrawFn, steps_only: bool = False) -> str:
    """A program of a few draws, sums of them, and branches."""
    lines, names = ["def popModel():"], []
    for k in range(draw(st.integers(1, 3))):
        name = f"x{k}"
        if steps_only or draw(st.booleans()):
            cuts = sorted(draw(st.sets(NUMBERS, min_size=2, max_size=4)))
            weights = [draw(st.integers(1, 4)) for _ in cuts[1:]]
            cells = ", ".join(
                f"({a}, {b}, {w} / {sum(weights)})" for a, b, w in zip(cuts, cuts[1:], weights, strict=False)
            )
            lines.append(f"    {name} = step([{cells}])")
        elif names and draw(st.booleans()):
            lines.append(f"    {name} = gaussian({draw(st.sampled_from(names))}, {draw(st.integers(1, 5))})")
        else:
            lines.append(f"    {name} = gaussian({draw(NUMBERS)}, {draw(st.integers(1, 5))})")
        names.append(name)
    for k in range(draw(st.integers(0, 2))):
        first, second = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        test = first if steps_only else f"{first} - {draw(NUMBERS)} * {second}"
        lines += [f"    if {test} > {draw(NUMBERS)}:", f"        y{k} = {draw(NUMBERS)}", "    else:"]
        lines.append(f"        y{k} = {first if steps_only else f'{first} + {second}'}")
        names.append(f"y{k}")
    event = draw(st.sampled_from(names))
    other = draw(st.sampled_from(names))
    lines += [f"    sensitiveAttribute({other} > {draw(NUMBERS)})", "def F():"]
    right = draw(NUMBERS) if steps_only else f"{draw(NUMBERS)} * {other} + {draw(NUMBERS)}"
    lines.append(f"    fairnessTarget({event} > {right})")
    return "\n".join(lines) + "\n"


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(text=programs())
def test_random_programs_are_enclosed(text: str) -> None:
    check_against_draws(text, 100_000)


def check_against_draws(text: str, draws: int) -> None:
    """The enclosure contains the mean of draws within five standard errors."""
    program = iso.Program.of(text)
    found, question = proof_of("P[target and minority] >= P[target | minority]", program)
    assert not found.reason, found.reason
    drawn = program.world.draw(draws, np.random.default_rng(0), ("target", "minority"), {}).columns
    for leaf, inside in zip(question.leaves, (np.ones(draws, dtype=bool), drawn["minority"]), strict=True):
        event = drawn["target"][inside] & drawn["minority"][inside]
        if found.leaves[leaf] is None:
            assert not len(event)
            continue
        _, low, high = found.leaves[leaf]
        assert low <= high
        if len(event) > 100:
            spread = 5 * max(sqrt(event.mean() * (1 - event.mean()) / len(event)), 5 / len(event))
            assert low - spread <= event.mean() <= high + spread


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(text=programs(steps_only=True))
def test_random_programs_of_steps_equal_rational_arithmetic(text: str) -> None:
    """Every comparison is of one draw with a whole number, so that unit cells can be counted."""
    program = iso.Program.of(text)
    found, question = proof_of("P[target and minority] >= 0.5", program)
    assert not found.reason, found.reason
    assert found.leaves[question.leaves[0]][0] == counted(program)


def counted(program: iso.Program) -> Fraction:
    """The probability of target and minority, by going through all unit cells of the draws."""
    from isonomia.spec.fairsquare.tree import Assign, StepDensity

    draws = [
        item for item in program.world.statements if isinstance(item, Assign) and isinstance(item.value, StepDensity)
    ]
    total = Fraction(0)
    cells = [
        [
            (k + 0.5, Fraction(repr(p)) / int(high - low))
            for low, high, p in item.value.cells
            for k in range(int(low), int(high))
        ]
        for item in draws
    ]
    whole = [sum(p for _, p in each) for each in cells]
    for chosen in product(*cells):
        share = Fraction(1)
        for (_, p), all_of_it in zip(chosen, whole, strict=True):
            share *= p / all_of_it
        total += share * _decided(program, {item.target: value for item, (value, _) in zip(draws, chosen, strict=True)})
    return total


def _decided(program: iso.Program, values: dict[str, float]) -> bool:
    """What the program makes of somebody, by setting every draw."""
    from isonomia.spec.tree import Do, Literal, Setting

    version = Do(tuple(Setting(name, Literal(value)) for name, value in values.items()))
    made = program.world.draw(1, np.random.default_rng(0), (), {version: ("target", "minority")}).versions[version]
    return bool(made["target"][0] and made["minority"][0])
