from __future__ import annotations

import numpy as np
import pytest

from isonomia.errors import UsageError
from isonomia.populations import Table
from isonomia.populations.finite import RowSource, random_order
from raising import raises


def test_the_order_is_a_permutation_fixed_by_the_seed():
    order = random_order(50, np.random.SeedSequence(3))
    assert sorted(order) == list(range(50))
    assert order.tolist() == random_order(50, np.random.SeedSequence(3)).tolist()
    assert order.tolist() != random_order(50, np.random.SeedSequence(4)).tolist()


def test_making_the_order_leaves_the_children_of_the_seed_alone():
    seed = np.random.SeedSequence(3)
    random_order(5, seed)
    assert seed.spawn(1)[0].spawn_key == (0,)


@pytest.mark.parametrize(
    ("start", "n", "stream", "shown"),
    [
        (-1, 5, 0, [-1, 5]),
        (0, 0, 0, ["start", 0]),
        (0, 1, 1, ["stream", 0, 1]),
    ],
)
def test_an_impossible_batch_is_refused(start, n, stream, shown):
    source = RowSource(Table.of({"a": [1]}), None)
    with raises(UsageError, *shown):
        source.batch(start, n, np.random.default_rng(0), stream)
