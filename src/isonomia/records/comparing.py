"""Two runs side by side: which answers changed, for better or worse, and what else did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isonomia.errors import DataError, RecordError
from isonomia.records.evidence import evidence_in, is_evidence
from isonomia.records.sealing import broken, is_keyed
from isonomia.records.store import Store
from isonomia.records.strict_json import strict_json
from isonomia.records.verdict import Verdict

__all__ = ["Changed", "Side", "changes", "side_of_file", "side_of_run"]

RANKS: Mapping[str, int] = {"holds": 3, "undecided": 2, "violated": 1, "not checked": 0}
"""How good it is to have an answer. *Undecided* proves nothing, but a property that is no longer checked hides all."""

NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Side:
    """One of two runs: what it is called, the versions that computed it, and its verdicts by name.

    A property that could not be checked has the verdict ``None``.
    """

    name: str
    verdicts: Mapping[str, Verdict | None]
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Changed:
    """One property in two runs.

    Attributes
    ----------
    name
        What it is called.
    before, after
        The verdicts; ``None`` where it was not checked.
    others
        What changed besides the answer: ``model``, ``population``, ``property``, ``delta``, ``seed``, ``version``.
    """

    name: str
    before: Verdict | None
    after: Verdict | None
    others: tuple[str, ...]

    @property
    def answers(self) -> tuple[str, str]:
        """Both answers, in words."""
        return _answer(self.before), _answer(self.after)

    @property
    def worse(self) -> bool:
        """Whether the second answer is worse than the first."""
        before, after = self.answers
        return RANKS[after] < RANKS[before]


def changes(before: Side, after: Side) -> Iterator[Changed]:
    """Every property of either run, those of the first in their order, then those that are new."""
    for name in dict.fromkeys((*before.verdicts, *after.verdicts)):
        first, second = before.verdicts.get(name), after.verdicts.get(name)
        yield Changed(name, first, second, () if first is None or second is None else tuple(_others(first, second)))


def side_of_run(store: Store, name: str) -> Side:
    """A run of a store; checks that have neither verdict nor error yet are left out.

    Raises
    ------
    RecordError
        Where there is no such run.
    """
    run = store.run(name)
    checks = [check for check in store.checks(run.id) if check.verdict is not None or check.error is not None]
    return Side(run.id, {check.name: check.verdict for check in checks}, run.versions)


def side_of_file(path: Path, key: bytes | None = None) -> Side:
    """An evidence file, or the verdicts that ``--json`` writes; the key is for a file that was sealed with one.

    Raises
    ------
    RecordError
        Where it is neither, or the seal of an evidence file is broken.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordError(f"expected a file that can be read, but {path}: {error.strerror}") from error
    content = strict_json(data, str(path))
    if is_evidence(content):
        evidence = evidence_in(content, str(path))
        wrong = broken(content, key if is_keyed(content) else None)
        if wrong is not None:
            raise RecordError(f"{path}: {wrong}. isonomia replay {path} says what does not fit")
        verdicts = evidence.verdicts
        return Side(
            path.name, {each.name: verdicts.get(each.name) for each in evidence.checks}, evidence.run["versions"]
        )
    listed, failed = content, []
    if isinstance(content, dict):
        listed, failed = content.get("verdicts"), content.get("failures", [])
    if not isinstance(listed, list) or not isinstance(failed, list):
        raise RecordError(f"expected an evidence file or verdicts as --json writes them, but {path} is neither")
    unchecked = {str(each.get("name")): None for each in failed if isinstance(each, dict)}
    return Side(path.name, {**dict(_named(listed, path)), **unchecked})


def _named(listed: list[Any], path: Path) -> Iterator[tuple[str, Verdict]]:
    for number, each in enumerate(listed):
        try:
            verdict = Verdict.from_dict(each)
        except DataError as error:
            raise RecordError(f"{path}, verdict {number + 1}: {error}") from error
        yield verdict.name or verdict.text, verdict


def _others(before: Verdict, after: Verdict) -> Iterator[str]:
    for what in ("model", "population"):
        if getattr(before, what).get("fingerprint") != getattr(after, what).get("fingerprint"):
            yield what
    if before.text != after.text:
        yield "property"
    for what in ("delta", "seed", "version"):
        if getattr(before, what) != getattr(after, what):
            yield what


def _answer(verdict: Verdict | None) -> str:
    return NOT_CHECKED if verdict is None else verdict.answer
