"""One suite that every model must pass, over every kind of table."""

from __future__ import annotations

import pickle
import re
from concurrent.futures import ThreadPoolExecutor

import contract_cases
import contract_files
import contract_networks
import numpy as np
import pytest
from contract_people import FRAME, TABLES, N

from isonomia.errors import ModelError
from isonomia.models import ask, describe
from isonomia.populations import Table
from raising import raises

CASES = {**contract_cases.CASES, **contract_files.CASES, **contract_networks.CASES}


@pytest.fixture(scope="module", params=CASES)
def case(request, tmp_path_factory):
    found = CASES[request.param]
    for package in found.needs:
        pytest.importorskip(package, reason=f"{package} is not installed")
    return found.make(tmp_path_factory.mktemp("model")), found


@pytest.fixture(params=TABLES)
def table(request):
    return Table.of(TABLES[request.param]())


def same_predictions(one, other):
    if np.asarray(one).dtype.kind == "f":
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    else:
        assert np.asarray(one).tolist() == np.asarray(other).tolist()


def test_a_model_answers_once_for_every_row(case, table):
    model, known = case
    answer = ask(model, table, want_score=known.scores, want_prediction=True)
    assert answer.prediction.shape == (N,)
    if known.scores:
        assert answer.score.dtype == np.float64
        assert answer.score.shape in {(N,), (N, len(answer.classes))}


def test_a_model_answers_as_its_own_library_does(case):
    model, known = case
    prediction, score = known.expected()
    answer = ask(model, Table.of(FRAME), known.scores, True)
    same_predictions(answer.prediction, prediction)
    if known.scores:
        np.testing.assert_allclose(answer.score, score, atol=known.tolerance, rtol=known.tolerance)


def test_the_order_of_columns_does_not_change_the_answer(case):
    model, known = case
    table = Table.of(FRAME)
    turned = ask(model, table.select(["age", "sex", "debt"]), known.scores, True)
    straight = ask(model, table, known.scores, True)
    assert turned.prediction.tolist() == straight.prediction.tolist()
    if known.scores:
        np.testing.assert_array_equal(turned.score, straight.score)


def test_the_kind_of_table_does_not_change_the_answer(case, table):
    model, known = case
    reference = ask(model, Table.of(FRAME), known.scores, True)
    answer = ask(model, table, known.scores, True)
    assert answer.classes == reference.classes
    same_predictions(answer.prediction, reference.prediction)
    if known.scores:
        np.testing.assert_allclose(answer.score, reference.score)


def test_a_batch_gets_the_answers_of_its_rows(case, table):
    model, known = case
    whole = ask(model, table, known.scores, True)
    indices = np.array([50, 3, 77], dtype=np.intp)
    part = ask(model, table.take(indices), known.scores, True)
    if known.scores:
        np.testing.assert_allclose(part.score, whole.score[indices], rtol=1e-5)
    if whole.prediction.dtype.kind == "f":
        np.testing.assert_allclose(part.prediction, whole.prediction[indices], rtol=1e-5)
    else:
        assert part.prediction.tolist() == whole.prediction[indices].tolist()


def test_threads_that_ask_at_once_get_the_answers_of_one(case):
    model, known = case
    table = Table.of(FRAME)
    alone = ask(model, table, known.scores, True)
    edges = [(0, 40), (40, 80), (80, N), (0, N)] * 3
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda edge: ask(model, table.slice(*edge), known.scores, True), edges))
    for (start, stop), answer in zip(edges, answers, strict=True):
        same_predictions(answer.prediction, alone.prediction[start:stop])
        if known.scores:
            np.testing.assert_allclose(answer.score, alone.score[start:stop], rtol=1e-5)


def test_asking_for_one_thing_gives_the_same_as_asking_for_both(case, table):
    model, known = case
    both = ask(model, table, known.scores, True)
    alone = ask(model, table, False, True)
    assert alone.score is None
    assert alone.prediction.tolist() == both.prediction.tolist()
    if known.scores:
        score = ask(model, table, True, False)
        assert score.prediction is None
        np.testing.assert_array_equal(score.score, both.score)


def test_a_model_gives_scores_or_says_that_it_has_none(case):
    model, known = case
    if known.scores:
        assert ask(model, Table.of(FRAME), True, False).score is not None
        return
    with raises(ModelError, name="score"):
        ask(model, Table.of(FRAME), True, False)


def test_a_missing_column_is_an_error_that_names_it(case, table):
    model, _ = case
    with pytest.raises(Exception, match="debt"):
        ask(model, table.select(["age", "sex"]), False, True)


def test_asking_leaves_the_table_alone(case, table):
    model, known = case
    before = {name: table.column(name).tolist() for name in table.names}
    ask(model, table, known.scores, True)
    again = table.copy()
    assert {name: again.column(name).tolist() for name in table.names} == before


def test_a_model_survives_pickling_and_keeps_its_fingerprint_and_answers(case):
    model, _ = case
    again = pickle.loads(pickle.dumps(model))
    assert again.name == model.name
    assert again.fingerprint() == model.fingerprint()
    assert re.fullmatch("[0-9a-f]{64}", model.fingerprint())
    table = Table.of(FRAME)
    assert ask(again, table, False, True).prediction.tolist() == ask(model, table, False, True).prediction.tolist()


def test_a_model_says_what_it_is_in_one_line(case):
    model, _ = case
    told = describe(model)
    assert 0 < len(told) < 300
    assert "\n" not in told


def test_predictions_and_classes_are_values_that_a_property_can_name(case):
    model, known = case
    answer = ask(model, Table.of(FRAME), known.scores, True)
    values = [*answer.prediction[:5].tolist(), *answer.classes]
    assert all(isinstance(value, str | bool | int | float) for value in values)
