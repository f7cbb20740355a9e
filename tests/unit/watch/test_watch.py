"""A watch: alerts that name the group and the time, verdicts so far, the last samples, late outcomes, its state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import DataError, RecordError, SpecError, UsageError
from raising import raises

FOUR_FIFTHS = "P[hired | sex == 'F'] >= 0.8 * P[hired | sex == 'M']"


def _people(rng: np.random.Generator, rows: int, women: float, men: float = 0.3) -> dict[str, Any]:
    sex = rng.choice(["F", "M"], rows, p=[0.3, 0.7])
    return {
        "sex": sex,
        "race": rng.choice(["A", "B", "C"], rows),
        "pay": rng.uniform(10, 50, rows),
        "hired": rng.random(rows) < np.where(sex == "F", women, men),
    }


def test_an_alert_names_the_property_the_group_and_when_it_began() -> None:
    rng = np.random.default_rng(1)
    watch = iso.Watch(iso.parse(FOUR_FIFTHS).named("four fifths"), run_length=10_000)
    assert watch.update(_people(rng, 6_000, 0.28)) == ()
    assert watch.alert is None
    (alert,) = watch.update(_people(rng, 2_000, 0.12))
    assert alert.property == "four fifths"
    assert 6_000 < alert.sample < 6_600
    assert alert.onset.low <= 6_000 <= alert.onset.high == alert.sample
    assert alert.estimate is not None
    assert alert.estimate < 0.8
    assert watch.alert == alert
    assert "has stopped holding" in str(alert)
    assert f"{alert.sample:,}" in str(alert)


def test_of_many_groups_the_one_that_changed_is_named() -> None:
    rng = np.random.default_rng(2)
    watch = iso.Watch(
        "for g in race: P[hired | race == g] >= 0.2", alpha=0.01, window=2_500, values={"race": list("ABC")}
    )
    watch.update(_people(rng, 3_000, 0.3))
    table = _people(rng, 3_000, 0.3)
    table["hired"] &= (table["race"] != "B") | (rng.random(3_000) < 0.2)
    (alert,) = watch.update(table)
    assert alert.group == "race == 'B'"
    answers = {standing.group: standing.answer for standing in watch.now}
    assert answers["race == 'B'"] == "violated"
    assert {record.group for record in watch.verdict.groups} == {f"race == '{each}'" for each in "ABC"}


def test_a_mean_and_overlapping_groups_are_watched() -> None:
    rng = np.random.default_rng(3)
    watch = iso.Watch(
        ["E[pay] >= 25", "P[hired | sex == 'F'] >= P[hired] - 0.1"], run_length=1e5, ranges={"pay": (0, 100)}
    )
    assert not watch.update(_people(rng, 5_000, 0.29))
    table = _people(rng, 5_000, 0.05)
    table["pay"] = rng.uniform(0, 30, 5_000)
    assert {alert.text for alert in watch.update(table)} == {
        "E[pay] >= 25",
        "P[hired | sex == 'F'] >= P[hired] - 0.1",
    }


def test_one_sample_at_a_time_is_the_same_as_all_at_once() -> None:
    rng = np.random.default_rng(4)
    table = _people(rng, 700, 0.05)
    whole, single = iso.Watch(FOUR_FIFTHS, alpha=0.05), iso.Watch(FOUR_FIFTHS, alpha=0.05)
    alerts = whole.update(table)
    found = [alert for row in range(700) for alert in single.update({name: table[name][row] for name in table})]
    assert alerts == tuple(found) != ()
    assert single.verdict == whole.verdict
    assert single.now == whole.now


def test_a_watch_goes_on_from_its_state() -> None:
    rng = np.random.default_rng(5)
    first, second = _people(rng, 3_000, 0.28), _people(rng, 3_000, 0.1)
    watch = iso.Watch(FOUR_FIFTHS, alpha=0.05, window=500)
    watch.update(first)
    other = iso.Watch(FOUR_FIFTHS, alpha=0.05, window=500).restore(watch.state)
    assert watch.update(second) == other.update(second) != ()
    assert other.state == watch.state
    assert other.alerts == watch.alerts
    with raises(RecordError, "alpha", 0.05, "window", 500):
        iso.Watch(FOUR_FIFTHS, alpha=0.01, window=500).restore(watch.state)
    with raises(RecordError, "format", cause=KeyError):
        iso.Watch(FOUR_FIFTHS, alpha=0.05).restore(b"{}")
    with raises(RecordError, 6, 5, "format"):
        iso.Watch(FOUR_FIFTHS, alpha=0.05, window=500).restore(watch.state.replace(b'"format":6', b'"format":5', 1))


def test_an_alert_that_was_acknowledged_is_given_again_while_it_does_not_hold() -> None:
    rng = np.random.default_rng(6)
    watch = iso.Watch("P[hired] >= 0.3", alpha=0.05)
    assert watch.update({"hired": rng.random(2_000) < 0.1})
    assert not watch.update({"hired": rng.random(2_000) < 0.1})
    watch.acknowledge()
    assert watch.alert is None
    assert watch.update({"hired": rng.random(2_000) < 0.1})
    watch.acknowledge()
    assert not watch.update({"hired": rng.random(4_000) < 0.4})
    assert len(watch.alerts) == 2


def test_verdicts_so_far_say_what_they_claim() -> None:
    rng = np.random.default_rng(7)
    watch = iso.Watch("P[hired] >= 0.3", alpha=0.05)
    assert watch.verdict.answer == "undecided"
    watch.update({"hired": rng.random(3_000) < 0.4})
    held = watch.verdict
    assert held.answer == "holds"
    assert held.interval[0] >= 0.3
    assert any("at least part of the period" in remark for remark in held.remarks)
    watch.update({"hired": rng.random(9_000) < 0.1})
    broken = watch.verdict
    assert broken.answer == "violated"
    assert broken.interval[1] <= 0.3
    assert any("failed for at least part" in remark for remark in broken.remarks)


def _gap(rng: np.random.Generator, rows: int, gap: float) -> dict[str, Any]:
    sex = rng.choice(["F", "M"], rows)
    return {"sex": sex, "hired": rng.random(rows) < np.where(sex == "F", 0.5 + gap / 2, 0.5 - gap / 2)}


@pytest.mark.parametrize(
    "text",
    [
        "abs(P[hired | sex == 'F'] - P[hired | sex == 'M']) <= 0.1",
        "P[hired | sex == 'F'] >= 0.45 and P[hired | sex == 'M'] >= 0.45",
        "for g in sex: P[hired | sex == g] >= 0.45",
    ],
)
def test_a_claim_that_failed_at_every_moment_is_not_said_to_hold_although_each_part_held_at_some_time(text) -> None:
    for run in range(5):
        rng = np.random.default_rng(run)
        watch = iso.Watch(text, alpha=0.001, delta=0.05, values={"sex": ["F", "M"]})
        for gap in (0.12, -0.12) * 2:
            watch.update(_gap(rng, 1_500, gap))
        assert watch.verdict.answer != "holds"
        if watch.verdict.answer == "undecided":
            assert "each part of it held" in watch.verdict.remarks[0]


def test_the_groups_of_a_property_have_answers_of_their_own() -> None:
    watch = iso.Watch("for g in sex: P[hired | sex == g] >= 0.3", alpha=0.01, values={"sex": ["F", "M"]})
    watch.update(_gap(np.random.default_rng(1), 3_000, 0.0))
    assert watch.verdict.answer == "undecided"
    assert [each.answer for each in watch.verdict.groups] == ["holds", "holds"]
    one = iso.Watch("P[hired | sex == 'F'] >= 0.3", alpha=0.01)
    one.update(_gap(np.random.default_rng(1), 3_000, 0.0))
    assert one.verdict.answer == "holds"


def test_a_hire_that_brings_the_next_woman_raises_no_false_alarm() -> None:
    """Equal rates, always. With the groups of a block known before its outcomes, all of these streams had an alert."""
    claim, alerts = "P[hired | sex == 'F'] >= P[hired | sex == 'M']", 0
    for run in range(10):
        rng = np.random.default_rng(run)
        hired = rng.random(10_000) < 0.5
        woman = rng.random(10_000) < np.where(np.append(False, hired[:-1]), 0.8, 0.2)
        watch = iso.Watch(claim, alpha=0.05)
        alerts += bool(watch.update({"sex": np.where(woman, "F", "M"), "hired": hired}))
        assert watch.verdict.answer != "violated"
    assert alerts <= 2


def test_an_acknowledgement_within_a_block_leaves_that_block_without_a_bet() -> None:
    rng = np.random.default_rng(11)
    watch = iso.Watch(FOUR_FIFTHS, run_length=1_000)
    table = _people(rng, 2_000, 0.28)
    for row in range(40):
        watch.update({name: column[row : row + 1] for name, column in table.items()})
        watch.acknowledge()
        assert watch.statistics.sides[0].height == -np.inf


def test_a_verdict_states_what_it_assumes_and_no_more() -> None:
    rate = iso.Watch("P[paid == 1] >= 0.5", alpha=0.05, outcome="paid", id="id", patience=1)
    assert len(rate.verdict.assumptions) == 1  # the order
    rate.update({"id": [1, 2, 3]})
    assert rate.missing
    assert len(rate.verdict.assumptions) == 2  # what is left out
    assert len(iso.Watch(FOUR_FIFTHS, alpha=0.05).verdict.assumptions) == 2  # the order, and blocks


def test_now_is_about_the_last_samples_only() -> None:
    rng = np.random.default_rng(8)
    watch = iso.Watch("P[hired] >= 0.3", alpha=0.05, window=2_000)
    watch.update({"hired": rng.random(10_000) < 0.1})
    watch.update({"hired": rng.random(3_000) < 0.6})
    (standing,) = watch.now
    assert standing.answer == "holds"
    assert 2_000 <= standing.samples <= 2_500
    assert standing.expression.low < 0.6 < standing.expression.high


def test_late_outcomes_are_judged_in_the_order_of_coming() -> None:
    rng = np.random.default_rng(9)
    rows, text = 1_500, "P[paid == 1 | prediction == 1] >= 0.5"
    table = {"id": np.arange(rows), "prediction": rng.integers(0, 2, rows)}
    paid = (rng.random(rows) < 0.3).astype(int)
    at_once = iso.Watch(text, alpha=0.05)
    expected = at_once.update({**table, "paid": paid})
    late = iso.Watch(text, alpha=0.05, outcome="paid", id="id")
    assert late.update(table) == ()
    assert (late.samples, late.pending) == (0, rows)
    good = np.flatnonzero(paid == 1)
    assert late.label(good, paid[good]) == ()  # good outcomes come first, and say nothing by themselves
    half = np.flatnonzero(paid == 0)
    found = [*late.label(half[:100], paid[half[:100]]), *late.label(half[100:], paid[half[100:]])]
    assert tuple(found) == expected != ()
    assert late.verdict == at_once.verdict
    assert late.pending == 0


@pytest.mark.parametrize("known", [True, False])
def test_what_waits_is_a_single_value(known: bool) -> None:
    """A list could not be kept in the state, so it is refused when it comes, also before its sample."""
    watch = iso.Watch("P[y == 1] >= 0.1", alpha=0.05, outcome="y", id="id")
    if known:
        watch.update({"id": 1, "x": 2})
    before = watch.state
    with pytest.raises(iso.DataError):
        watch.label([1], [[1, 2]])
    assert watch.state == before


def test_outcomes_that_never_come_are_left_out_and_bounded() -> None:
    late = iso.Watch("P[paid == 1] >= 0.5", alpha=0.05, outcome="paid", id="id", patience=100)
    late.update({"id": [f"n{k}" for k in range(50)]})
    late.update({"id": [f"m{k}" for k in range(150)], "paid": [1] * 150})
    assert (late.samples, late.missing, late.pending) == (150, 50, 0)
    assert late.bounds == {"P[paid == 1]": (0.75, 1.0)}
    other = iso.Watch("P[paid == 1] >= 0.5", alpha=0.05, outcome="paid", id="id", patience=100).restore(late.state)
    assert other.missing == 50
    with raises(DataError, name="a"):
        late.update({"id": ["a", "a"]})
    with pytest.raises(DataError, match="an outcome for each id"):
        late.label(["a", "b"], [1])


def test_a_model_is_asked_about_every_sample() -> None:
    rng = np.random.default_rng(10)
    watch = iso.Watch("P[prediction == 1] >= 0.4", alpha=0.05, model=lambda table: np.asarray(table["x"]) > 0.5)
    assert not watch.update({"x": rng.random(500)})
    assert watch.update({"x": rng.random(1_000) * 0.6})


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"properties": "P[a] >= 0.5"}, UsageError, "either alpha"),
        ({"properties": "P[a] >= 0.5", "alpha": 0.1, "run_length": 10}, UsageError, "either alpha"),
        ({"properties": "P[a] >= 0.5", "alpha": 5}, UsageError, "between 0 and 1"),
        ({"properties": "P[a] >= 0.5", "run_length": 0.5}, UsageError, "at least 1"),
        ({"properties": "P[a] >= 0.5", "alpha": 0.1, "window": 0}, UsageError, "window"),
        ({"properties": [], "alpha": 0.1}, UsageError, "at least one property"),
        ({"properties": 5, "alpha": 0.1}, UsageError, "about rates"),
        ({"properties": "P[a] >= 0.5 or P[b] >= 0.5", "alpha": 0.1}, SpecError, "joined by 'and'"),
        ({"properties": "P[a] * P[b] >= 0.5", "alpha": 0.1}, SpecError, "linear"),
        ({"properties": "P[a] >= 0", "alpha": 0.1}, SpecError, "arithmetic decides"),
        ({"properties": "E[a] >= 0.5", "alpha": 0.1}, SpecError, "range"),
        ({"properties": "for g in c: P[a | c == g] >= 0.5", "alpha": 0.1}, SpecError, "values="),
        ({"properties": "P[a] >= 0.5", "alpha": 0.1, "outcome": "a"}, UsageError, "both outcome and id"),
    ],
)
def test_what_cannot_be_watched_is_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        iso.Watch(**arguments)


def test_columns_that_are_not_there_are_named() -> None:
    watch = iso.Watch("P[hired] >= 0.3", alpha=0.05)
    with raises(SpecError, name="hired", at="hired"):
        watch.update({"hird": [1, 0]})
    watch.update({"hired": [1, 0]})
    with pytest.raises(DataError, match="as in the updates before"):
        watch.update({"other": [1]})
    with raises(UsageError, name="outcome"):
        watch.label([1], [1])


def test_its_state_is_the_same_bit_for_bit_however_the_stream_is_cut() -> None:
    rng = np.random.default_rng(12)
    table = _people(rng, 3_000, 0.15)
    properties = [FOUR_FIFTHS, "E[pay] >= 25", "P[hired | sex == 'F'] >= P[hired] - 0.1", "abs(P[hired] - 0.3) <= 0.1"]
    states = []
    for cuts in ([3_000], [1, 6, 499, 500, 2_211, 3_000], [*range(7, 3_000, 7), 3_000]):
        watch, done = iso.Watch(properties, alpha=0.01, window=500, ranges={"pay": (0, 100)}), 0
        for upto in cuts:
            watch.update({name: values[done:upto] for name, values in table.items()})
            done = upto
        states.append(watch.state)
    assert states[0] == states[1] == states[2]
    assert watch.alerts


def test_of_two_sides_that_are_left_the_first_gives_the_alert() -> None:
    hired = np.concatenate([np.ones(400, dtype=bool), np.zeros(4_000, dtype=bool)])
    at_once, single = (iso.Watch("abs(P[hired] - 0.5) <= 0.05", alpha=0.01) for _ in range(2))
    at_once.update({"hired": hired})
    for part in np.array_split(hired, 400):
        single.update({"hired": part})
    assert at_once.alerts == single.alerts
    assert at_once.alerts[0].sample < 400


def test_a_model_is_not_given_the_outcome_that_it_should_predict() -> None:
    given: list[set[str]] = []

    def model(table: Any) -> Any:
        given.append(set(table))
        return np.asarray(table["x"]) > 0.5

    watch = iso.Watch("P[prediction == 1 | paid == 1] >= 0.1", alpha=0.05, model=model, outcome="paid", id="id")
    watch.update({"id": [1, 2, 3], "x": [0.1, 0.6, 0.9]})
    watch.label([1, 2, 3], [1, 0, 1])
    assert watch.samples == 3
    assert all("paid" not in names for names in given)
    assert watch.verdict.leaves[0].n == 2


def test_an_update_that_is_refused_changes_nothing() -> None:
    rng = np.random.default_rng(11)

    def people(**other: Any) -> dict[str, Any]:
        return {"y": rng.random(50) < 0.5, "a": rng.integers(0, 2, 50), "x": rng.random(50), **other}

    watch = iso.Watch(["P[y | a == 1] >= P[y] - 0.1", "E[x from 0 to 1] >= 0.1"], alpha=0.05)
    watch.update(people())
    before = watch.state
    with raises(DataError, 0, 1, 5, "x=5.0"):
        watch.update(people(x=np.full(50, 5.0)))
    assert watch.state == before


def test_an_outcome_that_is_refused_can_be_brought_again() -> None:
    watch = iso.Watch("E[loss from 0 to 1 | prediction == 1] <= 0.5", alpha=0.05, outcome="loss", id="id")
    watch.update({"id": [1, 2], "prediction": [1, 1]})
    with raises(DataError, 0, 1, 7, "loss=7.0"):
        watch.label([1, 2], [0.2, 7.0])
    assert (watch.samples, watch.pending) == (0, 2)
    watch.label(2, 0.7)
    assert (watch.samples, watch.pending) == (2, 0)
    with raises(DataError, 0, 1, 9, "loss=9.0"):
        watch.update({"id": [3], "prediction": [1], "loss": [9.0]})
    watch.update({"id": [3], "prediction": [1], "loss": [0.9]})
    assert (watch.samples, watch.pending, watch.missing) == (3, 0, 0)


@pytest.mark.parametrize("claim", ["2 * P[hired == 1] >= 0.5", "P[hired == 1] >= 0.5"])
def test_an_alert_about_a_rate_of_zero_says_zero(claim: str) -> None:
    (alert,) = iso.Watch(claim, alpha=0.05).update({"hired": [0] * 200})
    assert str(alert.estimate) == "0.0"


def test_nothing_is_said_about_nobody() -> None:
    watch = iso.Watch("P[hired | sex == 'Man'] / P[hired | sex == 'F'] >= 0.8", alpha=0.05)
    assert watch.update({"sex": ["F", "M"] * 500, "hired": [1, 0] * 500}) == ()
    (now,) = watch.now
    assert (now.answer, watch.verdict.answer) == ("undecided", "undecided")
    assert any("no sample so far informs P[hired | sex == 'Man']" in remark for remark in watch.verdict.remarks)


def test_an_event_that_nobody_had_is_said() -> None:
    watch = iso.Watch("P[prediction == 'Yes'] >= 0.5", alpha=0.05)
    (alert,) = watch.update({"prediction": ["yes", "no"] * 200})
    assert str(alert.estimate) == "0.0"
    assert any("spelled as in the model's answers" in remark for remark in watch.verdict.remarks)
