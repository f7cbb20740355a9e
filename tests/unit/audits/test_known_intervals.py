"""The interval of a compared quantity."""

from __future__ import annotations

import pytest

from isonomia.audits.rates.intervals import LeafKnowledge
from isonomia.evidence.normal_form import compared
from isonomia.evidence.protocol import LeafTally, independent_classes
from isonomia.evidence.region import Region
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import leaves_of


@pytest.mark.parametrize(
    "counts", [((60.0, 40.0), (70.0, 30.0)), ((10.0, 90.0), (80.0, 20.0)), ((0.0, 0.0), (3.0, 1.0)), ((5.0, 0.0),) * 2]
)
def test_the_size_of_a_difference_is_known_as_well_as_a_search_of_the_region_knows_it(
    counts: tuple[tuple[float, float], tuple[float, float]],
) -> None:
    formula = parse_formula("abs(P[hired | sex == 'F'] - P[hired | sex == 'M']) <= 0.1")
    ((quantity, relation, threshold),) = compared(formula)
    leaves = leaves_of(formula)
    tallies = {leaf: LeafTally((0.0, 1.0), seen) for leaf, seen in zip(leaves, counts, strict=True)}
    known = LeafKnowledge(tallies, (None,), 0.05).expression(quantity, relation, threshold)
    searched = Region(tallies, independent_classes(leaves, (None,)), 0.05).quantity_interval(quantity)
    assert (known.low, known.high) == pytest.approx(searched, abs=1e-6)
