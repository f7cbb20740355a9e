"""The verdicts of a run, computed once more from the statistics that it kept, and compared with those it recorded.

Guarantee: a verdict in which nothing differs follows from the statistics in the file by the arithmetic of this version
of Isonomia. What is not implied: that the statistics are those of the model and of the people that they are said to be
of. Only asking them again shows that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

from isonomia.audits.audit_file.planned import Planned, Stated
from isonomia.audits.check import carry_out
from isonomia.audits.journaled import CACHE
from isonomia.audits.replaying.patience import PATIENCE, within
from isonomia.audits.replaying.possible import refuse_impossible
from isonomia.audits.replaying.rebuilding import Rebuilt, stand_in
from isonomia.engine.journal import NothingMoreError, ReadOnly, Watched
from isonomia.engine.observer import Silent
from isonomia.errors import IsonomiaError
from isonomia.records.differences import Difference, differences
from isonomia.records.evidence import CheckEvidence, Evidence
from isonomia.records.verdict import Verdict

__all__ = ["ROUNDING", "Recomputed", "compared", "recomputed"]

ROUNDING = 1e-9
"""By which part of themselves numbers may differ: processors and libraries round the last digits differently."""

TIME = "time "
"""What the keys begin with that tell of a budget of time; one that was not spent decides nothing."""

_NOT_COMPARED = ("seconds", "version")
"""What no recomputation gives: how long it took, and the version that gave the verdict, which is looked at apart."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """One property, computed once more.

    Attributes
    ----------
    name
        The property's name.
    verdict
        The recorded verdict; ``None`` where it could not be checked at the time.
    differences
        Where what was computed differs from what was recorded.
    failure
        Why nothing could be computed, in words.
    seconds
        How long it took.
    """

    name: str
    verdict: Verdict | None
    differences: tuple[Difference, ...] = ()
    failure: str | None = None
    seconds: float = 0.0

    @property
    def sound(self) -> bool:
        """Whether the recorded verdict follows from what the record has."""
        return not self.differences and self.failure is None


def recomputed(evidence: Evidence, audit: Rebuilt, seconds: float = PATIENCE) -> Iterator[Recomputed]:
    """Compute every verdict once more from the statistics alone, each in at most so many seconds."""
    for each, check in zip(audit.stated, evidence.checks, strict=True):
        began = perf_counter()
        compute = partial(_recompute, evidence, each, check)
        found = _attempt(check, compute, seconds)
        yield Recomputed(*found, perf_counter() - began)


def compared(evidence: Evidence, check: CheckEvidence, planned: Planned, verdict: Verdict) -> Iterator[Difference]:
    """Where a verdict, and how it was come by, differ from what is recorded of a check."""
    assert check.verdict is not None
    request = planned.arranged.request
    options = {"delta": request.delta, "line": planned.line, "explanation": request.prop.explain()}
    recorded = {key: check.options.get(key) for key in options}
    yield from differences(check.definition, planned.definition, "definition")
    yield from differences(recorded, options, "options", ROUNDING)
    yield from differences(check.verdict["version"], evidence.run["versions"].get("isonomia"), "version")
    yield from differences(_plain(check.verdict), _plain(verdict.to_dict()), "", ROUNDING)


def _recompute(evidence: Evidence, each: Stated, check: CheckEvidence) -> tuple[tuple[Difference, ...], str | None]:
    assert check.verdict is not None
    planned, journal = stand_in(each, check), Watched(ReadOnly(check.entries))
    refuse_impossible(each, check)
    verdict = carry_out(planned.arranged.with_journal(journal), Silent())
    unused = [key for key in check.entries if key not in journal.read and key != CACHE and not key.startswith(TIME)]
    if unused:
        return (), f"its statistics hold what no such check comes to, {unused[0]!r:.60}: it would have ended before"
    if verdict.stopped == "interrupted" != check.verdict["stopped"]:
        return (), f"its statistics end after {verdict.samples:,} {verdict.counted}, before the answer"
    return tuple(compared(evidence, check, planned, verdict)), None


def _attempt(
    check: CheckEvidence, compute: Callable[[], tuple[tuple[Difference, ...], str | None]], seconds: float
) -> tuple[str, Verdict | None, tuple[Difference, ...], str | None]:
    """Compute, whatever the file holds: what a stranger wrote may break any of the code that reads it."""
    verdict = None
    try:
        if check.verdict is None:
            return check.name, None, (), None
        verdict = Verdict.from_dict(check.verdict)
        with within(seconds):
            return check.name, verdict, *compute()
    except NothingMoreError as error:
        failure = f"its statistics lack {str(error)!r}"
    except IsonomiaError as error:
        failure = str(error)
    except Exception as error:
        failure = f"its statistics cannot be read: {type(error).__name__}: {error}"
    return check.name, verdict, (), failure


def _plain(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON gives it back, without what is not compared."""
    told: dict[str, Any] = json.loads(json.dumps(verdict))
    return {key: value for key, value in told.items() if key not in _NOT_COMPARED}
