"""Draws on a device, such as a GPU: which device it is, its random numbers, and its batch sizes.

torch's random numbers differ from NumPy's, and from one kind of device to another. So a verdict states where its draws
were made, and the same seed gives the same verdict only on the same kind of device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isonomia.errors import UsageError


@dataclass(frozen=True, slots=True)
class BatchSizes:
    """How large batches should be if each has a fixed cost in time, whatever its size.

    Attributes
    ----------
    first
        The size of the first batch.
    growth, early
        How much larger a batch makes the total, near a decision and far from one.
    most
        The largest batch, which bounds the memory.
    draws_only
        Whether they apply only without a model: asking one may cost far more per person than a batch does.
    """

    first: int
    growth: float
    early: float
    most: int
    draws_only: bool = False

    def asked(self) -> BatchSizes | None:
        """The sizes if a model is asked, which may need far more memory per person than a few numbers."""
        if self.draws_only:
            return None
        most = min(self.most, _MOST_ASKED)
        return BatchSizes(min(self.first, most), self.growth, self.early, most)


_MOST_ASKED = 2**22


@dataclass(frozen=True, slots=True)
class Device:
    """Where torch draws: ``name`` is torch's name, such as ``"cuda:0"``."""

    name: str

    @classmethod
    def of(cls, name: str | None, what: str) -> Device | None:
        """Look for a device; ``None`` for NumPy.

        Parameters
        ----------
        name
            ``"cpu"``, ``"cuda"``, another name that torch knows, or ``"auto"``: CUDA if available, else the CPU.
        what
            What draws there, for messages.

        Raises
        ------
        UsageError
            If torch is not installed, or finds no such device.
        """
        if name is None:
            return None
        if not isinstance(name, str):
            raise UsageError(f"expected device as 'cuda', 'cpu' or 'auto', but got device={name!r}")
        torch = _torch(what)
        if name == "auto":
            name = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            kind = torch.device(name).type
            torch.empty(1, device=name)
        except (RuntimeError, AssertionError) as error:
            hint = " Leave device out, or say 'cpu' or 'auto'."
            raise UsageError(f"device is {name!r}, but torch finds no such device here: {error}.{hint}") from None
        return cls("cpu" if kind == "cpu" else name)

    @property
    def kind(self) -> str:
        """What kind of device it is, as a verdict states it: ``"torch on cpu"``, ``"torch on cuda (NVIDIA H200)"``.

        torch spreads its random numbers over a card's processors, so other models of card draw other numbers.
        """
        if self.name.startswith("cuda"):
            return f"torch on cuda ({_torch('a device').cuda.get_device_name(self.name)})"
        return f"torch on {self.name.partition(':')[0]}"

    @property
    def remark(self) -> str:
        """What a verdict says about it."""
        return f"draws made by {self.kind}: the same seed gives other draws on another kind of device"

    def generator(self, rng: np.random.Generator) -> Any:
        """A torch generator, seeded from the generator of a batch: each call gives a different one."""
        made = _torch("a device").Generator(device=self.name)
        made.manual_seed(int(rng.integers(2**63)))
        return made


def _torch(what: str) -> Any:
    try:
        import torch
    except ImportError:
        raise UsageError(f"{what} on a device needs PyTorch: pip install 'isonomia[torch]'") from None
    return torch
