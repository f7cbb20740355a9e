from __future__ import annotations

import pickle

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import DataError, SpecError, UsageError
from isonomia.populations import Generator
from raising import raises

SEED = np.random.SeedSequence(1)


def people(n, rng):
    return {"sex": rng.choice(["F", "M"], n), "age": rng.integers(18, 22, n)}


def women(n, rng):
    return {"sex": np.full(n, "F"), "age": rng.integers(18, 22, n)}


def men(n, rng):
    return {"age": rng.integers(20, 24, n), "sex": np.full(n, "M")}


def rng():
    return np.random.default_rng(0)


def test_a_batch_depends_on_its_own_randomness_only():
    source = Generator(people).open(SEED)
    first = source.batch(0, 50, rng()).column("age")
    assert first.tolist() == source.batch(50, 50, rng()).column("age").tolist()
    assert first.tolist() != source.batch(0, 50, np.random.default_rng(1)).column("age").tolist()


def test_names_and_values_are_found_by_pilot_draws():
    generator = Generator(people)
    assert generator.names == ("sex", "age")
    assert generator.values("sex") == ("F", "M")
    assert generator.values("age") == (18, 19, 20, 21)
    assert generator.size is None


def test_declared_values_are_sorted_and_come_without_a_draw():
    def fail(*_):
        raise AssertionError

    assert Generator(fail, values={"race": ["B", "A"]}, names=["race"]).values("race") == ("A", "B")


def test_names_given_to_arrays_are_used():
    generator = Generator(lambda n, rng: rng.random((n, 2)), names=["a", "b"])
    assert generator.open(SEED).batch(0, 3, rng()).names == ("a", "b")
    assert Generator(lambda n, rng: rng.random((n, 2))).names == ("x0", "x1")


def test_streams_are_drawn_separately_and_carry_their_conditions():
    generator = Generator({"sex == 'F'": women, "sex == 'M'": men})
    assert len(generator.streams) == 2
    assert all(condition is not None for condition in generator.streams)
    source = generator.open(SEED)
    assert set(source.batch(0, 9, rng(), 0).column("sex")) == {"F"}
    assert set(source.batch(0, 9, rng(), 1).column("sex")) == {"M"}
    assert generator.values("sex") == ("F", "M")
    assert generator.values("age") == (18, 19, 20, 21, 22, 23)
    assert generator.assumptions == (
        "women gives independent draws from the people with sex == 'F'",
        "men gives independent draws from the people with sex == 'M'",
    )


def test_a_single_draw_has_one_stream_without_condition():
    assert Generator(people).streams == (None,)
    assert Generator(people).assumptions == ("people gives independent draws from the population",)


def test_a_condition_that_cannot_be_read_is_refused():
    with pytest.raises(SpecError):
        Generator({"sex ==": women})


def test_streams_must_have_the_same_columns():
    generator = Generator({"sex == 'F'": women, "sex == 'M'": lambda n, _: {"sex": np.full(n, "M")}})
    with raises(DataError, ("sex", "age"), "test_streams_must_have_the_same_columns.<lambda>"):
        generator.open(SEED)


def failing(n, rng):
    if n > 16:
        raise ValueError("no more people")
    return people(n, rng)


def short(n, rng):
    return people(n if n <= 16 else n - 1, rng)


def no_table(n, rng):
    return people(n, rng) if n <= 16 else "people"


def narrow(n, rng):
    return people(n, rng) if n <= 16 else {"sex": np.full(n, "F")}


@pytest.mark.parametrize(
    ("draw", "shown"),
    [
        (failing, [20, "ValueError"]),
        (short, [20, 19]),
        (no_table, [20, "str", "people"]),
        (narrow, ["age"]),
    ],
)
def test_a_bad_draw_is_refused_by_name(draw, shown):
    source = Generator(draw).open(SEED)
    with raises(DataError, *shown, name=draw.__name__):
        source.batch(0, 20, rng())


def test_the_error_of_a_draw_is_kept_as_the_cause():
    with pytest.raises(DataError) as caught:
        Generator(failing).open(SEED).batch(0, 20, rng())
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("draw", [3, {}, {"sex == 'F'": 3}, {1: people}])
def test_what_cannot_draw_is_refused(draw):
    with raises(UsageError, name="draw"):
        Generator(draw)


def test_an_unknown_column_has_no_values():
    with raises(DataError, "sexx", meant="sex"):
        Generator(people).values("sexx")
    with raises(UsageError, "sex", "FM", name="values"):
        Generator(people, values={"sex": "FM"})


def test_a_generator_and_its_source_survive_pickling():
    generator = pickle.loads(pickle.dumps(Generator(people)))
    source = pickle.loads(pickle.dumps(generator.open(SEED)))
    assert source.batch(0, 3, rng()).rows == 3


def test_the_fingerprint_tells_draws_and_conditions_apart():
    assert Generator(people).fingerprint() == Generator(people).fingerprint()
    assert Generator(people).fingerprint() != Generator(women).fingerprint()
    assert Generator(women).fingerprint() != Generator({"sex == 'F'": women}).fingerprint()


def test_a_condition_on_a_column_that_the_draws_lack_is_refused():
    def ages(n, rng):
        return {"age": rng.integers(18, 90, n)}

    people = iso.Generator(ages, given={"agee > 80": ages})
    with raises(DataError, "agee", 80, meant="age"):
        iso.check("P[age > 85 | age > 80] >= 0.1", population=people, seed=1)


def test_a_draw_that_always_gives_the_same_people_is_refused():
    def same(n, _):
        own = np.random.default_rng(12)
        return {"y": own.random(n) < 0.5}

    # Their first draws are luckier than most, so that a claim that is wrong would hold at any risk.
    with raises(DataError, 4096, "rng"):
        iso.check("P[y] >= 0.52", population=Generator(same), delta=1e-6, seed=1, budget=10_000)


def test_a_law_of_one_person_and_a_rare_event_are_drawn_from():
    assert iso.check("P[y] >= 0.9", population=Generator(lambda n, _: {"y": np.ones(n, bool)}), seed=1).holds
    assert iso.check("P[y] <= 0.1", population=Generator(lambda n, rng: {"y": rng.random(n) < 1e-4}), seed=1).holds


def test_a_draw_that_depends_on_its_calls_is_named_among_the_assumptions():
    calls = iter(range(10**6))

    def alternating(n, _):
        return {"y": np.full(n, next(calls) % 2 == 0)}

    verdict = iso.check("P[y] >= 0.4", population=Generator(alternating), seed=1, budget=1_000)
    assert any("how often it was called" in text for text in verdict.assumptions)
    steady = iso.check("P[age > 19] >= 0.4", population=Generator(people), seed=1)
    assert not any("how often it was called" in text for text in steady.assumptions)
