"""Two runs side by side: which answers changed, for better or worse, and what else; and where two values differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path
from typing import Any

from isonomia.errors import DataError, RecordError
from isonomia.records.evidence import is_evidence, is_keyed, parse_evidence, seal_problem
from isonomia.records.store import Store
from isonomia.records.strict_json import read_strictly
from isonomia.records.verdict import Verdict
from isonomia.wording import shortened

RANKS: Mapping[str, int] = {"holds": 3, "undecided": 2, "violated": 1, "not checked": 0}
"""How good each answer is. *Undecided* proves nothing, but a property that is no longer checked hides everything."""

NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class RunVerdicts:
    """One of two runs: its name, the versions that computed it, and its verdicts by name.

    A property that could not be checked has the verdict ``None``.
    """

    name: str
    verdicts: Mapping[str, Verdict | None]
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """One property in two runs; its verdict is ``None`` if it was not checked.

    ``others`` is what else changed: ``model``, ``population``, ``property``, ``delta``, ``seed``, ``version``.
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


def changes(before: RunVerdicts, after: RunVerdicts) -> Iterator[PropertyChange]:
    """Every property of either run, those of the first in their order, then the new ones."""
    for name in dict.fromkeys((*before.verdicts, *after.verdicts)):
        first, second = before.verdicts.get(name), after.verdicts.get(name)
        others = () if first is None or second is None else tuple(_others(first, second))
        yield PropertyChange(name, first, second, others)


def run_in_store(store: Store, name: str) -> RunVerdicts:
    """A run in a store; checks that have neither verdict nor error yet are left out."""
    run = store.run(name)
    checks = [check for check in store.checks(run.id) if check.verdict is not None or check.error is not None]
    return RunVerdicts(run.id, {check.name: check.verdict for check in checks}, run.versions)


def run_in_file(path: Path, key: bytes | None = None) -> RunVerdicts:
    """An evidence file, or the verdicts that ``--json`` writes; the key is for a file that was sealed with one."""
    content = read_strictly(path)
    return _run_in_evidence(content, path, key) if is_evidence(content) else _run_in_verdicts(content, path)


def _run_in_evidence(content: Any, path: Path, key: bytes | None) -> RunVerdicts:
    evidence = parse_evidence(content, str(path))
    wrong = seal_problem(content, key if is_keyed(content) else None)
    if wrong is not None:
        raise RecordError(f"{path}: {wrong}. isonomia replay {path} says what is inconsistent")
    verdicts = evidence.verdicts
    pairs = [(each.name, verdicts.get(each.name)) for each in evidence.checks]
    return RunVerdicts(path.name, _each_once(pairs, path), evidence.run["versions"])


def _run_in_verdicts(content: Any, path: Path) -> RunVerdicts:
    verdicts, failures = content, []
    if isinstance(content, dict):
        verdicts, failures = content.get("verdicts"), content.get("failures", [])
    if not isinstance(verdicts, list) or not isinstance(failures, list):
        raise RecordError(f"expected an evidence file or verdicts as --json writes them, but {path} is neither")
    return RunVerdicts(path.name, _each_once([*_verdicts(verdicts, path), *_failures(failures, path)], path))


def _each_once(pairs: Iterable[tuple[str, Verdict | None]], path: Path) -> dict[str, Verdict | None]:
    """Properties by name; a name that occurs twice is refused."""
    by_name: dict[str, Verdict | None] = {}
    for name, verdict in pairs:
        if name in by_name:
            raise RecordError(f"expected every property of {path} once, but {name!r} occurs twice: it is ambiguous")
        by_name[name] = verdict
    return by_name


def _verdicts(items: list[Any], path: Path) -> Iterator[tuple[str, Verdict]]:
    for number, each in enumerate(items, start=1):
        try:
            verdict = Verdict.from_dict(each)
        except DataError as error:
            raise RecordError(f"{path}, verdict {number}: {error}") from error
        yield verdict.name or verdict.text, verdict


def _failures(items: list[Any], path: Path) -> Iterator[tuple[str, None]]:
    for number, each in enumerate(items, start=1):
        name = each.get("name") if isinstance(each, dict) else None
        if not isinstance(name, str):
            raise RecordError(f"{path}, failure {number}: expected a property with a name, but got {str(each)[:60]}")
        yield name, None


def _others(before: Verdict, after: Verdict) -> Iterator[str]:
    if before.model.get("fingerprint") != after.model.get("fingerprint"):
        yield "model"
    if before.population.get("fingerprint") != after.population.get("fingerprint"):
        yield "population"
    if before.text != after.text:
        yield "property"
    by_hand = before.seed_chosen or after.seed_chosen  # a derived seed changes with what it is derived from
    if before.delta != after.delta:
        yield "delta"
    if by_hand and before.seed != after.seed:
        yield "seed"
    if before.version != after.version:
        yield "version"


def _answer(verdict: Verdict | None) -> str:
    return NOT_CHECKED if verdict is None else verdict.answer


ABSENT = "(absent)"
"""Stands for a value that one side does not have."""


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """One place where two values differ: its path, such as ``leaves[0].low``, and both values."""

    path: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.path}: {_brief(self.before)} in the record, {_brief(self.after)} now"


def differences(before: Any, after: Any, path: str = "", rounding: float = 0.0) -> Iterator[ValueDifference]:
    """Every leaf in which two plain values differ.

    Floats may differ by a relative ``rounding``, or by a thousandth of it absolutely, since processors and libraries
    round the last digits differently. Values of different types always differ: 1 is not 1.0, nor ``True``.
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            step = f"{path}.{key}" if path else str(key)
            yield from differences(before.get(key, ABSENT), after.get(key, ABSENT), step, rounding)
    elif isinstance(before, list | tuple) and isinstance(after, list | tuple):
        if len(before) != len(after):
            yield ValueDifference(f"{path}, how many", len(before), len(after))
        for index, (old, new) in enumerate(zip(before, after, strict=False)):
            yield from differences(old, new, f"{path}[{index}]", rounding)
    elif type(before) is not type(after) or not _alike(before, after, rounding):
        yield ValueDifference(path, before, after)


def _alike(before: Any, after: Any, rounding: float) -> bool:
    if isinstance(before, float) and rounding:
        return isclose(before, after, rel_tol=rounding, abs_tol=rounding / 1000.0)
    return repr(before) == repr(after)  # tells -0.0 from 0.0


def _brief(value: Any) -> str:
    return shortened(repr(value), 60)
