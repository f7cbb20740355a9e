"""Images and sounds: whole batches are what one at a time is, and nothing leaves its range."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from isonomia.populations.domains import ArrayDomain, Images, Sounds

AMOUNT = {
    "blur": [st.floats(0, 3)],
    "noise": [st.floats(0, 100)],
    "rotate": [st.floats(-400, 400)],
    "shift": [st.floats(-5, 5), st.floats(-5, 5)],
    "brightness": [st.floats(-300, 300)],
    "contrast": [st.floats(0, 10)],
    "wNoise": [st.floats(-30, 60)],
    "gain": [st.floats(-60, 60)],
}
IMAGES = ("blur", "noise", "rotate", "shift", "brightness", "contrast")
SOUNDS = ("wNoise", "gain", "shift")


@st.composite
def image_domains(draw: st.DrawFn) -> ArrayDomain:
    shape = (draw(st.integers(1, 4)), *(draw(st.integers(1, 6)) for _ in range(2)), *draw(st.sampled_from([(), (3,)])))
    if draw(st.booleans()):
        return Images(draw(arrays(np.uint8, shape)), list(range(shape[0])))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    values = arrays(dtype, shape, elements=st.floats(-1, 2, width=32))
    return Images(draw(values), list(range(shape[0])), between=(-1, 2))


@st.composite
def sound_domains(draw: st.DrawFn) -> ArrayDomain:
    lengths = draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    if draw(st.booleans()):
        return Sounds([draw(arrays(np.int16, n)) for n in lengths], 10, list(range(len(lengths))))
    if draw(st.booleans()):
        return Sounds(draw(arrays(np.float32, (3, 5), elements=st.floats(-1, 1, width=32))), 10, [1, 2, 3])
    return Sounds(
        [draw(arrays(np.float64, n, elements=st.floats(-1, 1))) for n in lengths], 10, list(range(len(lengths)))
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[ArrayDomain, Any]:
    """A domain, and some of its inputs with one or two changes, each case with amounts and seeds of its own."""
    of_images = draw(st.booleans())
    domain = draw(image_domains() if of_images else sound_domains())
    rows = np.array(draw(st.lists(st.integers(0, domain.size - 1), min_size=1, max_size=6)), dtype=np.intp)
    records: Any = domain.inputs(rows)
    for name in draw(st.lists(st.sampled_from(IMAGES if of_images else SOUNDS), min_size=1, max_size=2)):
        amounts = AMOUNT[name] if of_images or name != "shift" else [st.floats(-2, 2)]
        columns: list[Any] = [
            np.array(draw(st.lists(amount, min_size=len(rows), max_size=len(rows)))) for amount in amounts
        ]
        if domain.functions[name].random:
            seeds = st.lists(st.integers(0, 2**32 - 1), min_size=len(rows), max_size=len(rows))
            columns.append(np.array(draw(seeds), dtype=np.int64))
        records = domain.functions[name].call(records, *columns)
        assert not isinstance(records, tuple)
    return domain, records


def values_of(domain: ArrayDomain, records: Any) -> list[NDArray[Any]]:
    return list(domain.table(records).native)


def single(index: int) -> NDArray[np.intp]:
    return np.array([index], dtype=np.intp)


@settings(max_examples=150, deadline=None)
@given(cases())
def test_a_batch_gives_bit_for_bit_what_one_record_at_a_time_gives(made: tuple[ArrayDomain, Any]) -> None:
    domain, records = made
    together = values_of(domain, records)
    for index, value in enumerate(together):
        alone = values_of(domain, records.take(single(index)))[0]
        assert value.tobytes() == alone.tobytes()
    joined = domain.concatenate([records.take(single(index)) for index in range(len(records))])
    assert [value.tobytes() for value in values_of(domain, joined)] == [value.tobytes() for value in together]


@settings(max_examples=150, deadline=None)
@given(cases())
def test_values_stay_in_range_types_stay_and_originals_are_left_alone(made: tuple[ArrayDomain, Any]) -> None:
    domain, records = made
    before = domain.fingerprint()
    inputs = domain.inputs(records.rows)
    for value, original in zip(values_of(domain, records), values_of(domain, inputs), strict=True):
        assert value.dtype == original.dtype == domain.limits.dtype
        assert value.shape == original.shape
        assert value.min() >= domain.limits.low
        assert value.max() <= domain.limits.high
    native = domain.table(records).native
    native[0][...] = domain.limits.low
    domain.table(inputs).native[0][...] = domain.limits.low
    assert domain.fingerprint() == before


@settings(max_examples=100, deadline=None)
@given(cases())
def test_what_is_shown_comes_back_and_is_no_distance_away(made: tuple[ArrayDomain, Any]) -> None:
    domain, records = made
    shown = [domain.show(records, index) for index in range(len(records))]
    again = domain.restore(json.loads(json.dumps(shown, allow_nan=False)))
    assert [domain.show(again, index) for index in range(len(again))] == shown
    assert domain.equal(records, again).all()
    assert np.array_equal(domain.label(records), domain.label(again))
    count, far = domain.distance(domain.inputs(records.rows), records)
    for index in range(len(records)):
        same = not domain.difference(domain.inputs(records.rows), records, index)
        assert same == (count[index] == 0) == (far[index] == 0)


@settings(max_examples=100, deadline=None)
@given(cases())
def test_records_with_the_same_number_are_the_same(made: tuple[ArrayDomain, Any]) -> None:
    domain, records = made
    numbers = domain.unique(records)
    assert numbers is not None
    values = values_of(domain, records)
    for number in set(numbers.tolist()):
        which = np.flatnonzero(numbers == number)
        assert len({values[index].tobytes() for index in which}) == 1


@pytest.mark.parametrize("name", IMAGES)
def test_no_change_leaves_an_image_as_it_is(name: str) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (3, 6, 7), dtype=np.uint8)
    domain = Images(pixels)
    nothing = {"contrast": [1.0]}.get(name, [0.0] * len(AMOUNT[name]))
    columns: list[Any] = [np.full(3, amount) for amount in nothing]
    columns += [np.arange(3)] if domain.functions[name].random else []
    made = domain.functions[name].call(domain.inputs(np.arange(3)), *columns)
    assert np.array_equal(domain.table(made).native, pixels)
