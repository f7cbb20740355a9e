from __future__ import annotations

import pickle
import sqlite3
import subprocess
import sys
import warnings
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

import isonomia as iso
from effort import effort
from isonomia.audits.audit_file.planner import Wrapping
from isonomia.audits.audit_file.reader import DEFAULT, read_audit_file
from isonomia.errors import ChangingModelError, UsageError
from isonomia.models import Answer, adapt, ask
from isonomia.models.answer_store import AnswerStore, CacheWarning, _seal, row_digests, signature
from isonomia.models.cache import Cached
from isonomia.models.executable import ExecutableModel
from isonomia.models.http import HttpModel
from isonomia.populations import Table
from isonomia.populations.table import batch_table
from raising import raises

RNG = np.random.default_rng(1)
FRAME = pd.DataFrame({"x": RNG.normal(size=60), "y": RNG.integers(0, 5, 60)})
CLASSIFIER = LogisticRegression().fit(FRAME, np.where(FRAME.x > 0, "yes", "no"))


@dataclass
class Counting:
    """A model that remembers what it was asked, and answers by a function of the column x."""

    function: object = staticmethod(lambda x: x > 0)
    asked: list = field(default_factory=list)
    name: str = "counting"
    score_range: tuple[float, float] | None = None
    classes: tuple = ()
    mark: str = "0"

    def answer(self, table, *, want_score, want_prediction):
        self.asked += table.column("x").tolist()
        found = np.asarray(self.function(table.column("x")))
        score = table.column("x").astype(float) if want_score else None
        return Answer(found if want_prediction else None, score)

    def fingerprint(self):
        return self.mark * 64


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.sqlite"


def test_each_different_row_is_asked_about_once(path):
    model = Counting()
    cached = Cached(model, path)
    table = Table.of({"x": [1.0, 2.0, 1.0, -3.0]})
    for _ in range(3):
        assert ask(cached, table, False, True).prediction.tolist() == [True, True, True, False]
    assert ask(cached, Table.of({"x": [-3.0, 5.0]}), False, True).prediction.tolist() == [False, True]
    assert model.asked == [1.0, 2.0, -3.0, 5.0]
    assert (cached.cache.counts.asked, cached.cache.counts.hits) == (4, 10)


@pytest.mark.parametrize("kept", [True, False])
def test_records_without_columns_are_answered_and_arrays_among_them_are_kept(path, kept):
    asked = []

    def bright(images):
        asked.append(len(images))
        return np.array([float(np.mean(image)) > 0.5 for image in images])

    images = np.stack([np.zeros((2, 2)), np.ones((2, 2)), np.zeros((2, 2))])
    cached = Cached(bright, path, "bright 1")
    for _ in range(2):
        table = batch_table(images if kept else [*images], "image")
        assert ask(cached, table, False, True).prediction.tolist() == [False, True, False]
    wide = batch_table(images.reshape(3, 1, 4), "image")
    assert ask(cached, wide, False, True).prediction.tolist() == [False, True, False]
    assert asked == ([2, 2, 2] if kept else [3, 3, 2])  # the second two are the spot check of a key


def test_another_object_and_another_process_find_what_was_stored(path):
    ask(Cached(CLASSIFIER, path), Table.of(FRAME), True, True)
    again = Cached(pickle.loads(pickle.dumps(CLASSIFIER)), path)
    answer = ask(pickle.loads(pickle.dumps(again)), Table.of(FRAME), True, True)
    assert answer.prediction.tolist() == CLASSIFIER.predict(FRAME).tolist()
    np.testing.assert_array_equal(answer.score, CLASSIFIER.predict_proba(FRAME))
    assert answer.classes == ("no", "yes")


def test_predictions_and_scores_are_kept_apart(path):
    model = Counting()
    cached, table = Cached(model, path), Table.of({"x": [1.0, 2.0]})
    ask(cached, table, False, True)
    both = ask(cached, table, True, True)
    assert len(model.asked) == 4
    assert ask(cached, table, True, False).score.tolist() == both.score.tolist() == [1.0, 2.0]
    assert len(model.asked) == 4


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x > 0,
        lambda x: x.astype(np.int8),
        lambda x: x.astype(np.int64) * 2**40,
        lambda x: x.astype(np.float32) / 3,
        lambda x: x / 3,
        lambda x: np.where(x > 0, "größer", "b"),
        lambda x: np.array([2**70 if v > 0 else "text" for v in x], dtype=object),
        lambda x: np.array([True if v > 0 else 1.5 for v in x], dtype=object),
    ],
)
def test_what_comes_back_is_the_same_bit_by_bit(path, function):
    table = Table.of({"x": RNG.normal(size=20).round(2) * 8})
    without = ask(Counting(function), table, True, True)
    cached = Cached(Counting(function), path)
    for _ in range(2):
        answer = ask(cached, table, True, True)
        assert answer.prediction.dtype == without.prediction.dtype
        assert list(map(type, answer.prediction.tolist())) == list(map(type, without.prediction.tolist()))
        assert answer.prediction.tolist() == without.prediction.tolist()
        assert answer.score.tobytes() == without.score.tobytes()


def test_models_with_different_fingerprints_or_keys_do_not_meet(path):
    table = Table.of({"x": [1.0]})
    for model, key in [(Counting(), None), (Counting(mark="1"), None), (Counting(), "a"), (Counting(), "b")]:
        ask(Cached(model, path, key=key), table, False, True)
        assert model.asked == [1.0]


TABLES = [
    {"x": [1, 2]},
    {"x": [1.0, 2.0]},
    {"x": ["1", "2"]},
    {"x": [True, False]},
    {"y": [1, 2]},
    {"x": [1, 2], "y": [1, 2]},
    {"x": [date(2024, 1, 1), date(2024, 1, 2)]},
    {"x": [None, "1"]},
    {"x": ["", "1"]},
    {"x": np.array([1.0, 2.0], dtype=np.float32)},
    np.array([[1.0], [2.0]]),
    np.array([["a"], ["b"]], dtype=object),
    [{"x": 1}, {"x": 2}],
    [{"x": 1.0}, {"x": 2.0}],
    [{"x": True}, {"x": 2}],
    [{"x": None}, {}],
    pd.DataFrame({"x": [1, 2]}),
    pd.DataFrame({"x": [1, 2]}, dtype="int8"),
    pd.DataFrame({"x": pd.array([2**53 + 1, None], dtype="Int64")}),
    pd.DataFrame({"x": pd.array([2**53, None], dtype="Int64")}),
    pd.DataFrame({"x": pd.Categorical(["a", "b"])}),
    pd.DataFrame({"x": pd.Categorical(["a", "b"], categories=["b", "a"])}),
    pd.DataFrame({"x": np.array(["2024-01-01T00:00:00.000000001", "2024-01-02"], dtype="M8[ns]")}),
    pd.DataFrame({"x": np.array(["2024-01-01T00:00:00.000000002", "2024-01-02"], dtype="M8[ns]")}),
    pl.DataFrame({"x": [1, 2]}),
    pl.DataFrame({"x": [None, "1"]}),
    pl.DataFrame({"x": [datetime(2024, 1, 1), None]}),
    pl.DataFrame({"x": [0.0, 2.0]}),
    pl.DataFrame({"x": [-0.0, 2.0]}),
]


def test_rows_that_a_model_could_tell_apart_have_digests_of_their_own():
    found = [(tuple(signature(table)), row_digests(table)[0]) for table in map(Table.of, TABLES)]
    assert len(set(found)) == len(TABLES)


@pytest.mark.parametrize("data", TABLES, ids=str)
def test_a_row_has_the_same_digest_wherever_it_stands(data):
    table = Table.of(data)
    there, back = row_digests(table), row_digests(table.take(np.array([1, 0], dtype=np.intp)))
    assert there == back[::-1]
    assert row_digests(table.slice(1, 2)) == there[1:]


def test_the_boundary_between_values_counts():
    first, second = (row_digests(Table.of({"a": [a], "b": [b]})) for a, b in [("xy", "z"), ("x", "yz")])
    assert first != second
    first, second = (row_digests(Table.of([{"a": a, "b": b}])) for a, b in [("xy", "z"), ("x", "yz")])
    assert first != second


def test_values_without_a_reliable_form_are_asked_about_every_time(path):
    model = Counting(lambda x: np.array([len(v) for v in x]))
    cached, table = Cached(model, path), Table.of({"x": [(1, 2), (3,)]})
    for _ in range(2):
        assert ask(cached, table, False, True).prediction.tolist() == [2, 1]
    assert len(model.asked) == 4


@pytest.mark.parametrize(
    "model",
    [
        lambda _: [1],
        test_each_different_row_is_asked_about_once,
        HttpModel("http://host/score"),
        ExecutableModel(["score"]),
    ],
)
def test_a_model_whose_fingerprint_cannot_be_trusted_needs_a_key(path, model):
    with raises(UsageError, name="key"):
        Cached(model, path)
    assert Cached(model, path, key="v1").key == "v1"


def test_an_estimator_that_cannot_be_pickled_needs_a_key(path):
    class Local:
        def predict(self, table):
            return np.ones(len(table))

    with raises(UsageError, name="key"):
        Cached(Local(), path)


def test_a_version_makes_the_fingerprint_of_a_service_trustworthy(path):
    assert Cached(HttpModel("http://host/score", version="3"), path).key is None


def test_stored_answers_of_a_key_that_was_kept_too_long_are_noticed(path):
    table = Table.of({"x": [1.0, 2.0]})
    ask(Cached(lambda t: t["x"] > 0, path, key="mine"), table, False, True)
    with raises(ChangingModelError, str(path), "key='mine'", "True", "False"):
        ask(Cached(lambda t: t["x"] < 0, path, key="mine"), table, False, True)


def test_a_check_says_what_the_cache_saved_and_gives_the_same_verdict(path):
    claim, people = "P[prediction == 'yes' | y >= 2] >= 0.2", iso.Sample(FRAME)
    without = iso.check(claim, CLASSIFIER, people, seed=3)
    first = iso.check(claim, Cached(CLASSIFIER, path), people, seed=3)
    second = iso.check(claim, Cached(CLASSIFIER, path), people, seed=3)
    assert first.remarks[-1] == f"0 answers came from the cache {path}"
    assert second.remarks[-1] == f"{second.samples} answers came from the cache {path}"
    for found in (first, second):
        assert (found.answer, found.samples, found.leaves, found.model) == (
            without.answer,
            without.samples,
            without.leaves,
            without.model,
        )


def test_an_estimator_that_learnt_something_else_is_asked_again(path):
    estimator = LogisticRegression().fit(FRAME, FRAME.x > 0)
    cached = Cached(estimator, path)
    claim, people = "P[prediction] >= 0.2", iso.Census(FRAME)
    before = iso.check(claim, cached, people)
    estimator.fit(FRAME, FRAME.x <= 0)
    after = iso.check(claim, cached, people)
    assert before.leaves[0].estimate != after.leaves[0].estimate


def test_ten_thousand_rows_of_fifty_columns_are_found_quickly(path):
    columns = {f"c{i}": RNG.normal(size=10_000) for i in range(48)}
    table = Table.of({**columns, "x": np.arange(10_000.0), "text": [f"person {i}" for i in range(10_000)]})
    cached = Cached(Counting(), path)
    ask(cached, table, False, True)
    with effort() as spent:
        ask(cached, table, False, True)
        assert cached.cache.counts.hits == 10_000
    assert spent.seconds < 1.0  # about 0.1 on a machine with nothing else to do


# The file ------------------------------------------------------------------------------------------------------------


def test_a_folder_holds_the_file(tmp_path):
    ask(Cached(Counting(), tmp_path), Table.of({"x": [1.0]}), False, True)
    assert (tmp_path / "predictions.sqlite").is_file()
    ask(Cached(Counting(), tmp_path / "new" / "file.sqlite"), Table.of({"x": [1.0]}), False, True)
    assert (tmp_path / "new" / "file.sqlite").is_file()


def garbage(path):
    path.write_bytes(b"not a database at all" * 500)


def foreign(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()


@pytest.mark.parametrize("spoil", [garbage, foreign])
def test_a_file_that_is_no_cache_is_told_left_alone_and_the_model_is_asked(path, spoil):
    spoil(path)
    before = path.read_bytes()
    model = Counting()
    cached = Cached(model, path)
    with pytest.warns(CacheWarning, match=r"answers\.sqlite could not be read .*the model is called instead"):
        assert ask(cached, Table.of({"x": [1.0]}), False, True).prediction.tolist() == [True]
    for _ in range(2):  # once is enough: a second warning would be an error here
        assert ask(cached, Table.of({"x": [1.0]}), False, True).prediction.tolist() == [True]
    assert model.asked == [1.0, 1.0, 1.0]
    assert path.read_bytes() == before
    assert "could not be read" in cached.cache.remark


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(CacheWarning, match="could not be"):
        ask(Cached(Counting(), tmp_path / "file" / "below"), Table.of({"x": [1.0]}), False, True)


def test_a_full_disk_is_told_and_what_is_stored_is_still_used(path):
    model = Counting()
    cached = Cached(model, path)
    ask(cached, Table.of({"x": [1.0]}), False, True)
    with cached.cache.store._open().reading("count pages") as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
    many = Table.of({"x": np.arange(5000.0)})
    with pytest.warns(CacheWarning, match=r"could not be written \(database or disk is full\)"):
        assert ask(cached, many, False, True).prediction.sum() == 4999
    model.asked.clear()
    assert ask(cached, Table.of({"x": [1.0, 7.0]}), False, True).prediction.tolist() == [True, True]
    assert model.asked == [7.0]


def test_a_damaged_answer_is_asked_for_again_and_mended(path):
    cached = Cached(Counting(), path)
    table = Table.of({"x": [1.0, -1.0]})
    ask(cached, table, False, True)
    cached.cache.store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE answers SET value = x'00'")
    connection.close()
    for asked in ([1.0], []):  # the answer for -1 was 0 before
        model = Counting()
        assert ask(Cached(model, path), table, False, True).prediction.tolist() == [True, False]
        assert model.asked == asked


WRITER = """
import sys
import numpy as np
from isonomia.models import ask
from isonomia.models.cache import Cached
from isonomia.populations import Table
rng = np.random.default_rng(int(sys.argv[2]))
def double(t):
    return t["x"] * 2
cached = Cached(double, sys.argv[1], key="k")
for _ in range(20):
    x = rng.integers(0, 500, 100)
    assert ask(cached, Table.of({"x": x}), False, True).prediction.tolist() == (2 * x).tolist()
"""


def double(table):
    return table["x"] * 2


def test_processes_may_share_a_file(path):
    # Warnings are errors there, so that nothing that went wrong with the file goes unnoticed.
    command = [sys.executable, "-W", "error", "-c", WRITER, str(path)]
    running = [subprocess.Popen([*command, str(seed)], stderr=subprocess.PIPE) for seed in range(4)]
    for process in running:
        _, told = process.communicate(timeout=120)
        assert (process.returncode, told.decode()) == (0, "")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cached = Cached(double, path, key="k")
        assert ask(cached, Table.of({"x": np.arange(500)}), False, True).prediction.tolist() == list(range(0, 1000, 2))
    assert cached.cache.counts.hits > 400


def test_the_word_of_a_key_is_held_against_eight_rows_although_batches_have_one_each(path):
    table = Table.of({"x": np.arange(8.0)})
    ask(Cached(lambda table: table["x"] >= 0, path, "one"), table, False, True)
    other = Cached(lambda table: table["x"] < 6, path, "one")
    for row in range(6):
        assert ask(other, table.slice(row, row + 1), False, True).prediction.tolist() == [True]
    with raises(ChangingModelError, str(path), "key='one'", "True", "False"):
        ask(other, table.slice(6, 7), False, True)


def test_a_file_that_an_audit_file_brought_along_is_held_against_the_model(path):
    class Pretending:
        """Says that it is the classifier, and yes to everybody."""

        name, score_range, classes = "pretending", None, ()

        def answer(self, table, *, want_score, want_prediction):  # noqa: ARG002
            return Answer(np.full(table.rows, "yes"))

        def fingerprint(self):
            return adapt(CLASSIFIER).fingerprint()

    ask(Cached(Pretending(), path), Table.of(FRAME), False, True)
    assert set(ask(Cached(CLASSIFIER, path), Table.of(FRAME), False, True).prediction) == {"yes"}  # one's own file
    with raises(ChangingModelError, str(path), "yes", "no"):
        ask(Cached(CLASSIFIER, path, spot=True), Table.of(FRAME), False, True)


def test_a_cache_that_the_audit_file_names_may_be_anybodys_and_one_that_was_typed_is_ones_own(tmp_path):
    text = 'cache = "c.sqlite"\n[model]\nload = "m.skops"\n[[property]]\ncheck = "P[prediction == 1] >= 0.5"\n'
    (tmp_path / "audit.toml").write_text(text)
    file = read_audit_file(tmp_path / "audit.toml")
    for typed, spot in ((None, True), (tmp_path / "own.sqlite", False)):
        wrapping = Wrapping(file, typed)
        wrapping("default", adapt(CLASSIFIER))
        assert [cached.spot for cached in wrapping.caches] == [spot]


# ----------------------------------------------------------------------------------------- models that answer at random


class Tossing:
    """Tosses a coin for every row, and counts them."""

    def __init__(self, seed):
        self.rng, self.rows = np.random.default_rng(seed), 0

    def __call__(self, table):
        self.rows += len(table["x"])
        return (self.rng.random(len(table["x"])) < 0.5).astype(int)


def toss(path, model, **options):
    people = iso.Sample({"x": np.arange(200) % 4})
    cached = iso.Cached(model, path, "coin")
    return iso.check("P[prediction == 1] >= 0.5", cached, people, seed=1, random_model=True, **options)


def test_each_answer_of_a_coin_is_used_once_in_a_check_and_again_in_the_next(path):
    model = Tossing(0)
    first = toss(path, model, stop="all")
    assert model.rows == 200, "rows that repeat are answers of their own"
    again = toss(path, model, stop="all")
    assert model.rows == 200
    assert again.leaves == first.leaves
    assert 0.4 < first.leaves[0].estimate < 0.6


def test_boundary_checks_of_a_cached_coin_are_decided_with_at_most_the_risk(path):
    # Four different rows: with one stored answer for each, most runs were decided.
    runs, delta = 40, 0.05  # a thousand runs are in tests/calibration/test_noise.py
    answers = []
    for run in range(runs):
        cached = iso.Cached(Tossing(run), path, f"coin {run}")
        people = iso.Sample({"x": np.arange(64) % 4})
        claim = "P[prediction == 1] >= 0.5"
        answers.append(iso.check(claim, cached, people, delta=delta, seed=run, random_model=True, growth=4.0).answer)
    for side in ("holds", "violated"):
        assert answers.count(side) <= binom.ppf(0.99, runs, delta)


def test_a_check_that_resumes_asks_a_coin_and_not_its_cache(path):
    from isonomia.audits.check import new_check, run_check
    from isonomia.engine.parameters import NullObserver

    class Notebook(dict):
        def recall(self, key):
            return self.get(key)

        def keep(self, key, make):
            self[key] = make()

    model, kept = Tossing(0), Notebook()
    people = iso.Sample({"x": np.arange(200) % 4})

    def run(entries):
        cached = iso.Cached(model, path, "coin")
        check = new_check("P[prediction == 1] >= 0.5", cached, people, seed=1, random_model=True, stop="all")
        run_check(check.with_journal(entries), NullObserver())

    run(kept)
    before = model.rows
    batches = [key for key in kept if key.startswith("batch")]
    cut = Notebook({key: entry for key, entry in kept.items() if key not in batches[len(batches) // 2 :]})
    run(cut)
    assert model.rows > before, "answers that the first half has used must not come a second time"


def test_a_cache_on_the_command_line_may_hold_the_answers_of_a_coin(path):
    file = read_audit_file_text(path.parent, "random = true")
    assert Wrapping(file, path)(DEFAULT, adapt(Tossing(0))).cache is not None
    assert Wrapping(file)(DEFAULT, adapt(Tossing(0))).cache is None


def test_each_answer_of_a_coin_is_used_once_where_the_outcome_is_withheld_from_it(path):
    from isonomia.audits.check import new_check, run_check
    from isonomia.engine.parameters import NullObserver

    model, people = Tossing(0), iso.Sample({"x": np.arange(200) % 4, "y": np.arange(200) % 2})
    wrapped = Wrapping(read_audit_file_text(path.parent, "random = true"), path)(DEFAULT, adapt(model))
    claim = "P[prediction == y] >= 0.5"
    run_check(new_check(claim, wrapped, people, seed=1, random_model=True, stop="all"), NullObserver())
    assert model.rows == 200, "only four rows differ, but each answer is a draw of its own"


def read_audit_file_text(folder, more):
    text = f'cache = "c.sqlite"\n[model]\nload = "m:f"\ncache_key = "1"\n{more}\n[population]\nsample = "p.csv"\n'
    (folder / "audit.toml").write_text(text + '[[property]]\nname = "p"\ncheck = "P[prediction == 1] >= 0.5"\n')
    return read_audit_file(folder / "audit.toml")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE answers SET kind = 7, value = 'x'",
        "CREATE TABLE b AS SELECT * FROM answers; DROP TABLE answers; CREATE TABLE answers (space, row, kind, seal, "
        "value GENERATED ALWAYS AS (zeroblob(20000000))); INSERT INTO answers SELECT space, row, kind, seal FROM b",
    ],
)
@pytest.mark.filterwarnings("ignore::isonomia.models.answer_store.CacheWarning")
def test_answers_of_another_type_or_length_are_not_found(tmp_path, damage: str) -> None:
    store = AnswerStore(tmp_path / "a.sqlite")
    store.put("space", {b"row": ("kind", b"value")})
    assert store.get("space", [b"row"]) == {b"row": ("kind", b"value")}
    store.close()
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as database:
        database.executescript(damage)
        (big,) = database.execute("SELECT max(length(value)) FROM answers").fetchone()
        if big > 100:  # with the seal of such a value
            value = bytes(big)
            database.execute("UPDATE answers SET seal = ?", (_seal("space", b"row", "kind", value),))
            database.commit()
    assert AnswerStore(tmp_path / "a.sqlite").get("space", [b"row"]) == {}


def test_a_cache_with_a_trigger_is_not_opened(tmp_path) -> None:
    store = AnswerStore(tmp_path / "a.sqlite")
    store.put("space", {b"row": ("kind", b"value")})
    store.close()
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as database:
        database.execute("CREATE TRIGGER turn AFTER INSERT ON answers BEGIN DELETE FROM spaces; END")
    stranger = AnswerStore(tmp_path / "a.sqlite")
    with pytest.warns(CacheWarning, match="the trigger 'turn'"):
        assert stranger.get("space", [b"row"]) == {}
