"""Prompts with slots: every combination, once, with the group and the text of each slot as columns."""

from __future__ import annotations

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import UsageError
from raising import raises

NAMES = {"group a": ["Emily", "Anne"], "group b": ["Lakisha", "Tamika", "Ebony"]}
SLOTS = {"name": NAMES, "job": ["nurse", "cook"]}


def test_every_combination_comes_once_with_group_and_text():
    table = iso.Prompts("Is {name} suited for {job}? {{yes}}", SLOTS).table
    assert table.names == ("prompt", "name", "name_text", "job")
    assert table.rows == 10
    rows = set(zip(*(table.column(name) for name in table.names), strict=True))
    assert rows == {
        (f"Is {text} suited for {job}? {{yes}}", group, text, job)
        for group, texts in NAMES.items()
        for text in texts
        for job in SLOTS["job"]
    }


def test_bias_across_names_is_one_line():
    prompts = iso.Prompts("Is {name} suited for {job}?", SLOTS)
    verdict = iso.check(
        "P[prediction | name == 'group a'] - P[prediction | name == 'group b'] <= 0.2",
        lambda table: np.array(["Lakisha" not in text for text in table["prompt"]]),
        prompts,
    )
    assert (verdict.answer, verdict.method) == ("violated", "exact")
    assert verdict.headline.estimate == pytest.approx(1 / 3)


def test_prompts_come_in_random_order_unless_all_are_sent():
    prompts = [
        iso.Prompts("{name}", {"name": [f"n{i}" for i in range(50)]}, exact=exact)
        .open(np.random.SeedSequence(1))
        .batch(0, 50, np.random.default_rng(0))
        .column("name")
        .tolist()
        for exact in (False, True)
    ]
    assert prompts[0] != prompts[1]
    assert sorted(prompts[0]) == sorted(prompts[1])


def test_draws_give_every_prompt_with_equal_probability():
    draws = iso.Prompts("{name}, {job}", SLOTS).draws()
    drawn = draws.open(np.random.SeedSequence(1)).batch(0, 20_000, np.random.default_rng(5))
    texts, counts = np.unique(drawn.column("prompt").astype(str), return_counts=True)
    assert len(texts) == 10
    assert abs(counts - 2000).max() < 5 * np.sqrt(2000)
    assert draws.values("name") == ("group a", "group b")
    assert draws.fingerprint() == iso.Prompts("{name}, {job}", SLOTS).draws().fingerprint()
    assert draws.fingerprint() != iso.Prompts("{name}; {job}", SLOTS).draws().fingerprint()
    assert iso.check("P[job == 'nurse'] >= 0.4", population=draws, seed=1).answer == "holds"


def test_texts_with_braces_stay_what_they_are():
    assert iso.Prompts("{x}!", {"x": ["{job}", "{{"]}).table.column("prompt").tolist() == ["{job}!", "{{!"]


@pytest.mark.parametrize(
    ("template", "slots"),
    [
        ("{name}", {}),
        ("{name}", {"name": []}),
        ("{name}", {"name": {}}),
        ("{name}", {"name": {"a": []}}),
        ("{name}", {"name": {"a": "Emily"}}),
        ("{name}", {"name": "Emily"}),
        ("{name}", {"name": ["Emily", "Emily"]}),
        ("{name}", {"name": [""]}),
        ("{name}", {"name": [1]}),
        ("{name}", {"name": {1: ["Emily"]}}),
        ("{name}", {"name": ["a"], "job": ["b"]}),
        ("{name} {job}", {"name": ["a"]}),
        ("{prompt}", {"prompt": ["a"]}),
        ("{a} {a_text}", {"a": {"g": ["x"]}, "a_text": ["y"]}),
        ("{a} {b} {c}", {slot: [str(i) for i in range(200)] for slot in "abc"}),
    ],
)
def test_slots_without_sense_are_refused(template, slots):
    with raises(UsageError, name="slots"):
        iso.Prompts(template, slots)


def test_a_template_without_sense_is_refused():
    with raises(UsageError, name="template"):
        iso.Prompts("{name:>9}", {"name": ["a"]})
    with raises(UsageError, meant="name"):
        iso.Prompts("{nam}", {"name": ["a"]})
