"""How much a check may cost: in samples, in seconds, or both."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from isonomia.errors import UsageError

__all__ = ["Budget"]

UNITS = {"s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Budget:
    """The most people to sample and the most seconds to take; infinite unless given.

    Where a verdict counts something else, so does the budget: pairs of people where a property mentions ``other``,
    cases in k-safety, points in responsiveness.

    Attributes
    ----------
    samples
        The most people.
    seconds
        The longest time.

    Examples
    --------
    Wherever a budget is accepted, so is its text:

    >>> Budget.of("1e6, 5min")
    Budget(samples=1000000.0, seconds=300.0)
    """

    samples: float = inf
    seconds: float = inf

    @classmethod
    def of(cls, value: object) -> Budget:
        """Read a budget.

        A number of people (``100000``, ``"1e6"``), a time (``"30s"``, ``"5min"``), or both (``"1e6, 5min"``).
        """
        if value is None:
            return cls()
        if isinstance(value, Budget):
            return value
        if isinstance(value, str):
            return cls._from_text(value)
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer) or not value >= 1:
            raise UsageError(f"expected budget as a number of samples, at least 1, but got budget={value!r}")
        return cls(samples=float(value))

    @classmethod
    def _from_text(cls, text: str) -> Budget:
        samples, seconds = inf, inf
        parts = text.replace(",", " ").split()
        for part in parts or [""]:
            found = re.fullmatch(r"([0-9._]+(?:e[0-9]+)?)(s|sec|min|h)?", part)
            amount = _amount(found.group(1)) if found else 0.0
            again = found is not None and isfinite(seconds if found.group(2) else samples)
            if found is None or again or not amount >= (0 if found.group(2) else 1) or amount == 0:
                raise UsageError(
                    "expected budget as a number of samples (100000, 1e6), a time (30s, 5min, 1h) or both, "
                    f"but got {text!r}"
                )
            if found.group(2):
                seconds = amount * UNITS[found.group(2)]
            else:
                samples = amount
        return cls(samples, seconds)


def _amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if isfinite(value) else 0.0
