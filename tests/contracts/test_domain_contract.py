"""One suite that every domain must pass: what the engine relies on, whatever the records are."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.populations.domains import Domain, Images, Sounds, Texts
from isonomia.populations.domains.tables import table_domain
from isonomia.populations.table import Table
from raising import raises

RNG = np.random.default_rng(5)


@dataclass(frozen=True)
class Example:
    """A domain with labels 0, 1, 2, 3 and two features: which are they, and another value that each may have."""

    domain: Domain
    features: tuple[str | int, str | int]
    values: tuple[Any, Any]


def table(rows: bool) -> Domain:
    columns = {"age": [20, 30, 40, 50], "city": ["a", "b", "a", "c"], "y": [0, 1, 2, 3]}
    data: Any = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return table_domain(Table.of(data if rows else columns), {}, {}, "y", {})


# A new domain is one line here.
EXAMPLES = {
    "table of columns": Example(table(rows=False), ("age", 1), (33, "b")),
    "table of rows": Example(table(rows=True), ("age", "city"), (33, "b")),
    "images": Example(Images(RNG.integers(0, 200, (4, 3, 5), dtype=np.uint8), range(4)), ("2,4", 0), (250, 251)),
    "images in colour": Example(
        Images(RNG.random((4, 3, 5, 3), dtype=np.float32), range(4), between=(0, 2)), ("2,4,1", 0), (1.5, 1.25)
    ),
    "sounds": Example(Sounds([RNG.random(n) for n in (5, 3, 4, 6)], 10, range(4)), (1, "f0"), (-0.5, -1.0)),
    "sounds of one length": Example(
        Sounds(RNG.integers(0, 99, (4, 6), dtype=np.int16), 10, range(4)), (1, 5), (-5, 500)
    ),
    "texts": Example(
        Texts({"good": ["quiet", "", None, "clean"], "bad": ["loud"] * 4}, range(4)), ("good", 1), ("large", "dirty")
    ),
}
ALL = np.arange(4, dtype=np.intp)


@pytest.fixture(params=EXAMPLES, ids=str)
def example(request: pytest.FixtureRequest) -> Example:
    return EXAMPLES[request.param]


def column(value: Any, n: int) -> NDArray[Any]:
    return np.full(n, value, dtype=object if isinstance(value, str) else None)


def shown(domain: Domain, records: Any) -> list[dict[str, Any]]:
    return [domain.show(records, index) for index in range(len(records))]


def changed(example: Example, records: Any, which: int = 0) -> Any:
    name = example.domain.feature(example.features[which])
    made, bad = example.domain.set(records, name, column(example.values[which], len(records)))
    assert bad is None or not bad.any()
    return made


def test_inputs_are_those_at_the_positions(example: Example) -> None:
    domain = example.domain
    assert domain.size == 4
    whole, some = shown(domain, domain.inputs(ALL)), domain.inputs(np.array([2, 0, 2], dtype=np.intp))
    assert len(some) == 3
    assert shown(domain, some) == [whole[2], whole[0], whole[2]]
    assert shown(domain, some.take(np.array([1], dtype=np.intp))) == [whole[0]]
    assert domain.label(some).tolist() == [2, 0, 2]


def test_a_feature_that_is_set_is_read_again_and_the_old_records_stay(example: Example) -> None:
    domain, records = example.domain, example.domain.inputs(ALL)
    before = shown(domain, records)
    for which in (0, 1):
        made = changed(example, records, which)
        values, bad = domain.get(made, domain.feature(example.features[which]))
        assert bad is None
        assert values.tolist() == [example.values[which]] * 4
    assert shown(domain, records) == before
    with raises(DataError, "no such feature", 0):
        domain.feature("no such feature")


def test_distance_counts_features_and_equality_is_no_distance(example: Example) -> None:
    domain, records = example.domain, example.domain.inputs(ALL[:1])
    once = changed(example, records)
    for other, differ in ((records, 0), (once, 1), (changed(example, once, 1), 2)):
        count, far = domain.distance(records, other)
        assert count.tolist() == [differ]
        assert (far[0] > 0) == (differ > 0)
        assert domain.equal(records, other).tolist() == [differ == 0]


def test_what_is_shown_is_plain_and_comes_back(example: Example) -> None:
    domain = example.domain
    for records in (domain.inputs(ALL), changed(example, domain.inputs(ALL))):
        told = shown(domain, records)
        again = domain.restore(json.loads(json.dumps(told, allow_nan=False)))
        assert shown(domain, again) == told
        assert domain.equal(records, again).all()
        assert domain.label(again).tolist() == [0, 1, 2, 3]
    with pytest.raises(DataError, match="expected"):
        domain.restore([{**told[0], "something else": 1}])


def test_batches_are_joined_in_order(example: Example) -> None:
    domain = example.domain
    parts = [domain.inputs(ALL[2:]), changed(example, domain.inputs(ALL[:1])), domain.inputs(ALL[1:2])]
    assert shown(domain, domain.concatenate(parts)) == [item for part in parts for item in shown(domain, part)]


def test_records_with_the_same_number_cannot_be_told_apart(example: Example) -> None:
    domain = example.domain
    records = domain.inputs(np.array([1, 3, 1], dtype=np.intp))
    numbers = domain.unique(records)
    assert numbers is not None
    assert numbers[0] == numbers[2] != numbers[1]
    again = domain.unique(changed(example, records))
    assert again is None or again[1] not in again[[0, 2]]


def test_the_model_gets_a_row_for_each_record_and_may_write_into_it(example: Example) -> None:
    domain, records = example.domain, example.domain.inputs(ALL)
    before = shown(domain, records)
    given = domain.table(records)
    assert given.rows == 4
    native = given.copy().native
    match native:
        case np.ndarray():
            native[:] = 0
        case dict():
            native["age"][:] = 0
        case list() if isinstance(native[0], str):
            native[:] = [""] * 4
        case _:
            for record in native:
                record.clear() if isinstance(record, dict) else record.fill(0)
    assert shown(domain, records) == before


def test_edge_cases_are_some_of_the_inputs_that_were_given_the_same_by_the_seed(example: Example) -> None:
    offered: Any = getattr(example.domain, "edge_cases", None)
    if offered is None:
        return  # a domain need not know its ends
    rows = np.array([3, 0, 2], dtype=np.intp)
    for most in (1, 2, 64):
        found, again = (offered(rows, most, np.random.default_rng(7)).tolist() for _ in range(2))
        assert found == again
        assert 0 < len(found) == len(set(found)) <= most
        assert set(found) <= set(rows.tolist())
