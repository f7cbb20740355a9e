"""What can be done to sounds: white noise, gain, shift.

Sounds come as a list of waves, one array each. What is computed is brought back into the range and the type of the
samples after every change, so that a sound which becomes too loud is clipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.populations.domains.changes import Change, Parameter
from isonomia.populations.domains.limits import Limits

__all__ = ["DECIBELS", "silence_of", "sound_changes"]

DECIBELS = 20.0
"""How much stronger the sound is than white noise, where it is not said: a usual level of speech in noise."""

Waves: TypeAlias = list[NDArray[Any]]
Floats: TypeAlias = NDArray[np.float64]


def silence_of(limits: Limits) -> float:
    """The value of silence: 0, or the middle of the range where nothing is negative."""
    if limits.low < 0:
        return 0.0
    return float(np.ceil((limits.low + limits.high) / 2)) if limits.whole else (limits.low + limits.high) / 2


def sound_changes(limits: Limits, rate: float) -> Mapping[str, Change]:
    """The changes of sounds with these limits and so many samples a second."""
    noise = Change(partial(_noise, limits), (Parameter("decibels", DECIBELS, least=-200.0, most=200.0),), random=True)
    return {
        "wNoise": noise,
        "noise": noise,
        "gain": Change(partial(_gain, limits), (Parameter("decibels", least=-200.0, most=200.0),)),
        "shift": Change(partial(_shift, limits, rate), (Parameter("seconds"),)),
    }


def _noise(limits: Limits, waves: Waves, decibels: Floats, seeds: NDArray[np.int64]) -> Waves:
    """Add white Gaussian noise at a signal-to-noise ratio; each sound's noise is that of its seed.

    The ratio is that of the power of the whole sound to the expected power of the noise. Silence stays silence.
    """
    made = []
    for wave, level, seed in zip(waves, decibels.tolist(), seeds.tolist(), strict=True):
        signal = wave.astype(np.float64) - silence_of(limits)
        power = float(np.mean(signal * signal)) if len(signal) else 0.0
        noise = np.random.default_rng(seed).standard_normal(len(signal))
        made.append(limits.settled(wave + noise * np.sqrt(power * 10.0 ** (-level / 10.0))))
    return made


def _gain(limits: Limits, waves: Waves, decibels: Floats) -> Waves:
    """Make each sound louder, or quieter where the number is negative."""
    silence, factors = silence_of(limits), 10.0 ** (decibels / 20.0)
    return [
        limits.settled(silence + (wave.astype(np.float64) - silence) * factor)
        for wave, factor in zip(waves, factors.tolist(), strict=True)
    ]


def _shift(limits: Limits, rate: float, waves: Waves, seconds: Floats) -> Waves:
    """Let each sound begin later, or earlier where the number is negative, by the nearest whole number of samples.

    Its length stays: what is pushed out is lost, and silence comes in.
    """
    made = []
    for wave, moved in zip(waves, np.rint(seconds * rate).tolist(), strict=True):
        later = int(np.clip(moved, -len(wave), len(wave)))
        shifted = np.full_like(wave, silence_of(limits))
        shifted[max(later, 0) : len(wave) + min(later, 0)] = wave[max(-later, 0) : len(wave) - max(later, 0)]
        made.append(shifted)
    return made
