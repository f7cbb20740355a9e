"""One suite that every population must pass, over every kind of table."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import isonomia as iso
from isonomia.errors import DataError, UsageError
from isonomia.populations import Census, Generator, Sample, Weighted
from isonomia.populations.causal import Causal
from isonomia.populations.program import Program
from isonomia.populations.protocol import PopulationFacts, facts_of
from isonomia.populations.table import Table
from isonomia.populations.worlds.mechanisms import Categories
from raising import raises

ROWS = 97
COLUMNS = {
    "id": list(range(ROWS)),
    "sex": [("F", "M", None)[i % 3] for i in range(ROWS)],
    "debt": [None if i % 7 == 0 else i / 4 for i in range(ROWS)],
    "hired": [i % 5 == 0 for i in range(ROWS)],
}
VALUES = {"sex": ("F", "M"), "hired": (False, True), "id": tuple(range(ROWS))}


def as_csv(folder):
    pl.DataFrame(COLUMNS).write_csv(folder / "people.csv")
    return folder / "people.csv"


def as_parquet(folder):
    pl.DataFrame(COLUMNS).write_parquet(folder / "people.parquet")
    return folder / "people.parquet"


def as_folder(folder):
    for number in range(3):
        pl.DataFrame(COLUMNS)[33 * number : 33 * number + 33].write_parquet(folder / f"part-{number}.parquet")
    return folder / "part-*.parquet"


TABLES = {
    "pandas": lambda _: pd.DataFrame(COLUMNS),
    "polars": lambda _: pl.DataFrame(COLUMNS),
    "pyarrow": lambda _: pa.table(COLUMNS),
    "columns": lambda _: dict(COLUMNS),
    "rows": lambda _: [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)],
    "csv": as_csv,
    "parquet": as_parquet,
    "folder": as_folder,
}


def of_id(name):
    return np.array(COLUMNS[name], dtype=object)


def sex_of(id):  # noqa: A002
    return of_id("sex")[id]


def debt_of(id):  # noqa: A002
    return of_id("debt")[id]


def hired_of(id):  # noqa: A002
    return of_id("hired")[id].astype(bool)


IDS = Categories(dict.fromkeys(range(ROWS), 1 / ROWS))
MODEL = Causal({"id": IDS, "sex": sex_of, "hired": hired_of})
FINITE = {
    "sample": Sample,
    "sample in order": lambda data: Sample(data, order="file"),
    "census": Census,
    "sampled census": lambda data: Census(data, exact=False),
    "abducted sample": lambda data: MODEL.about(Sample(data)),
    "abducted census": lambda data: MODEL.about(Census(data)),
}


def draw_people(n, rng):
    ids = rng.integers(0, ROWS, n)
    return {name: np.array(values, dtype=object)[ids] for name, values in COLUMNS.items()}


def draw_frame(n, rng):
    return pl.DataFrame({name: list(values) for name, values in draw_people(n, rng).items()})


def draw_women(n, rng):
    return {**draw_people(n, rng), "sex": np.full(n, "F")}


def draw_men(n, rng):
    return pd.DataFrame({**draw_people(n, rng), "sex": np.full(n, "M")})


def draw_weighted(n, rng):
    return {**draw_people(n, rng), "w": rng.random(n)}


PROGRAM = "\n".join(
    [
        "def popModel():",
        f"    share = step([(0, {ROWS}, 1)])",
        "    id = 0",
        *(f"    if share > {i}:\n        id = {i}" for i in range(1, ROWS)),
        "    sex = 1",
        "    if share > 33:\n        sex = 2",
        "    debt = gaussian(id, 4)",
        "def F():",
        "    hired = debt > 20",
        "",
    ]
)


def draw_tensors(n, generator):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    ids = torch.randint(0, ROWS, (n,), generator=generator)
    texts = {name: np.array(COLUMNS[name], dtype=object)[ids.numpy()] for name in ("sex", "debt")}
    return {"id": ids, **texts, "hired": ids % 5 == 0}


PROGRAM_NAMES = ("share", "id", "sex", "debt", "hired")
PROGRAM_VALUES = {**VALUES, "sex": (1, 2)}  # a program has no texts
GENERATORS = {
    "generator": lambda: Generator(draw_people),
    "generator of frames": lambda: Generator(draw_frame),
    "streams": lambda: Generator({"sex == 'F'": draw_women, "sex == 'M'": draw_men}),
    "weighted generator": lambda: Generator(Weighted(draw_weighted, "w", most=1.0)),
    "generator on a device": lambda: Generator(draw_tensors, device="cpu"),
    "program": lambda: Program.of(PROGRAM),
    "program on a device": lambda: Program.of(PROGRAM, device="cpu"),
    "causal": lambda: Causal({"id": IDS, "sex": sex_of, "debt": debt_of, "hired": hired_of}),
    "causal given": lambda: Causal({"id": IDS, "sex": sex_of, "debt": debt_of, "hired": hired_of}).given("id >= 0"),
}
EVERY = [*((kind, table) for kind in FINITE for table in TABLES), *((kind, None) for kind in GENERATORS)]


def make(kind, table, folder):
    if kind.endswith("on a device"):
        pytest.importorskip("torch", reason="PyTorch is not installed")
    return GENERATORS[kind]() if table is None else FINITE[kind](TABLES[table](folder))


@pytest.fixture(params=EVERY, ids=lambda pair: "-".join(filter(None, pair)))
def population(request, tmp_path):
    return make(*request.param, tmp_path)


@pytest.fixture(params=[pair for pair in EVERY if pair[1]], ids="-".join)
def finite(request, tmp_path):
    return make(*request.param, tmp_path)


def batch(source, start, n, stream=0, number=None):
    rng = np.random.default_rng([5, start if number is None else number, stream])
    return source.batch(start, n, rng, stream)


def content(table):
    return [table.row(i) for i in range(table.rows)]


def ids(table):
    return table.column("id").tolist()


def test_the_same_seed_gives_the_same_rows(population):
    for stream in range(len(population.streams)):
        once = batch(population.open(np.random.SeedSequence(3)), 10, 20, stream)
        again = batch(population.open(np.random.SeedSequence(3)), 10, 20, stream)
        assert once.rows == 20
        assert content(once) == content(again)


def test_the_order_in_which_batches_are_asked_for_does_not_matter(population):
    forwards, backwards = (population.open(np.random.SeedSequence(3)) for _ in range(2))
    starts = [0, 30, 60]
    there = {start: ids(batch(forwards, start, 30)) for start in starts}
    back = {start: ids(batch(backwards, start, 30)) for start in reversed(starts)}
    assert there == back


def test_a_population_and_its_source_survive_pickling(population):
    again = pickle.loads(pickle.dumps(population))
    source = pickle.loads(pickle.dumps(again.open(np.random.SeedSequence(3))))
    assert ids(batch(source, 0, 9)) == ids(batch(population.open(np.random.SeedSequence(3)), 0, 9))
    assert again.fingerprint() == population.fingerprint()


def test_every_batch_has_the_columns_that_the_population_names(population):
    assert population.names == (PROGRAM_NAMES if population.kind == "program" else tuple(COLUMNS))
    for stream in range(len(population.streams)):
        table = batch(population.open(np.random.SeedSequence(0)), 0, 5, stream)
        assert set(population.names) <= set(table.names)


@pytest.mark.parametrize("column", VALUES)
def test_values_are_plain_sorted_and_without_missing_ones(population, column):
    values = population.values(column)
    assert values == (PROGRAM_VALUES if population.kind == "program" else VALUES)[column]
    assert {type(value) for value in values} <= {str, bool, int, float}


def test_an_unknown_column_is_refused_with_the_nearest_one(population):
    with raises(DataError, "sexe", meant="sex"):
        population.values("sexe")


def test_a_population_says_what_it_is_and_what_it_assumes(population):
    assert population.kind in {"sample", "census", "generator", "program", "causal"}
    assert population.size in {ROWS, None}
    assert population.assumptions
    assert all(isinstance(words, str) and words for words in population.assumptions)
    assert re.fullmatch("[0-9a-f]{64}", population.fingerprint())


def test_an_impossible_batch_is_refused(population):
    source = population.open(np.random.SeedSequence(0))
    for start, n, stream in [(-1, 1, 0), (0, 0, 0), (0, 1, len(population.streams))]:
        with pytest.raises(UsageError):
            batch(source, start, n, stream, number=0)


@pytest.mark.parametrize("size", [1, 10, 97, 1000])
def test_batches_cover_a_finite_population_exactly_once_whatever_their_size(finite, size):
    source = finite.open(np.random.SeedSequence(3))
    seen = [i for start in range(0, ROWS, size) for i in ids(batch(source, start, size))]
    assert sorted(seen) == list(range(ROWS))
    assert seen == ids(batch(source, 0, ROWS))


def test_rows_stay_whole(finite):
    for row in content(batch(finite.open(np.random.SeedSequence(3)), 0, ROWS)):
        expected = {name: values[row["id"]] for name, values in COLUMNS.items()}
        assert row == expected


def test_past_the_end_of_a_finite_population_there_is_nothing(finite):
    source = finite.open(np.random.SeedSequence(3))
    assert batch(source, ROWS - 2, 10).rows == 2
    assert batch(source, ROWS, 10).rows == 0
    assert batch(source, ROWS + 50, 10).names == tuple(COLUMNS)


@pytest.mark.parametrize("kind", FINITE)
def test_the_kind_of_table_changes_neither_rows_nor_fingerprint(kind, tmp_path):
    made = [make(kind, table, tmp_path) for table in TABLES]
    assert len({population.fingerprint() for population in made}) == 1
    orders = {tuple(ids(batch(p.open(np.random.SeedSequence(8)), 0, ROWS))) for p in made}
    assert len(orders) == 1


def test_the_randomness_of_a_batch_does_not_touch_a_finite_population(finite):
    source = finite.open(np.random.SeedSequence(3))
    assert ids(batch(source, 0, 9, number=1)) == ids(batch(source, 0, 9, number=2))


class Bare:
    """A user's own population, which has the members of the protocol and no others."""

    kind, size, streams, names, assumptions = "generator", None, (None,), ("hired",), ("rows are independent",)

    def values(self, column):  # noqa: ARG002
        return (False, True)

    def open(self, seed, wanted=None):  # noqa: ARG002
        return BareSource()

    def fingerprint(self):
        return "0" * 64


class BareSource:
    finite = False

    def batch(self, start, n, rng, stream=0):  # noqa: ARG002
        return Table.of({"hired": rng.random(n) < 0.5})


def test_a_population_that_states_no_facts_can_be_checked() -> None:
    assert facts_of(Bare()) == PopulationFacts()
    assert iso.check("P[hired] >= 0.3", population=Bare(), seed=1).answer == "holds"
