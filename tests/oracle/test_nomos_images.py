"""The k-safety paper's blurred digits on its own network: every count as the plainest computation has it."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.nomos_harder import DATA, SPECIFICATION, Subject
from benchmarks.nomos_images import CHANGES, digits, subject
from scipy.ndimage import gaussian_filter

import isonomia as iso

pytestmark = pytest.mark.skipif(
    not ((DATA / "mnist").exists() and (DATA / "nomos").exists()),
    reason="the digits or the network are not here; set ISONOMIA_DATA",
)


@pytest.fixture(scope="module")
def mnist() -> Subject:
    return subject()


@pytest.fixture(scope="module")
def violating(mnist: Subject) -> set[int]:
    """The images that are read correctly only when they are blurred, one image at a time."""
    images, labels = digits()
    blurred = np.stack([np.rint(gaussian_filter(image.astype(float), 1.0)) for image in images])
    right, after = mnist.model(images) == labels, mnist.model(blurred) == labels
    return set(np.flatnonzero(after & ~right).tolist())


def test_every_blurred_image_that_is_read_better_is_found(mnist: Subject, violating: set[int]) -> None:
    prop = iso.safety.property(SPECIFICATION.format(change=CHANGES["Blur"]))
    verdict = iso.check(prop, mnist.model, mnist.domain, seed=0)
    assert (verdict.answer, verdict.method, verdict.risk) == ("violated", "exact", 0.0)
    assert verdict.details["cases"]["tested"] == 10_000
    assert verdict.details["violations"]["cases"] == verdict.details["violations"]["inputs"] == len(violating) > 0
    assert {found["rows"]["x1"] for found in verdict.counterexamples} <= violating


def test_random_tests_find_as_many_distinct_violations_as_expected(mnist: Subject, violating: set[int]) -> None:
    chance = 1 - (1 - 1 / 10_000) ** 5000
    expected, spread = len(violating) * chance, (len(violating) * chance * (1 - chance)) ** 0.5
    prop = iso.safety.property(SPECIFICATION.format(change=CHANGES["Blur"]), enumerate=False, stop_early=False)
    found = [
        iso.check(prop, mnist.model, mnist.domain, budget=5000, seed=seed).details["violations"]["distinct"]
        for seed in range(5)
    ]
    # Finds are not positively correlated, so this spread is a bound; 5.2 of them are passed once in ten million.
    assert abs(float(np.mean(found)) - expected) <= 5.2 * spread / 5**0.5
