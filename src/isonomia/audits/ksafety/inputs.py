"""Where the inputs of cases come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.preparing import prepare
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.supply import Given, ReachedError
from isonomia.populations.domains import Domain
from isonomia.populations.protocol import Source
from isonomia.populations.table import Table

__all__ = ["Chosen", "Fresh", "Inputs", "Once", "WithReplacement", "worth_drawing"]

Chosen: TypeAlias = tuple[Domain, tuple[NDArray[np.intp], ...]]


class Inputs(Protocol):
    """Draws inputs for a batch of cases."""

    @property
    def finite(self) -> bool:
        """Whether each input is used once, so that they come to an end."""
        ...

    def draw(self, start: int, n: int, k: int, rng: np.random.Generator) -> Chosen:
        """The inputs of ``n`` cases with ``k`` inputs each, before which ``start`` others came."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class WithReplacement:
    """Every draw is uniform over these inputs of a domain, independent of all others."""

    domain: Domain
    rows: NDArray[np.intp]

    @property
    def finite(self) -> bool:
        """Draws never end."""
        return False

    def draw(self, start: int, n: int, k: int, rng: np.random.Generator) -> Chosen:
        """Draw them."""
        del start
        return self.domain, tuple(self.rows[rng.integers(0, len(self.rows), size=n)] for _ in range(k))


@dataclass(frozen=True, slots=True, eq=False)
class Once:
    """Each input serves one case, in an order fixed beforehand."""

    domain: Domain
    order: NDArray[np.intp]

    @property
    def finite(self) -> bool:
        """They come to an end."""
        return True

    def draw(self, start: int, n: int, k: int, rng: np.random.Generator) -> Chosen:
        """The next ones."""
        del rng
        taken = self.order[start * k : (start + n) * k]
        whole = taken[: len(taken) // k * k].reshape(-1, k)
        return self.domain, tuple(whole[:, column] for column in range(k))


@dataclass(frozen=True, slots=True, eq=False)
class Fresh:
    """Each case has new inputs from an unlimited population."""

    source: Source
    domain_of: Callable[[Table], Domain]

    @property
    def finite(self) -> bool:
        """Draws never end."""
        return False

    def draw(self, start: int, n: int, k: int, rng: np.random.Generator) -> Chosen:
        """Draw a table of them."""
        domain = self.domain_of(self.source.batch(start * k, n * k, rng))
        numbers = np.arange(n * k).reshape(n, k)
        return domain, tuple(numbers[:, column].astype(np.intp) for column in range(k))


def worth_drawing(program: Program, domain: Domain) -> NDArray[np.intp]:
    """The inputs that are not certain to be rejected.

    Drawing from these only, and rejecting as before, gives every accepted case the same probability as drawing from
    all inputs would: what is left out could never have been accepted.
    """
    everyone = np.arange(domain.size, dtype=np.intp)
    if len(program.spec.inputs) > 1:
        return everyone
    try:
        return everyone[prepare(program, domain, (everyone,), Given([])).accepted]
    except ReachedError as reached:
        possible = ~reached.rejected
        if reached.way == "whole":
            possible &= np.ceil(reached.low) <= np.floor(reached.high)
        return everyone[possible]
