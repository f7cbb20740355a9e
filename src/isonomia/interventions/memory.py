"""What has been found out about blocks, kept for other people, other models and other runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from isonomia.interventions.blocks import Block
from isonomia.interventions.constraints.moves import Floats
from isonomia.interventions.enumeration import Enumerated, enumerate_moves
from isonomia.interventions.identity import block_fingerprint

__all__ = ["Memory"]


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """The moves of every start that was met, by block; a block is told from others by its features and constraints.

    It is added to by :meth:`Interventions.reach`. What a predicate's function closes over is not seen: use a fresh
    memory where that changes.

    Attributes
    ----------
    known
        The moves of each start, by the block's fingerprint; empty at first.
    """

    known: dict[str, dict[bytes, Floats]] = field(default_factory=dict)

    def moves(self, block: Block, starts: Floats, most: int) -> Enumerated:
        """The moves of each start, each of them distinct; those not met before are enumerated, and kept."""
        kept = self.known.setdefault(block_fingerprint(block), {})
        keys = [row.tobytes() for row in np.ascontiguousarray(starts)]
        new = np.asarray([j for j, key in enumerate(keys) if key not in kept], dtype=np.intp)
        if len(new):
            found = enumerate_moves(block, starts[new], most)
            for j, acted in zip(new, np.split(found.acted, np.cumsum(found.counts)[:-1]), strict=True):
                kept[keys[j]] = acted
        parts = [kept[key] for key in keys]
        empty = np.zeros((0, len(block.columns)))
        return Enumerated(np.concatenate([empty, *parts]), np.asarray([len(part) for part in parts], dtype=np.intp))

    def to_bytes(self) -> bytes:
        """Everything that is known, to be stored."""
        arrays: dict[str, NDArray[np.float64]] = {}
        for name, kept in self.known.items():
            for number, (key, acted) in enumerate(kept.items()):
                arrays[f"{name}/{number}"] = np.vstack([np.frombuffer(key), acted])
        with BytesIO() as stream:
            np.savez_compressed(stream, allow_pickle=False, **arrays)
            return stream.getvalue()

    @classmethod
    def from_bytes(cls, stored: bytes) -> Memory:
        """Read what :meth:`to_bytes` wrote."""
        known: dict[str, dict[bytes, Floats]] = {}
        with np.load(BytesIO(stored), allow_pickle=False) as arrays:
            for name in arrays.files:
                rows = arrays[name]
                known.setdefault(name.split("/")[0], {})[rows[0].tobytes()] = rows[1:]
        return cls(known)
