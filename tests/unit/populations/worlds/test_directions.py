"""Which conditions can be met by drawing from within them, and what the bound on the weights is."""

import numpy as np
import pytest
from scipy import stats

from isonomia import Categories, Causal, Program
from isonomia.populations.worlds.source import direction_for, stream_remarks, streams_for
from isonomia.spec.parser import parse_condition

TEXT = """
def popModel():
    sex = step([(0, 1, 0.3307), (1, 2, 0.6693)])
    luck = gaussian(1, 4)
    twice = gaussian(0, 1)
    twice = twice + 1
    if sex < 1:
        age = gaussian(30, 25)
        pay = step([(0, 10, 0.9), (10, 20, 0.1)])
    else:
        age = step([(0, 40, 0.5), (50, 90, 0.5)])
        pay = step([(0, 10, 1)])
    shifted = gaussian(sex, 1)
    young = age < 20
    odd = sex < 1 or luck > 3
    lucky = 3 < luck <= 5
    unlucky = not lucky
    fate = luck < 0
    unfortunate = fate
    sensitiveAttribute(sex < 1)
    qualified(luck > -luck)
def F():
    t = age > shifted
    fairnessTarget(t)
"""
WORLD = Program.of(TEXT).world
CAUSAL = Causal(
    {
        "sex": Categories({"F": 0.2, "M": 0.5, "X": 0.3}),
        "rank": Categories({1: 0.25, 2: 0.75}),
        "age": "gaussian(30, 25)",
        "old": "age > 40",
        "pay": "gaussian(10, 1) if sex == 'F' else 5",
        "height": lambda noise: noise,
    }
).world
NORMAL = stats.norm(1, 2)
AGE = stats.norm(30, 5)


@pytest.mark.parametrize(
    ("condition", "most"),
    [
        ("sex < 1", 0.3307),
        ("1 > sex", 0.3307),
        ("not (sex >= 1)", 0.3307),
        ("minority", 0.3307),
        ("minority == true", 0.3307),
        ("minority == false", 0.6693),
        ("minority != true", 0.6693),
        ("not minority", 0.6693),
        ("unfortunate", NORMAL.cdf(0)),
        ("lucky", NORMAL.cdf(5) - NORMAL.cdf(3)),
        ("unlucky", 1 - NORMAL.cdf(5) + NORMAL.cdf(3)),
        ("luck > 3 and luck < 5", NORMAL.cdf(5) - NORMAL.cdf(3)),
        ("luck < -3 or luck > 9", NORMAL.cdf(-3) + NORMAL.sf(9)),
        ("luck > 3 and sex < 1", 0.3307 * NORMAL.sf(3)),
        ("luck > 3 and target", NORMAL.sf(3)),
    ],
)
def test_a_variable_drawn_once_for_everybody_is_directed_exactly(condition, most):
    direction = direction_for(WORLD, parse_condition(condition))
    assert direction.exact
    assert direction.max_weight == pytest.approx(most, rel=1e-12)


@pytest.mark.parametrize(
    ("condition", "most"),
    [
        ("age > 40", 0.5),
        ("young", 0.25),
        ("pay > 15", 0.05),
        ("pay > 15 and sex < 1", 0.05 * 0.3307),
        ("age < 10 and pay > 15", 0.125 * 0.05),
    ],
)
def test_a_variable_drawn_in_branches_is_directed_with_the_largest_mass_as_bound(condition, most):
    direction = direction_for(WORLD, parse_condition(condition))
    assert not direction.exact
    assert direction.max_weight == pytest.approx(most, rel=1e-9)


@pytest.mark.parametrize(
    ("condition", "most"),
    [
        ("sex == 'F'", 0.2),
        ("sex != 'F'", 0.8),
        ("not (sex == 'F')", 0.8),
        ("sex in {'F', 'X'}", 0.5),
        ("sex not in {'F', 'X'}", 0.5),
        ("sex == 'F' or sex == 'X'", 0.5),
        ("rank == 1", 0.25),
        ("old", AGE.sf(40)),
        ("sex != 'F' and old", 0.8 * AGE.sf(40)),
        ("sex == 'F' and pay > 0", 0.2),
    ],
)
def test_categories_and_truths_of_a_causal_model_are_directed(condition, most):
    direction = direction_for(CAUSAL, parse_condition(condition))
    assert direction.exact
    assert direction.max_weight == pytest.approx(most, rel=1e-9)


@pytest.mark.parametrize(
    "condition",
    [
        "twice > 3",
        "shifted > 3",
        "odd",
        "sex < luck",
        "sex == 1",
        "sex < 1 or luck > 3",
        "qualified",
        "target",
        "sex + luck > 3",
        "luck < 1 and luck > 1",
        "luck > 1000",
        "other.sex < 1",
        "do(sex = 0).age > 90",
        "prediction == 1",
    ],
)
def test_what_cannot_be_directed_is_not(condition):
    assert direction_for(WORLD, parse_condition(condition)) is None


@pytest.mark.parametrize("condition", ["sex == 'Y'", "sex == 1", "pay > 12", "height > 3", "sex < 'G'", "age == 30"])
def test_what_cannot_be_directed_in_a_causal_model_is_not(condition):
    assert direction_for(CAUSAL, parse_condition(condition)) is None


def test_everybody_needs_no_direction():
    assert direction_for(WORLD, None) is None


@pytest.mark.parametrize(
    "condition", ["age > 40", "pay > 15 and luck > 3", "age < 10 and pay > 15", "young and minority"]
)
def test_no_weight_is_above_the_bound(condition):
    direction = direction_for(WORLD, parse_condition(condition))
    drawn = WORLD.draw(5_000, np.random.default_rng(0), WORLD.names, {}, direction.directed)
    assert drawn.weights.max() <= direction.max_weight * (1 + 1e-12)


@pytest.mark.parametrize("condition", ["age > 40", "pay > 15 and luck > 3", "young"])
def test_the_bound_is_reached_where_one_variable_is_drawn_in_branches(condition):
    direction = direction_for(WORLD, parse_condition(condition))
    drawn = WORLD.draw(5_000, np.random.default_rng(0), WORLD.names, {}, direction.directed)
    assert drawn.weights.max() == pytest.approx(direction.max_weight, rel=1e-12)


def test_groups_share_one_stream_unless_one_of_them_is_rare():
    minority, lucky, target = map(parse_condition, ["minority", "luck > 9", "target"])
    assert streams_for(WORLD, [minority, target]) == (None,)
    streams = streams_for(WORLD, [minority, lucky, target, None])
    assert [stream and stream.condition for stream in streams] == [lucky, minority, None]
    assert [stream.condition for stream in streams_for(WORLD, [minority, lucky])] == [lucky, minority]


def test_how_each_stream_is_drawn_is_told():
    assert stream_remarks((None,)) == ()
    exact, weighted = (direction_for(WORLD, parse_condition(text)) for text in ("luck > 9", "pay > 15"))
    lines = stream_remarks((exact, weighted, None))
    assert lines[0] == "people with luck > 9 are drawn directly, luck being drawn under the condition"
    assert "accepted in proportion to its probability for them" in lines[1]
    assert lines[2] == "other people are drawn from the whole population"
