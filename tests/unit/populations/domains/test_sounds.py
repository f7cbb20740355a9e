"""Sounds as inputs of a k-safety property."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.domains import ArrayDomain, Sounds
from raising import raises

RNG = np.random.default_rng(4)
WAVES = [RNG.integers(-9000, 9000, n, dtype=np.int16) for n in (40, 25, 60)]
ALL = np.arange(3, dtype=np.intp)


def changed(domain: ArrayDomain, name: str, *amounts: Any) -> list[NDArray[Any]]:
    columns = [np.broadcast_to(np.asarray(amount), domain.size).copy() for amount in amounts]
    found = domain.functions[name].call(domain.inputs(np.arange(domain.size)), *columns)
    native: list[NDArray[Any]] = domain.table(found).native
    return native


def test_the_model_is_given_a_list_or_an_array_as_it_came() -> None:
    domain = Sounds(WAVES, 8000, [1, 2, 3])
    native = domain.table(domain.inputs(ALL)).native
    assert isinstance(native, list)
    assert all(np.array_equal(one, other) for one, other in zip(native, WAVES, strict=True))
    even = np.stack([wave[:25] for wave in WAVES])
    given = Sounds(even, 8000).table(Sounds(even, 8000).inputs(ALL)).native
    assert np.array_equal(given, even)
    assert domain.label(domain.inputs(ALL[:2])).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("waves", "options", "kind", "name", "shown"),
    [
        ([], {}, DataError, "sounds", ["[]"]),
        (5, {}, DataError, "sounds", ["int"]),
        ("wave.wav", {}, DataError, "sounds", ["str"]),
        ([np.zeros((3, 2))], {}, DataError, "sounds", [(3, 2)]),
        ([np.zeros(0)], {}, DataError, "sounds", ["(0,)"]),
        ([np.zeros(3), np.zeros(3, dtype=np.float32)], {}, DataError, "sounds", [("float32", "float64")]),
        ([np.full(3, 1.5)], {}, DataError, "samples", [-1, 1, 1.5]),
        ([np.array([0, 1])], {}, UsageError, "between", ["int64"]),
        (WAVES, {"rate": 0}, UsageError, "rate", [0]),
        (WAVES, {"rate": True}, UsageError, "rate", ["True"]),
    ],
)
def test_what_are_no_sounds_is_refused(
    waves: Any, options: dict[str, Any], kind: type[Exception], name: str, shown: list[Any]
) -> None:
    with raises(kind, *shown, name=name):
        Sounds(waves, **{"rate": 8000, **options})


def test_noise_has_the_stated_power_and_is_that_of_the_seed() -> None:
    loud = Sounds([0.1 * np.sin(np.arange(100_000)), np.zeros(10)], 8000)
    for decibels in (20.0, 0.0):
        noisy = changed(loud, "wNoise", decibels, np.array([1, 2]))
        noise = noisy[0] - 0.1 * np.sin(np.arange(100_000))
        ratio = 10 * np.log10(0.005 / np.mean(noise**2))
        assert abs(ratio - decibels) < 0.1  # five standard errors of 100,000 squares are 0.1
        assert not noisy[1].any()  # silence stays silence
    assert np.array_equal(changed(loud, "wNoise", 20.0, np.array([9, 2]))[1], noisy[1])
    assert loud.functions["wNoise"].takes == (1, 2)


def test_gain_multiplies_about_silence_and_clips() -> None:
    domain = Sounds(WAVES, 8000)
    doubled = changed(domain, "gain", 20 * np.log10(2))
    assert np.array_equal(doubled[0], WAVES[0] * 2)
    most = changed(domain, "gain", 60.0)[0]
    assert (most.min(), most.max()) == (-32768, 32767)
    unsigned = Sounds([np.array([128, 138, 118, 255], dtype=np.uint8)], 8000)
    assert changed(unsigned, "gain", 20 * np.log10(2))[0].tolist() == [128, 148, 108, 255]


def test_shift_keeps_the_length_and_lets_silence_in() -> None:
    domain = Sounds(WAVES, 1000)
    later, earlier = changed(domain, "shift", 0.010), changed(domain, "shift", -0.010)
    for before, after, sooner in zip(WAVES, later, earlier, strict=True):
        assert np.array_equal(after[10:], before[:-10])
        assert not after[:10].any()
        assert np.array_equal(sooner[:-10], before[10:])
        assert not sooner[-10:].any()
    assert all(not wave.any() for wave in changed(domain, "shift", 5.0))
    assert all(np.array_equal(*pair) for pair in zip(changed(domain, "shift", 0.0004), WAVES, strict=True))


def test_samples_are_features_and_the_length_is_a_function() -> None:
    domain = Sounds(WAVES, 10)
    assert domain.feature("f3") == domain.feature(3) == domain.feature("3") == "3"
    values, bad = domain.get(domain.inputs(ALL), "30")
    assert bad is not None
    assert bad.tolist() == [False, True, False]
    assert values[[0, 2]].tolist() == [WAVES[0][30], WAVES[2][30]]
    made, wrong = domain.set(domain.inputs(ALL), "30", np.array([5, 5, 40_000]))
    assert wrong is not None
    assert wrong.tolist() == [False, True, True]
    assert domain.table(made).native[0][30] == 5
    assert domain.functions["seconds"].call(domain.inputs(ALL)).tolist() == [4.0, 2.5, 6.0]
    for feature in (60, "x", -1, "f60"):
        with raises(DataError, 0, 59, name=str(feature)):
            domain.feature(feature)


def test_own_functions_may_change_the_length_where_lengths_differ() -> None:
    domain = Sounds(WAVES, 8000, functions={"cut": lambda wave, n: wave[: int(n)]})
    short = domain.functions["cut"].call(domain.inputs(ALL), np.full(3, 10.0))
    assert [len(wave) for wave in domain.table(short).native] == [10, 10, 10]
    assert domain.functions["seconds"].call(short).tolist() == [10 / 8000] * 3
    count, far = domain.distance(domain.inputs(ALL), short)
    assert count.tolist() == far.tolist() == [30, 15, 50]
    even = Sounds(np.zeros((2, 20)), 8000, functions={"cut": lambda wave: wave[:5]})
    with raises(DataError, "(5,)", "float64", name="cut"):
        even.table(even.functions["cut"].call(even.inputs(np.arange(2))))


def test_a_shown_sound_comes_back_and_another_rate_does_not() -> None:
    domain = Sounds(WAVES, 8000, ["a", "b", "c"])
    shown = json.loads(json.dumps(domain.show(domain.inputs(ALL), 2)))
    assert (shown["sound"], shown["shape"], shown["type"], shown["rate"], shown["label"]) == (
        2,
        [60],
        "int16",
        8000,
        "c",
    )
    again = domain.restore([shown, domain.show(domain.inputs(ALL), 0)])
    assert np.array_equal(domain.table(again).native[0], WAVES[2])
    assert domain.difference(domain.inputs(ALL[2:]), again.take(ALL[:1]), 0) == {}
    for change in ({"rate": 16000}, {"shape": [60, 1]}, {"shape": [59]}, {"shape": [2**40]}):
        with pytest.raises(DataError, match="expected"):
            domain.restore([{**shown, **change}])
