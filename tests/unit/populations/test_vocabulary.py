"""What names and values of columns give away."""

from __future__ import annotations

import pytest

from isonomia.populations.profile import is_identifier, is_model_answer, is_sure_outcome, words_in


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("YearsAtResidence", ("years", "at", "residence")),
        ("years-at_residence.1", ("years", "at", "residence", "1")),
        ("CreditAmt_geq_1000K", ("credit", "amt", "geq", "1000", "k")),
        ("IQScore", ("iq", "score")),
        ("age", ("age",)),
        ("maritalStatus", ("marital", "status")),
        ("Marital-Status", ("marital", "status")),
        ("ANNÉE_Sexe", ("annee", "sexe")),
        ("Größe", ("grosse",)),
        ("性别", ("性别",)),
        ("", ()),
    ],
)
def test_a_name_is_read_as_words_however_it_is_written(name: str, words: tuple[str, ...]) -> None:
    assert words_in(name) == words


def test_identifiers_outcomes_and_answers_are_told_by_their_names() -> None:
    assert is_identifier("CustomerID")
    assert not is_identifier("idle_hours")
    assert is_sure_outcome("Ground Truth")
    assert not is_sure_outcome("target_price")
    assert is_model_answer("decile_score")
    assert is_model_answer("yPred")
    assert not is_model_answer("grade")
