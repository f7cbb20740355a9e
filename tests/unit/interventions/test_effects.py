"""What comes after an action: noise, causes, and laws of the user's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isonomia.errors import DataError, UsageError
from isonomia.interventions import Causes, Feature, Interventions, Noise, Sampler
from isonomia.populations.causal import Causal
from raising import raises

BILIRUBIN = Feature("bilirubin", "real", 0, 100, actionable=False)
SODIUM = Feature("sodium", "integer", 100, 160, actionable=False)
DRUG = Feature("drug", "binary")
PEOPLE = {"bilirubin": [20.0, 50.0], "sodium": [130, 140], "drug": [0, 0]}


def draws(*effects: Any, n: int = 4_000, features: Any = (BILIRUBIN, SODIUM, DRUG)) -> Any:
    return Interventions(features, effects=effects).reach(PEOPLE).sample(n, np.random.default_rng(3))


def test_noise_has_its_scale_and_does_not_depend_on_the_action() -> None:
    drawn = draws(Noise(("bilirubin",), 0.1, relative=True))
    for person, scale in ((0, 2.0), (1, 5.0)):
        mine = drawn.values[drawn.owner == person]
        for action in (0, 1):
            part = mine[mine[:, 2] == action, 0]
            assert part.mean() == pytest.approx(PEOPLE["bilirubin"][person], abs=5 * scale / np.sqrt(len(part)))
            assert part.std() == pytest.approx(scale, rel=0.1)


def test_noise_is_rounded_kept_in_bounds_and_correlated_as_told() -> None:
    drawn = draws(Noise(("bilirubin", "sodium"), (1.0, 8.0), correlation=((1, 0.8), (0.8, 1))))
    sodium = drawn.values[:, 1]
    assert (sodium == np.round(sodium)).all()
    assert sodium.min() >= 100
    assert sodium.max() <= 160
    mine = drawn.values[drawn.owner == 0]
    assert np.corrcoef(mine[:, 0], mine[:, 1])[0, 1] == pytest.approx(0.8, abs=0.05)
    assert draws(Noise(("sodium",), 30.0, "uniform", keep_bounds=False)).values[:, 1].max() > 160


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"scale": "x"}, "scale of the noise"),
        ({"scale": -1.0}, "at least 0"),
        ({"scale": 1.0, "law": "cauchy"}, "law of the noise"),
        ({"scale": 1.0, "correlation": ((1, 2), (2, 1))}, "positive definite"),
        ({"scale": 1.0, "correlation": ((1, 0), (0, 1)), "law": "uniform"}, "of the normal law"),
    ],
)
def test_noise_that_makes_no_sense_is_refused(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Noise(("bilirubin", "sodium"), **arguments)


def test_a_law_of_ones_own_adds_its_draws_to_what_the_action_made() -> None:
    def relief(before: Any, after: Any, rng: np.random.Generator) -> Any:
        taken = after["drug"] - before["drug"]
        return {"bilirubin": -taken * rng.uniform(1.0, 2.0, len(taken))}

    drawn = draws(Sampler(("bilirubin",), relief, reads=("drug",)))
    change = drawn.values[:, 0] - np.asarray(PEOPLE["bilirubin"])[drawn.owner]
    taken = drawn.values[:, 2] == 1
    assert (change[~taken] == 0).all()
    assert ((change[taken] >= -2) & (change[taken] <= -1)).all()


@pytest.mark.parametrize(
    ("draw", "told"),
    [
        (lambda before, after, rng: {}, "gave nothing"),  # noqa: ARG005
        (lambda before, after, rng: {"bilirubin": np.full(len(after["bilirubin"]), np.nan)}, "not finite"),  # noqa: ARG005
        (lambda before, after, rng: {"bilirubin": 1.0}, "shape"),  # noqa: ARG005
    ],
)
def test_a_law_that_draws_something_else_is_refused(draw: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        draws(Sampler(("bilirubin",), draw))


def test_effects_come_one_after_the_other() -> None:
    def double(before: Any, after: Any, rng: np.random.Generator) -> Any:  # noqa: ARG001
        return {"bilirubin": after["bilirubin"] - before["bilirubin"]}

    plus = Sampler(("bilirubin",), lambda before, after, rng: {"bilirubin": np.ones(len(after["bilirubin"]))})  # noqa: ARG005
    drawn = draws(plus, Sampler(("bilirubin",), double))
    assert np.array_equal(drawn.values[:, 0], np.asarray(PEOPLE["bilirubin"])[drawn.owner] + 2)


CHAIN = Causal({"a": "gaussian(0, 1)", "b": "gaussian(2 * a, 1)", "c": "gaussian(a + b, 1)"})
CHAIN_FEATURES = (
    Feature("a", "real", -9, 9),
    Feature("b", "real", -9, 9, direction="up"),
    Feature("c", "real", -99, 99, actionable=False),
)


def test_causes_keep_each_persons_noise_and_what_they_acted_on() -> None:
    people = {"a": [1.0], "b": [1.5], "c": [4.0]}
    drawn = Interventions(CHAIN_FEATURES, effects=(Causes(CHAIN),)).reach(people).sample(500, np.random.default_rng(0))
    a, b, c = drawn.values.T
    # Acting on both leaves both where they were put; c follows with its own noise, 4 - (1 + 1.5).
    assert c == pytest.approx(a + b + 1.5)
    only_a = Interventions(CHAIN_FEATURES, effects=(Causes(CHAIN),)).only("a").reach(people)
    a, b, c = only_a.sample(500, np.random.default_rng(0)).values.T
    assert b == pytest.approx(2 * a - 0.5)
    assert c == pytest.approx(a + b + 1.5)
    assert a.std() > 1


def test_causes_agree_with_the_causal_models_own_counterfactual() -> None:
    people = {"a": [1.0, -1.0], "b": [1.5, 0.0], "c": [4.0, 0.25]}
    jump = (Feature("a", "real", -9, 9, direction="up", rise=1e-12), *CHAIN_FEATURES[1:])
    sets = Interventions(jump, effects=(Causes(CHAIN),)).only("a").reach(people)
    drawn = sets.sample(1, np.random.default_rng(0))
    expected = CHAIN.counterfactual(people, a=1.0)
    assert drawn.values[0] == pytest.approx([expected.column(name)[0] for name in "abc"])


def test_causes_of_many_people_who_act_on_different_things_are_those_of_each_alone() -> None:
    rng = np.random.default_rng(5)
    a, noise = rng.normal(size=50), rng.normal(size=(2, 50))
    before = {"a": a, "b": 2 * a + noise[0], "c": 3 * a + noise[0] + noise[1]}
    acts = rng.random((3, 50)) < 0.5
    after = {name: before[name] + act * rng.normal(size=50) for name, act in zip("abc", acts, strict=True)}
    found = Causes(CHAIN).respond(CHAIN_FEATURES, before, after, rng)
    b = np.where(acts[1], after["b"], 2 * after["a"] + noise[0])
    c = np.where(acts[2], after["c"], after["a"] + b + noise[1])
    assert found["a"] == pytest.approx(after["a"])
    assert found["b"] == pytest.approx(b)
    assert found["c"] == pytest.approx(c)


def test_who_does_nothing_stays_as_they_are() -> None:
    people = {"a": [1.0], "b": [1.5], "c": [4.0]}
    still = Interventions(CHAIN_FEATURES, effects=(Causes(CHAIN),)).set("*", actionable=False).reach(people)
    assert still.sample(5, np.random.default_rng(0)).values.tolist() == [[1.0, 1.5, 4.0]] * 5


def test_causes_of_categories_follow_by_name() -> None:
    model = Causal({"school": "gaussian(0, 1)", "job": "'boss' if school > 1 else 'clerk'"})
    features = (
        Feature("school", "real", -3, 3),
        Feature("job", "categorical", actionable=False, values=("clerk", "boss")),
    )
    drawn = Interventions(features, effects=(Causes(model),)).reach({"school": [0.0], "job": ["clerk"]})
    table = drawn.sample(200, np.random.default_rng(0)).table()
    assert np.array_equal(table.column("job") == "boss", table.column("school") > 1)


def test_a_person_whom_the_causal_model_cannot_have_made_is_refused() -> None:
    model = Causal({"a": "gaussian(0, 1)", "b": "2 * a"})
    features = (Feature("a", "real", -9, 9), Feature("b", "real", -99, 99, actionable=False))
    sets = Interventions(features, effects=(Causes(model),)).reach({"a": [1.0], "b": [3.0]})
    with raises(DataError, "b", 0, 3.0):
        sets.sample(3, np.random.default_rng(0))


def test_every_variable_of_a_causal_model_must_be_a_feature() -> None:
    with raises(UsageError, name="b"):
        Interventions((Feature("a", "real", -9, 9),), effects=(Causes(Causal({"a": "gaussian(0, 1)", "b": "a"})),))


def test_a_set_with_effects_says_that_chance_plays_a_part() -> None:
    assert Interventions((DRUG,), effects=(Noise(("drug",), 0.1),)).reach({"drug": [0]}).by_chance
    assert not Interventions((DRUG,)).reach({"drug": [0]}).by_chance


def test_a_law_that_cannot_be_called_is_refused() -> None:
    with raises(UsageError, 3, name="draw"):
        Sampler(("sodium",), 3)  # type: ignore[arg-type]


def test_a_whole_number_that_responds_becomes_what_the_model_says() -> None:
    model = Causal({"a": "gaussian(0, 1)", "b": "a / 2 + gaussian(0, 1)"})
    before = {"a": np.asarray([0.0, 0.0]), "b": np.asarray([1, 1])}
    after = {"a": np.asarray([1.0, 0.0]), "b": np.asarray([1, 1])}
    ended = Causes(model).respond((), before, after, np.random.default_rng(0))
    assert ended["b"].tolist() == [1.5, 1.0]


def test_effects_are_added_and_their_model_is_part_of_what_was_said() -> None:
    features = (Feature("a", "real", -5, 5), Feature("b", "real", -5, 5))
    plain = Interventions(features)
    one, other = (Causes(Causal({"a": "gaussian(0, 1)", "b": f"{k} * a + gaussian(0, 1)"})) for k in (1, 2))
    assert plain.affect(one).effects == (one,)
    assert len({plain.fingerprint(), plain.affect(one).fingerprint(), plain.affect(other).fingerprint()}) == 3
    assert plain.affect(one).fingerprint() == Interventions(features, effects=(one,)).fingerprint()
