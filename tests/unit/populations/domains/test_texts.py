"""Texts of named sections: features, functions, and what the model is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import DataError, UsageError
from isonomia.populations.domains import TableDomain, Texts
from raising import raises

REVIEWS = {
    "positive": ["clean and quiet", "No Positive", "good breakfast", None],
    "negative": ["", "dirty", "No Negative ", "loud"],
}
LABELS = [0, 1, 0, 1]


def reviews(**options: Any) -> TableDomain:
    return Texts(REVIEWS, LABELS, missing=("No Positive", "No Negative"), **options)


def everything(domain: TableDomain) -> Any:
    return domain.inputs(np.arange(domain.size))


def given(domain: TableDomain, records: Any = None) -> list[str]:
    texts: list[str] = domain.table(everything(domain) if records is None else records).native
    return texts


def column(*values: Any) -> Any:
    return np.array(values, dtype=object)


def test_the_model_is_given_one_text_a_document_its_sections_in_order() -> None:
    assert given(reviews()) == ["clean and quiet", "dirty", "good breakfast", "loud"]
    assert given(reviews(sections=["negative", "positive"], join=" / "))[0] == "clean and quiet"
    both = Texts({"a": ["x"], "b": ["y"]}, join=" / ")
    assert given(both) == ["x / y"]


def test_sections_come_in_columns_on_request_without_the_labels() -> None:
    table = reviews(as_table=True).table(everything(reviews()))
    assert table.names == ("positive", "negative")
    assert table.column("negative").tolist() == ["", "dirty", None, "loud"]


def test_markers_of_missing_sections_are_missing_sections() -> None:
    domain = reviews()
    assert domain.get(everything(domain), "positive")[0].tolist() == ["clean and quiet", None, "good breakfast", None]


def test_a_section_has_a_name_and_a_number() -> None:
    domain = reviews()
    assert domain.feature(1) == domain.feature("f1") == domain.feature("negative") == "negative"
    assert domain.kind("negative") == "text"
    with raises(DataError, "negativ", meant="negative"):
        domain.feature("negativ")


def test_labels_are_known_and_may_be_a_column() -> None:
    assert reviews().label(everything(reviews())).tolist() == LABELS
    named = Texts({"text": ["a", "b"], "score": [1, 2]}, "score")
    assert named.label(everything(named)).tolist() == [1, 2]
    assert named.columns == ("text",)


def test_a_list_of_texts_has_one_section() -> None:
    domain = Texts(["one", "two"])
    assert given(domain) == ["one", "two"]
    assert domain.columns == ("text",)


def test_deleting_appending_and_swapping_sections() -> None:
    domain, call = reviews(), reviews().functions
    records = everything(domain)
    sections = column("negative", "negative", "positive", "positive")
    assert given(domain, call["delete"].call(records, sections)) == ["clean and quiet", "", "", "loud"]
    more = call["append"].call(records, sections, column("slow", "slow", "staff", "staff"))
    assert given(domain, more) == ["clean and quiet slow", "dirty slow", "good breakfast staff", "staff loud"]
    swapped = call["swap"].call(records, column(*["positive"] * 4), column(*[1] * 4))
    assert domain.get(swapped, "negative")[0].tolist() == ["clean and quiet", None, "good breakfast", None]
    assert domain.get(swapped, "positive")[0].tolist() == ["", "dirty", None, "loud"]
    assert given(domain, call["upper"].call(records))[0] == "CLEAN AND QUIET"
    assert given(domain) == given(reviews())  # the old records are left alone


def test_a_typo_exchanges_two_neighbouring_letters_and_depends_on_its_seed_only() -> None:
    domain = Texts(["abc def", "aaa", "12 34", "hello world"])
    records, none = domain.functions["typo"].call(everything(domain), np.array([1, 2, 3, 4]))
    made = given(domain, records)
    assert none.tolist() == [False, True, True, False]
    for before, after in zip(["abc def", "hello world"], [made[0], made[3]], strict=True):
        assert sorted(before) == sorted(after)
        places = [i for i, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
        assert len(places) == 2
        assert places[1] == places[0] + 1
    alone, _ = domain.functions["typo"].call(domain.inputs(np.array([3])), np.array([4]))
    assert given(domain, alone) == [made[3]]


def test_shuffling_keeps_the_words() -> None:
    domain = Texts({"a": ["one two three four five", "one"], "b": ["left as it is", "too"]})
    records, none = domain.functions["shuffle"].call(everything(domain), column("a", "a"), np.array([1, 1]))
    made = domain.get(records, "a")[0][0]
    assert none.tolist() == [False, True]
    assert made != "one two three four five"
    assert sorted(made.split()) == ["five", "four", "one", "three", "two"]
    assert domain.get(records, "b")[0].tolist() == ["left as it is", "too"]


def test_texts_are_shown_and_restored() -> None:
    domain = reviews()
    records = domain.functions["delete"].call(everything(domain), column(*["positive"] * 4))
    shown = [domain.show(records, index) for index in range(4)]
    assert shown[1] == {"positive": None, "negative": "dirty", "label": 1}
    assert domain.equal(domain.restore(shown), records).all()
    assert domain.unique(everything(domain)) is not None
    assert domain.unique(records) is None


@pytest.mark.parametrize(
    ("before", "after", "characters"),
    [("abcdef", "abcdef", 0), ("abcdef", "abcxef", 1), ("abc", "abcdef", 3), ("abab", "ab", 2), ("ab", None, 2)],
)
def test_distance_is_the_stretch_that_was_replaced(before: str, after: str | None, characters: int) -> None:
    domain = Texts({"a": [before, "x" * 10]})
    left = domain.inputs(np.array([0]))
    right, _ = domain.set(left, "a", column(after))
    count, far = domain.distance(left, right)
    assert count.tolist() == [float(characters > 0)]
    assert far.tolist() == [pytest.approx(characters / 10)]


def test_what_is_no_text_is_refused() -> None:
    with raises(DataError, "a", 1, 3):
        Texts([{"a": "x", "b": "y"}, {"a": 3, "b": "z"}])
    with raises(DataError, name="texts"):
        Texts([])
    with raises(DataError, 2, 1, "texts"):
        Texts(["a", "b"], [1])
    with raises(UsageError, "sections"):
        Texts({"a": ["x"]}, sections="a")


def test_what_is_no_text_cannot_be_rewritten() -> None:
    with raises(DataError, name="upper"):
        reviews().functions["upper"].call(column("a"))


def test_a_section_that_does_not_exist_is_named_in_the_error() -> None:
    prop = iso.safety.property(
        'input x1; var x2 := delete(x1, "negatve"); output d; { d = predict(x2) } ensures d == 1;'
    )
    with raises(DataError, meant="negative"):
        iso.check(prop, lambda texts: np.ones(len(texts), int), reviews(), seed=1)


def test_a_real_pipeline_is_checked_on_deleting_what_was_liked() -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    liked, disliked = ["clean", "quiet", "kind staff", "good food"], ["dirty", "loud", "rude staff", "cold food"]
    texts = [f"{one} {other}" for one in liked for other in liked] + [f"{a} {b}" for a in disliked for b in disliked]
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, [0] * 16 + [1] * 16)
    domain = Texts({"positive": [f"{text} {text}" for text in liked], "negative": disliked})
    text = """input x1; var x2 := delete(x1, "{section}"); output d1; output d2;
    {{ d1 = predict(x1)
      d2 = predict(x2) }}
    ensures {ensures};"""
    fine = iso.safety.property(text.format(section="positive", ensures="d1 <= d2"))
    assert iso.check(fine, model, domain, seed=1).answer == "holds"
    wrong = iso.check(iso.safety.property(text.format(section="positive", ensures="d2 <= d1")), model, domain, seed=1)
    assert wrong.answer == "violated"
    assert wrong.counterexamples[0]["differs"]["x2"]["positive"][1] is None
