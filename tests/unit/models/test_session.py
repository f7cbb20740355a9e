from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import ChangingModelError, ModelError, UnreliableModelError
from isonomia.executors import pool_for
from isonomia.models import Answer, adapt, ask
from isonomia.models.cache import Cached
from isonomia.models.checked import AnswerChange, first_change
from isonomia.models.session import open_session
from isonomia.models.steady import FIRST_AGAIN, MAX_AGAIN
from isonomia.populations import Table
from raising import raises


def batch(n, start=0):
    return Table.of({"x": np.arange(start, start + n) / 1000.0})


def positive(table):
    return table["x"] >= 0


@dataclass
class Fickle:
    """A callable that answers at random for a share of the rows."""

    share: float
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __call__(self, table):
        n = len(table["x"])
        return np.where(self.rng.random(n) < self.share, self.rng.random(n) < 0.5, True)


def test_few_rows_are_asked_about_again_and_never_a_tenth_more_than_eight():
    model = open_session(adapt(positive))
    for start in range(0, 30_000, 30):
        ask(model, batch(30, start), False, True)
        assert model.steady.again <= FIRST_AGAIN + model.steady.asked / 10
    assert model.steady.asked == 30_000
    assert 100 < model.steady.again < 500


def test_a_model_that_guesses_is_found_in_the_first_small_batch():
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(300):
        try:
            ask(open_session(adapt(lambda table: rng.random(len(table["x"])) < 0.5)), batch(8), False, True)
        except UnreliableModelError:
            found += 1
    # It is missed with probability 2 ** -8, so that more than 12 of 300 are missed with probability below 1e-6.
    assert found >= 288


def test_a_large_batch_is_checked_on_at_most_32_rows():
    asked = []

    def counted(table):
        asked.append(len(table["x"]))
        return positive(table)

    ask(open_session(adapt(counted)), batch(100_000), False, True)
    assert asked == [100_000, MAX_AGAIN]


def test_a_changed_answer_is_an_error_with_the_row_and_both_answers():
    answers = iter([np.array(["no", "yes"]), np.array(["no"])])
    model = open_session(adapt(lambda _: next(answers)))
    with raises(ChangingModelError, "yes", "no", "x=0.001", "random_model=True"):
        ask(model, batch(2), False, True)


def test_an_answer_that_depends_on_the_rest_of_the_batch_is_found():
    with raises(ChangingModelError, "x=0.999"):
        ask(open_session(adapt(lambda table: table["x"] - table["x"].mean())), batch(1000), True, True)


def test_a_model_that_is_replaced_in_the_meantime_is_found():
    level = [0.0]
    model = open_session(adapt(lambda table: table["x"] >= level[0]))

    def go_on(start, stop):
        for first in range(start, stop, 10):
            ask(model, batch(10, first), False, True)

    go_on(0, 600)
    level[0] = 10.0
    with raises(ChangingModelError, "True", "False"):
        go_on(600, 6000)


def test_a_model_that_answers_for_one_row_of_any_batch_is_told_how_many_are_missing() -> None:
    model = open_session(adapt(lambda table: table["x"][:1]))
    for _ in range(7):
        ask(model, batch(1), True, False)
    with pytest.raises(ModelError) as raised:
        ask(model, batch(1), True, False)  # now eight are asked about together
    assert not isinstance(raised.value, ChangingModelError)


def test_rounding_is_no_other_answer():
    first = Answer(np.array([1.0, 0.5]), np.array([[0.3, 0.7]] * 2))
    assert first_change(first, Answer(np.array([1.0 + 1e-6, 0.5]), np.array([[0.30001, 0.69999]] * 2))) is None
    assert first_change(first, Answer(np.array([1.0, 0.5]), np.array([[0.3, 0.7], [0.31, 0.69]]))) == AnswerChange(
        row=1, before="the score [0.3, 0.7]", after="[0.31, 0.69]"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([1.0, 2.0], ["a", "b"]),
        (["a", "b"], [1.0, 2.0]),
        ([1, 2], [1, 3]),
        ([True, False], [True, True]),
        (["a"], ["b"]),
    ],
)
def test_a_change_of_any_kind_is_seen(before, after):
    assert first_change(Answer(np.array(before)), Answer(np.array(after))) is not None
    assert first_change(Answer(np.array(before)), Answer(np.array(before))) is None


def test_an_answer_of_the_wrong_length_is_left_to_whoever_checks_it():
    with raises(ModelError, 5, 2):
        ask(open_session(adapt(lambda _: [1, 0])), batch(5), False, True)


def test_a_share_of_random_answers_is_found_as_often_as_is_said():
    share, runs, found = 0.02, 400, 0
    rng = np.random.default_rng(5)
    again = 0
    for _ in range(runs):
        model = open_session(adapt(Fickle(share, rng)))
        try:
            for start in range(0, 3000, 20):
                ask(model, batch(20, start), False, True)
            again = model.steady.again
        except UnreliableModelError:
            found += 1
    # An answer changes with probability share - share**2 / 2 here: half of the random ones come out True as well.
    chance = 1 - (1 - (share - share**2 / 2)) ** again
    # Hoeffding: off by more than this with probability below 1e-6.
    assert abs(found / runs - chance) < np.sqrt(np.log(2e6) / (2 * runs))


# In the audits -------------------------------------------------------------------------------------------------------

PEOPLE = {"x": np.arange(200) / 200.0, "sex": np.array(["F", "M"] * 100), "y": np.arange(200) % 2}


def audits():
    from isonomia.interventions import Feature

    nomos = (
        "input x1; requires x1.x >= 0; output d1; output d2; { d1 = predict(x1); d2 = predict(x1) } ensures d1 == d2;"
    )
    return {
        "rates": ("P[prediction | sex == 'F'] >= 0.1", iso.Census(PEOPLE)),
        "sampled rates": ("P[prediction | sex == 'F'] >= 0.1", iso.Sample(PEOPLE)),
        "principal": (
            iso.PrincipalFairness(attribute="sex", outcome="y"),
            iso.Census(PEOPLE),
        ),
        "responsiveness": (
            iso.Responsiveness(iso.Interventions((Feature("x", "real", 0.0, 1.0),)), True, at_least=0.1),
            iso.Census(PEOPLE),
        ),
        "k-safety": (iso.safety.property(nomos), iso.Census(PEOPLE)),
    }


KINDS = ["rates", "sampled rates", "principal", "responsiveness", "k-safety"]


def flips(table):
    flips.calls += 1
    return np.asarray(table["x"]) + 0.5 * (flips.calls % 2) >= 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_every_audit_refuses_a_model_that_changes_its_answers(kind):
    claim, people = audits()[kind]
    flips.calls = 0
    with raises(ChangingModelError, "flips"):
        iso.check(claim, flips, people, seed=1)


@pytest.mark.parametrize("kind", KINDS)
def test_every_audit_allows_it_on_request_and_states_it(kind):
    claim, people = audits()[kind]
    flips.calls = 0
    if kind == "k-safety":
        claim = iso.safety.property(str(claim).replace("d1 == d2;", "d1 == d2 in 40% of cases;"))
    verdict = iso.check(claim, flips, people, seed=1, random_model=True)
    told = " ".join(verdict.assumptions)
    assert "the model may answer at random, as you said" in told
    assert "same answer" not in told
    assert "alike every time" not in told
    assert "answers the same" not in told


@pytest.mark.parametrize(
    "kind", ["rates", "sampled rates", "principal"]
)  # the others ask a random model other questions
def test_watching_does_not_change_a_verdict(kind):
    claim, people = audits()[kind]
    found = [
        iso.check(claim, lambda t: np.asarray(t["x"]) >= 0.5, people, seed=1, random_model=allowed)
        for allowed in (False, True)
    ]
    for part in ("answer", "samples", "leaves", "expressions", "remarks", "details"):
        assert getattr(found[0], part) == getattr(found[1], part)


def test_a_model_is_watched_behind_its_cache(tmp_path):
    cached = Cached(Fickle(1.0), tmp_path / "a.sqlite", key="1")
    with raises(ChangingModelError, "Fickle"):
        iso.check("P[prediction | sex == 'F'] >= 0.1", cached, iso.Census(PEOPLE))
    session = open_session(cached)
    assert session.cache is not None
    assert session.steady is not None
    assert session.model is cached.model
    assert open_session(session).steady is session.steady


def test_whether_a_model_may_be_random_is_said_by_true_or_false():
    with raises(iso.UsageError, "random_model", "yes"):
        iso.check("P[prediction] >= 0.1", positive, iso.Census(PEOPLE), random_model="yes")


@pytest.mark.parametrize("size", [1, 3, 8, 20])
def test_a_model_that_compares_those_in_a_batch_is_found_before_a_check_can_end(size):
    model = open_session(adapt(lambda table: np.argsort(np.argsort(table["x"])) % 2))

    def ask_nine_times():
        for number in range(9):
            ask(model, batch(size, number), False, True)

    with raises(ChangingModelError):
        ask_nine_times()


def test_a_model_that_looks_at_the_order_of_a_batch_is_found():
    with pytest.raises(ChangingModelError):
        ask(open_session(adapt(lambda table: np.arange(len(table["x"])) % 3)), batch(8), False, True)


def test_a_check_of_a_model_that_compares_those_in_a_batch_ends_with_an_error():
    people = iso.Sample({"x": np.random.default_rng(0).normal(size=4_000)})
    above = lambda table: (table["x"] > np.median(table["x"])).astype(int)  # noqa: E731
    with pytest.raises(ChangingModelError):  # one by one, nobody is above the median: it was said to be violated
        iso.check("P[prediction == 1] >= 0.45", above, people, seed=1)


def test_tables_sent_together_are_joined_by_their_form_and_answered_one_by_one():
    sizes = []

    def parity(table):
        sizes.append(len(table["x"]))
        return np.round(np.asarray(table["x"]) * 1000).astype(int) % 2

    session = open_session(adapt(parity), pool=pool_for(None, 2), watched=False)
    tables = [batch(3), batch(2, start=3), Table.of({"x": np.array([7], dtype=np.float32) / 1000})]
    together = session.together([(table, False, True) for table in tables])
    answers = [together(table, False, True).prediction.tolist() for table in tables]
    assert answers == [[0, 1, 0], [1, 0], [1]]
    assert sum(sizes) == 6
    together(tables[0], False, True)
    together.close()
    assert sum(sizes) == 6


@dataclass
class Notebook:
    entries: dict = field(default_factory=dict)

    def recall(self, key):
        return self.entries.get(key)

    def keep(self, key, make):
        self.entries[key] = make()


def test_recorded_answers_are_given_again_in_their_order_and_some_are_compared_with_the_models():
    notebook = Notebook()
    first = open_session(adapt(positive)).recorded(notebook)
    before = [first(batch(9, start), False, True).prediction.tolist() for start in (0, 9)]
    asked = []
    again = open_session(adapt(lambda table: asked.append(len(table["x"])) or positive(table))).recorded(notebook)
    assert [again(batch(9, start), False, True).prediction.tolist() for start in (0, 9)] == before
    assert not asked
    again(batch(5, 18), False, True)
    assert 5 in asked
    changed = open_session(adapt(lambda table: ~positive(table))).recorded(notebook)
    for start in (0, 9, 18):
        changed(batch(9 if start < 18 else 5, start), False, True)
    with pytest.raises(ChangingModelError):
        changed(batch(4, 23), False, True)
    changed.stop_recording()
    assert len(notebook.entries) == 3
