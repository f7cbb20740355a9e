"""Sounds as inputs, and what can be done to them: white noise, gain, shift.

Sounds come as a list of waves, one array each. After every change, samples are converted back to their range and type,
so a sound that becomes too loud is clipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.domains.arrays import (
    ArrayDomain,
    ArrayRecords,
    InputPool,
    Limits,
    compute,
    labels_from,
    limits_of,
)
from isonomia.populations.domains.changes import Change, Parameter, functions_of, own_changes
from isonomia.populations.domains.protocol import Function, Marked

DECIBELS = 20.0
"""The default signal-to-noise ratio of white noise: a usual level for speech in noise."""

Waves: TypeAlias = list[NDArray[Any]]
Floats: TypeAlias = NDArray[np.float64]


def Sounds(  # noqa: N802  (it reads like the populations, which are classes)
    waves: Any,
    rate: float,
    labels: Any = None,
    *,
    between: tuple[float, float] | None = None,
    functions: Mapping[str, Any] | None = None,
    name: str = "the sounds",
) -> ArrayDomain:
    """Sounds of one channel, which may differ in length.

    A specification may call ``wNoise(x, decibels)`` (also ``noise``), white noise by its signal-to-noise ratio, 20 dB
    by default; ``gain(x, decibels)``; ``shift(x, seconds)``, later or earlier; ``seconds(x)``, its length; and
    ``label(x)``. Sounds that become too loud are clipped. A single sample is the feature with its number.

    Parameters
    ----------
    waves
        A list of one-dimensional arrays, or a two-dimensional array of sounds of the same length. The model is given
        the same: a list, or an array.
    rate
        Samples per second.
    labels
        The right answers, if they are known.
    between
        The lowest and the highest sample. By default -1 to 1 for floats, and the whole range of the type for bytes and
        16-bit numbers.
    functions
        Other changes by name: Python functions of one sound, and perhaps numbers, that return a sound.
    name
        What to call them in messages.

    Raises
    ------
    DataError
        If they are not sounds, or a sample is missing or out of range.
    UsageError
        If the rate is invalid, or a range is needed.
    """
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < float("inf"):
        raise UsageError(f"expected rate as samples a second, above 0, but got {rate!r}", name="rate")
    sounds, even = _waves(waves)
    limits = limits_of(sounds[0].dtype, between, "samples", usual="u1 i2 f4 f8")
    for wave in sounds:
        limits.check(wave, "samples")
    shape = sounds[0].shape if even else None
    changes = {**_changes(limits, rate), **own_changes(functions or {}, partial(_finished, limits, even))}
    return ArrayDomain(
        InputPool(sounds, labels_from(labels, len(sounds), "sound")),
        limits,
        Samples(max(len(wave) for wave in sounds)),
        {**functions_of(changes, "sound"), "seconds": Function(partial(_seconds, rate), 1, "number")},
        what="sound",
        part="samples",
        name=name,
        shape=shape,
        stated={"rate": rate},
    )


def _waves(waves: Any) -> tuple[list[NDArray[Any]], bool]:
    """The sounds one by one, and whether they came as one array."""
    if isinstance(waves, str | bytes) or not isinstance(waves, Iterable):
        raise DataError(
            f"expected sounds as a list of arrays, or one array, but got a {type(waves).__name__}", name="sounds"
        )
    even = isinstance(waves, np.ndarray) and waves.dtype != object
    sounds = [np.asarray(wave).view() for wave in waves]
    if not sounds or any(wave.ndim != 1 or not wave.size for wave in sounds):
        shapes = sorted({wave.shape for wave in sounds}, key=str)[:4]
        raise DataError(
            f"expected sounds as one-dimensional arrays of at least one sample, but their shapes are {shapes}. Take "
            "one channel, or the mean of them",
            name="sounds",
        )
    kinds = {wave.dtype for wave in sounds}
    if len(kinds) > 1:
        raise DataError(
            f"expected sounds of one type, but there are {', '.join(sorted(map(str, kinds)))}", name="sounds"
        )
    for wave in sounds:
        wave.flags.writeable = False
    return sounds, even


@dataclass(frozen=True, slots=True)
class Samples:
    """Single samples as features, by number."""

    longest: int

    def feature(self, feature: str | int) -> str:
        """``"3"``, 3 and ``f3`` are the same sample."""
        text = str(feature)
        text = text[1:] if text[:1] == "f" else text
        if not text.isdecimal() or int(text) >= self.longest:
            raise DataError(
                f"there is no sample {feature!r}: expected its number, 0 to {self.longest - 1}", name=str(feature)
            )
        return str(int(text))

    def read(self, values: list[NDArray[Any]], feature: str) -> Marked:
        """One sample of every sound; none where a sound is too short."""
        index = int(feature)
        bad = np.array([len(wave) <= index for wave in values], dtype=bool)
        column = np.array([0 if short else wave[index] for wave, short in zip(values, bad, strict=True)])
        return column, bad if bad.any() else None

    def write(self, feature: str, values: list[NDArray[Any]], column: NDArray[Any]) -> list[NDArray[Any]]:
        """The same sounds with one sample set."""
        index, changed = int(feature), [wave.copy() for wave in values]
        for wave, value in zip(changed, column.tolist(), strict=True):
            wave[index : index + 1] = value
        return changed


def _seconds(rate: float, records: Any) -> NDArray[np.float64]:
    if not isinstance(records, ArrayRecords):
        raise DataError("seconds(...) takes a sound, but its argument is not one")
    return np.array([len(wave) / rate for wave in compute(records, 1024)])


def _finished(limits: Limits, even: bool, name: str, result: Any, before: NDArray[Any]) -> NDArray[Any]:
    """The sound that a function returned; its length may change if lengths may differ."""
    wave = np.asarray(result)
    fits = wave.shape == before.shape if even else wave.ndim == 1 and wave.size > 0
    if not fits or wave.dtype.kind not in "biuf" or not np.isfinite(wave).all():
        raise DataError(
            f"expected {name}(...) to return a sound with finite samples{' of the same length' if even else ''}, but "
            f"it returned an array of shape {wave.shape} and type {wave.dtype}",
            name=name,
        )
    return limits.clip(wave.astype(np.float64))


def _changes(limits: Limits, rate: float) -> Mapping[str, Change]:
    """The changes for sounds with these limits and this rate."""
    noise = Change(partial(_noise, limits), (Parameter("decibels", DECIBELS, least=-200.0, most=200.0),), random=True)
    return {
        "wNoise": noise,
        "noise": noise,
        "gain": Change(partial(_gain, limits), (Parameter("decibels", least=-200.0, most=200.0),)),
        "shift": Change(partial(_shift, limits, rate), (Parameter("seconds"),)),
    }


def _silence(limits: Limits) -> float:
    """The value of silence: 0, or the middle of the range if no value is negative."""
    if limits.low < 0:
        return 0.0
    return float(np.ceil((limits.low + limits.high) / 2)) if limits.whole else (limits.low + limits.high) / 2


def _noise(limits: Limits, waves: Waves, decibels: Floats, seeds: NDArray[np.int64]) -> Waves:
    """Add white Gaussian noise at a signal-to-noise ratio; each sound's noise comes from its seed.

    The ratio is that of the power of the whole sound to the expected power of the noise. Silence stays silence.
    """
    changed = []
    for wave, level, seed in zip(waves, decibels.tolist(), seeds.tolist(), strict=True):
        signal = wave.astype(np.float64) - _silence(limits)
        power = float(np.mean(signal * signal)) if len(signal) else 0.0
        noise = np.random.default_rng(seed).standard_normal(len(signal))
        changed.append(limits.clip(wave + noise * np.sqrt(power * 10.0 ** (-level / 10.0))))
    return changed


def _gain(limits: Limits, waves: Waves, decibels: Floats) -> Waves:
    """Make each sound louder, or quieter if the number is negative."""
    silence, factors = _silence(limits), 10.0 ** (decibels / 20.0)
    return [
        limits.clip(silence + (wave.astype(np.float64) - silence) * factor)
        for wave, factor in zip(waves, factors.tolist(), strict=True)
    ]


def _shift(limits: Limits, rate: float, waves: Waves, seconds: Floats) -> Waves:
    """Let each sound begin later, or earlier if the number is negative, by the nearest whole number of samples.

    Its length stays the same: samples pushed out are lost, and silence comes in.
    """
    changed = []
    for wave, moved in zip(waves, np.rint(seconds * rate).tolist(), strict=True):
        later = int(np.clip(moved, -len(wave), len(wave)))
        shifted = np.full_like(wave, _silence(limits))
        shifted[max(later, 0) : len(wave) + min(later, 0)] = wave[max(-later, 0) : len(wave) - max(later, 0)]
        changed.append(shifted)
    return changed
