"""What measuring needs: the inputs, and the model behind a program. It is set up when something is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from isonomia.audits.ksafety.asking import Questioner
from isonomia.audits.ksafety.checking import check_meaning
from isonomia.audits.ksafety.described import described
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.request import Request
from isonomia.audits.ksafety.running import Runner
from isonomia.audits.ksafety.subject import domain_of, offered_functions
from isonomia.audits.rates.asking import Asker
from isonomia.engine.journal import Apart, Entry, Journal
from isonomia.errors import SpecError
from isonomia.populations.domains import Domain
from isonomia.populations.table import Table

__all__ = ["Bench"]

_RANDOM_WORDS = frozenset(
    {"random", "default_rng", "rand", "randn", "randint", "shuffle", "choice", "secrets", "urandom", "uuid"}
)


@dataclass
class Bench:
    """Where cases are computed and the model is asked.

    A check that finds everything in its journal never sets it up: then no module is imported, no input is looked at and
    no block is run.
    """

    request: Request
    _askers: list[Asker] = field(default_factory=list)

    @cached_property
    def _made(self) -> tuple[Domain, Callable[[Table], Domain] | None]:
        request = self.request
        domain, make = domain_of(request, offered_functions(request.prop, request.population))
        check_meaning(request.prop.spec, domain)
        return domain, make

    @property
    def domain(self) -> Domain:
        """The inputs; of an unlimited population some that show what they are like."""
        return self._made[0]

    @property
    def make(self) -> Callable[[Table], Domain] | None:
        """For an unlimited population, how inputs are made of what is drawn."""
        return self._made[1]

    def describe(self) -> Entry:
        """What has to be known of the inputs."""
        return described(self.request, self.domain, self.make is not None)

    def runner(self, program: Program, random: frozenset[str], apart: str | None = None) -> Runner:
        """Set a program up with the model.

        Parameters
        ----------
        program
            What is computed.
        random
            The functions that draw.
        apart
            What the model's answers are kept for, where that is done apart from all others.

        Raises
        ------
        SpecError
            Where the block would be run as Python, and that is not allowed.
        """
        request = self.request
        _ask_permission(program, request.prop.allow_code)
        journal: Journal = request.journal if apart is None else Apart(request.journal, apart)
        asker = Asker(request.model, request.workers, journal)
        self._askers.append(asker)
        draws = program.code is not None and bool(program.code.reads & (random | _RANDOM_WORDS))
        return Runner(program, Questioner(asker), request.prop.seconds, draws)

    def close(self) -> None:
        """Let go of what was needed for asking."""
        for asker in self._askers:
            asker.close()


def _ask_permission(program: Program, allowed: bool) -> None:
    if program.code is not None and not allowed:
        raise SpecError(
            f"the block is more than plain calls and arithmetic ({program.code.reason}), so it would be run as Python, "
            "which can do anything that you can do. Allow it with allow_code=True or --allow-code if you trust it",
            program.code.place or program.spec.block.place,
        )
