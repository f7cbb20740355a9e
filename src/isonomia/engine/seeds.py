"""Seeds: every use of randomness has its own child of the run's seed, found by number, not by the order of calls.

A seed that is not given is derived from what is checked. So the same check gives the same answer every time, and nobody
tries several seeds by accident until one of them decides.
"""

from __future__ import annotations

import json
from hashlib import sha256

import numpy as np

from isonomia.errors import UsageError

DRAWS, TICKETS, CORNERS = 1, 2, 3


def derived_seed(*parts: str) -> int:
    """The seed of what these texts describe: property, data and model, by their fingerprints. Below ``2**32``."""
    return int.from_bytes(sha256(json.dumps(parts).encode()).digest()[:4], "big")


def root(seed: int) -> np.random.SeedSequence:
    """The root of a run's randomness."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise UsageError(f"expected seed as a whole number that is not negative, but got seed={seed!r}")
    return np.random.SeedSequence(int(seed))


def batch_rng(seed: int, batch: int, stream: int) -> np.random.Generator:
    """The randomness of one stream's draws in one batch."""
    return np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=(DRAWS, batch, stream)))


def ticket_rng(seed: int, batch: int, stream: int, of: int) -> np.random.Generator:
    """The randomness of the tickets of one stream's draws in one batch, independent of the draws."""
    return np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=(TICKETS, batch, stream, of)))


def corner_rng(seed: int) -> np.random.Generator:
    """The randomness that chooses which corners are tried, independent of all draws."""
    return np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=(CORNERS,)))
