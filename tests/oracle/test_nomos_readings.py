"""The k-safety paper's policy and its hotel reviews are read rightly."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.nomos_harder import DATA
from benchmarks.nomos_properties import as_published

from benchmarks import nomos_games, nomos_reviews

lander = pytest.mark.skipif(not (DATA / "nomos").exists(), reason="the k-safety data are not here; set ISONOMIA_DATA")
hotels = pytest.mark.skipif(not nomos_reviews.FOLDER.exists(), reason="the reviews are not here; set ISONOMIA_DATA")


@lander
def test_the_policy_earns_what_it_is_said_to_earn() -> None:
    pytest.importorskip("Box2D", reason="LunarLander needs gymnasium[box2d], which is not installed")
    # Rewards of single games have a standard deviation of about 100, so that the mean of 80 is off by 11.
    assert nomos_games.mean_reward(80) == pytest.approx(196, abs=45)


@lander
def test_with_the_mistakes_of_the_published_program_german_credit_has_its_published_figures() -> None:
    rows = as_published()
    assert len(rows) == 16
    # The paper's are means of a few runs, each with a standard deviation of up to 5.
    assert all(abs(its - paper) <= 0.6 for *_, its, paper in rows)
    assert sum(abs(right - paper) > 2.0 for _, _, right, _, paper in rows) == 7


@hotels
def test_every_review_has_its_own_two_sections() -> None:
    reviews = nomos_reviews.read()  # which checks that all numbers of words agree
    assert len(reviews.positive) == len(reviews.negative) == len(reviews.labels) == 5561
    assert reviews.positive[0] == " Only the park outside of the hotel was beautiful "
    assert reviews.negative[0].startswith(" I am so angry that i made this post")
    assert reviews.labels[:2].tolist() == [1, 0]  # scores 2.9 and 7.5
    domain = reviews.domain()
    missing = np.array([text is None for text in domain.get(domain.inputs(np.arange(5561)), "negative")[0]])
    assert missing[1]
    assert 0.1 < missing.mean() < 0.4


@hotels
def test_reviews_to_learn_from_and_to_test_with_are_different() -> None:
    reviews = nomos_reviews.read()
    learn, held_out = nomos_reviews.split(reviews)
    assert len(learn.labels) + len(held_out.labels) == 5561
    both = set(zip(learn.positive, learn.negative, strict=True)) & set(
        zip(held_out.positive, held_out.negative, strict=True)
    )
    assert len(both) < 30  # a few guests wrote the same few words
