"""Linkages of at least or at most so much narrow where targets can go, before anything is listed or proposed."""

from __future__ import annotations

from itertools import product
from typing import Literal

import numpy as np
import pytest

from isonomia.interventions import Feature, Interventions, Linkage
from isonomia.interventions.parts import ListedPoints, RejectionPart

POSTS = Feature("posts", "integer", 0, 35_000, direction="up", rise=100)
LINKS = Feature("links", "integer", 0, 13_013, actionable=False)
CAMPAIGN = Interventions((POSTS, LINKS), (Linkage("posts", ("links",), sense="<="),))


def test_effects_of_at_most_so_much_are_listed_though_their_bound_is_far() -> None:
    sets = CAMPAIGN.reach({"posts": [0, 5, 34_999], "links": [0, 3, 13_013]})
    assert sets.counts().tolist() == [sum(range(1, 102)), sum(range(1, 102)), 2]


def test_real_effects_of_at_most_so_much_are_proposed_where_they_can_be() -> None:
    real = Interventions(
        (Feature("posts", "real", 0, 35_000, direction="up", rise=100), Feature("links", "real", 0, 13_013)),
        (),
    ).set("links", actionable=False)
    sets = real.constrain(*CAMPAIGN.constraints).reach({"posts": [5.0], "links": [3.0]})
    assert isinstance(
        sets.parts[0], RejectionPart
    )  # and not cut into polytopes, as a block that is nearly empty would be
    drawn = sets.sample(2_000, np.random.default_rng(0)).values - [5.0, 3.0]
    assert ((drawn[:, 1] >= 0) & (drawn[:, 1] <= drawn[:, 0]) & (drawn[:, 0] <= 100)).all()
    assert abs(drawn[:, 0].mean() - 50) < 5 * (100 / 12**0.5) / 2_000**0.5  # an action is uniform, whatever may follow
    assert abs((drawn[:, 1] / drawn[:, 0]).mean() - 0.5) < 5 / 12**0.5 / 2_000**0.5


@pytest.mark.parametrize("sense", ["<=", ">="])
@pytest.mark.parametrize("scale", [1.0, 2.0, -1.0, 0.5])
def test_what_is_listed_is_what_the_definition_says(sense: Literal["<=", ">="], scale: float) -> None:
    features = (Feature("a", "integer", 0, 6), Feature("b", "integer", 0, 9, actionable=False))
    rules = Interventions(features, (Linkage("a", ("b",), (scale,), sense),))
    for start in ((3, 4), (0, 9), (6, 0)):
        expected = set()
        for a, b in product(range(7), range(10)):
            push, effect = scale * (a - start[0]), b - start[1]
            size = effect * np.sign(push)
            fits = (0 <= size <= abs(push)) if sense == "<=" else size >= abs(push)
            if (push == 0 and effect == 0) or (push != 0 and fits):
                expected.add((a, b))
        points = rules.reach({"a": [start[0]], "b": [start[1]]}).points().values
        assert {tuple(point) for point in points.astype(int).tolist()} == expected


def test_people_whose_points_would_not_fit_together_are_drawn_from() -> None:
    many, few = ({"posts": np.arange(count), "links": np.zeros(count, dtype=int)} for count in (1_500, 20))
    sets = CAMPAIGN.reach(many)
    # A few proposals tell how many points a person has, so that chance lists some all the same.
    assert sum(len(part.rows) for part in sets.parts if isinstance(part, RejectionPart)) > 1_400
    drawn = sets.sample(5, np.random.default_rng(0))
    rise = drawn.values - np.column_stack([many["posts"], many["links"]])[drawn.owner]
    assert ((rise[:, 1] >= 0) & (rise[:, 1] <= rise[:, 0]) & (rise[:, 0] <= 100)).all()
    assert {type(part) for part in CAMPAIGN.reach(few).parts} == {ListedPoints}
