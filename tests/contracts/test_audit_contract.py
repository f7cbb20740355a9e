"""One contract for every audit: what runs, goes on, is repeated, is doubted and is shown for all of them alike."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import rates_cases
from audit_cases import CASES, CHANGES, HEAD, MODEL, NOMOS, AuditCases, people_csv, statistics, variants
from repeatable_checks import Entries, Notebook, Repeatable, resumes_at, timeless
from rich.console import Console
from toy_audit import TOY, registered
from typer.testing import CliRunner

import isonomia as iso
from isonomia.audits.audit_file.planner import PlannedCheck, plan_audit
from isonomia.audits.audit_file.reader import AuditFile, read_audit_file
from isonomia.audits.audit_file.runner import begin_run, resume_run, run_checks
from isonomia.audits.check import run_check
from isonomia.audits.protocol import Permissions
from isonomia.audits.registry import AUDITS, audit_for
from isonomia.audits.replay import (
    CounterexampleRecheck,
    RebuiltAudit,
    RecomputedProperty,
    rebuilt,
    recheck,
    recomputed,
    rerun,
)
from isonomia.cli.app import app
from isonomia.engine.parameters import NullObserver, Progress
from isonomia.errors import IsonomiaError
from isonomia.models.loader import load_model
from isonomia.records.compare import changes, run_in_file, run_in_store
from isonomia.records.evidence import CheckEvidence, EvidenceFile, evidence_of, evidence_text, read_evidence
from isonomia.records.journal import MissingEntryError
from isonomia.records.store import ANSWER_PREFIX, Store
from isonomia.report import show
from isonomia.report.entries import AuditReport, Entry
from isonomia.report.files import as_json
from isonomia.report.junit import junit
from isonomia.report.markdown import as_markdown
from isonomia.report.page import page
from isonomia.report.sarif import sarif

SEED = 7


@pytest.fixture(scope="module", autouse=True)
def every_audit() -> Iterator[None]:
    """The audits and the toy, in small steps."""
    with registered(TOY), pytest.MonkeyPatch.context() as patch:
        for cases in CASES.values():
            if cases.small_steps is not None:
                patch.setattr(*cases.small_steps)
        yield


BATCHES = {"first": 1024, "growth": 1.04, "early": 1.25, "most": 2**18, "draws_only": True}


def test_every_audit_has_cases() -> None:
    """Claim: whoever registers an audit is told to add its cases here."""
    assert {audit.kind for audit in AUDITS} == CASES.keys()
    for audit in AUDITS:
        cases = CASES[audit.kind]
        assert cases.tampered
        assert {*cases.tampered, *cases.slow, *cases.timed, *cases.stepless} <= cases.checks.keys()
        assert all(audit_for(make().check().prop) is audit for make in cases.checks.values())


# ----------------------------------------------------------------------------------------------------------- one check


@dataclass(frozen=True)
class Case:
    """A check of an audit that was run: what it came to, and what it kept."""

    name: str
    cases: AuditCases
    check: Repeatable
    verdict: iso.Verdict
    entries: Entries

    @property
    def timed(self) -> bool:
        return self.name in self.cases.timed

    @property
    def slow(self) -> bool:
        return self.name in self.cases.slow

    def replayed(self, entries: Mapping[str, Any]) -> iso.Verdict:
        return self.check.replayed(entries, self.cases.bare(self.check.prop))


@cache
def run_once(kind: str, name: str) -> Case:
    """Each check is run once for all tests of the contract; they leave it as it is."""
    cases = CASES[kind]
    check = cases.checks[name]()
    return Case(name, cases, check, *check.run())


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Case:
    return run_once(*request.param)


def _over(names: str, *without: str) -> pytest.MarkDecorator:
    """Parametrise a test over the checks of every audit, but for those that are, say, slow."""
    pairs = [
        (kind, name)
        for kind, cases in CASES.items()
        for name in getattr(cases, names)
        if not any(name in getattr(cases, left_out) for left_out in without)
    ]
    return pytest.mark.parametrize("case", pairs, indirect=True, ids=[f"{kind}: {name}" for kind, name in pairs])


@_over("checks", "timed", "slow")
def test_the_same_seed_gives_the_same_verdict_with_a_journal_and_without(case: Case) -> None:
    assert case.check.run_without_journal() == case.verdict


@_over("checks", "timed")
def test_a_check_that_is_cut_off_goes_on_to_the_same_end(case: Case) -> None:
    size, most = len(case.entries), None if case.verdict.method == "exact" else case.cases.most_cuts
    # Behind the last entry it is the check whose journal is complete.
    cuts = range(1, size) if most is None else sorted({size * k // (most + 1) for k in range(1, most + 1)})
    resumes_at([1] if case.slow else cuts, case.check, case.verdict, case.entries)


@dataclass
class Impatient:
    """Somebody who presses Ctrl-C after so many steps."""

    steps: int

    def begin(self, text: str) -> None:
        pass

    def end(self) -> None:
        pass

    def advance(self, progress: Progress) -> None:  # noqa: ARG002
        self.steps -= 1
        if self.steps == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("step", [1, 2])
@_over("checks", "timed", "slow")
def test_a_check_that_is_interrupted_goes_on_to_the_same_end(case: Case, step: int) -> None:
    """Claim: a check ends early at every step that it reports, and each says whether it reports any."""
    journal, user = Notebook(), Impatient(step)
    verdict = run_check(case.check.check().with_journal(journal), user)
    if case.name in case.cases.stepless:
        assert user.steps == step
    else:
        assert user.steps < step
    if user.steps == 0:
        assert verdict.stopped == "interrupted"
        verdict, entries = case.check.run(journal.entries)
    else:
        entries = journal.entries
    assert replace(verdict, seconds=0.0) == replace(case.verdict, seconds=0.0)
    assert timeless(entries) == timeless(case.entries)


@_over("checks", "slow")  # those are repeated without a model
def test_a_check_whose_journal_is_complete_asks_nothing(case: Case) -> None:
    before = case.check.calls
    verdict, entries = case.check.run(case.entries)
    assert case.check.calls == before
    assert verdict == case.verdict
    assert timeless(entries) == timeless(case.entries)


@_over("checks")
def test_a_check_is_repeated_from_its_numbers_alone(case: Case) -> None:
    assert case.replayed(case.entries) == case.verdict


@_over("checks")
def test_a_verdict_survives_json(case: Case) -> None:
    stored = json.loads(json.dumps(case.verdict.to_dict(), allow_nan=False))
    assert iso.Verdict.from_dict(stored).to_dict() == case.verdict.to_dict()


def test_a_check_on_a_device_is_repeated_from_its_numbers_alone() -> None:
    """Claim: batches are as large there as they were, although nobody can be drawn there."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")
    population = iso.Program.of(rates_cases.PROGRAM, device="cpu")
    check = Repeatable("P[points > 0 | group > 1] >= 0.45", None, population, {})
    verdict, entries = check.run()
    assert verdict.method == "bets"
    assert check.replayed(entries) == verdict


@pytest.mark.parametrize(
    "batches", [[], {}, {"first": 1}, {**BATCHES, "first": 0}, {**BATCHES, "growth": "2"}, {**BATCHES, "most": 2**54}]
)
def test_batches_of_no_size_are_refused(batches: Any) -> None:
    _, entries = rates_cases.CHECKS["a program, drawn"]().run()
    population = {**entries["population"], "batches": batches}
    assert entries["population"]["batches"].keys() == BATCHES.keys()
    with pytest.raises(IsonomiaError, match="the sizes of its batches are"):
        rates_cases.CHECKS["a program, drawn"]().replayed({**entries, "population": population})


@_over("tampered")
def test_a_number_that_is_changed_changes_the_verdict_or_is_refused(case: Case) -> None:
    paths = statistics(case.entries, lambda path: case.cases.beside(case.name, path))
    tried = 0
    for path in paths:
        for changed in variants(_at(case.entries, path)):
            tried += 1
            with suppress(IsonomiaError, MissingEntryError):
                assert case.replayed(_with(case.entries, path, changed)) != case.verdict, path
    assert tried > case.cases.least_tried


@_over("tampered")
def test_a_journal_that_lacks_an_entry_gives_no_verdict(case: Case) -> None:
    for key in case.entries:
        if not key.startswith((ANSWER_PREFIX, "population", "model", "queries")):
            lacking = {other: entry for other, entry in case.entries.items() if other != key}
            try:
                verdict = case.replayed(lacking)
            except MissingEntryError:
                continue
            assert verdict.stopped == "interrupted", key


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _with(entries: Entries, path: tuple[Any, ...], value: Any) -> Entries:
    changed = copy.deepcopy(entries)
    _at(changed, path[:-1])[path[-1]] = value
    return changed


# ------------------------------------------------------------------------------------------------------- an audit file


@dataclass(frozen=True)
class Run:
    """An audit file that states properties of one audit, run, and its evidence."""

    cases: AuditCases
    folder: Path
    module: str
    file: AuditFile
    store: Store
    evidence: EvidenceFile

    def planned(self) -> list[PlannedCheck]:
        return plan_audit(self.file, SEED, Permissions())

    @property
    def audit(self) -> AuditReport:
        return AuditReport("Contract", tuple(Entry(name, verdict) for name, verdict in self.evidence.verdicts.items()))


@pytest.fixture(scope="module", params=CASES)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    cases, folder = CASES[request.param], tmp_path_factory.mktemp("contract")
    module = f"model_of_the_contract_{list(CASES).index(request.param)}"
    (folder / "people.csv").write_text(people_csv())
    (folder / "changes.toml").write_text(CHANGES)
    (folder / "priors.nom").write_text(NOMOS)
    (folder / f"{module}.py").write_text(MODEL)
    (folder / "audit.toml").write_text(HEAD.format(module=module) + cases.tables)
    sys.path.insert(0, str(folder))
    try:
        file, store = read_audit_file(folder / "audit.toml"), Store(folder / ".isonomia")
        planned = plan_audit(file, SEED, Permissions())
        run_checks(store, begin_run(store, file, planned, SEED), planned, lambda _: NullObserver(), lambda *_: None)
        yield Run(cases, folder, module, file, store, evidence_of(store))
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(module, None)


def test_properties_of_an_audit_file_have_verdicts_that_follow_from_their_evidence(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "evidence.json"
    path.write_text(evidence_text(run.evidence))
    evidence = read_evidence(path)
    assert evidence == run.evidence
    audit = rebuilt(evidence)
    assert not audit.contradictions
    assert all(check.verdict is not None for check in evidence.checks)
    found = list(recomputed(evidence, audit))
    assert [each.name for each in found] == [check.name for check in evidence.checks]
    assert [each for each in found if not each.sound] == []
    assert [each.verdict for each in found] == [check.verdict for check in run.store.checks(evidence.run["id"])]
    for before, after in ((run_in_store(run.store, "latest"), run_in_file(path)), (run_in_file(path),) * 2):
        assert all(each.before == each.after and not each.others for each in changes(before, after))


def test_a_run_that_is_interrupted_and_resumed_comes_to_the_same_verdicts(run: Run, tmp_path: Path) -> None:
    store = Store(tmp_path)
    cut = run_checks(
        store, begin_run(store, run.file, run.planned(), SEED), run.planned(), lambda _: Impatient(1), lambda *_: None
    )
    assert any(outcome is None or getattr(outcome, "stopped", None) == "interrupted" for outcome in cut)
    planned = run.planned()
    started = resume_run(store, run.file, store.run("latest"), planned)
    run_checks(store, started, planned, lambda _: NullObserver(), lambda *_: None)
    resumed = evidence_of(store).verdicts
    assert {name: replace(verdict, seconds=0.0) for name, verdict in resumed.items()} == {
        name: replace(verdict, seconds=0.0) for name, verdict in run.evidence.verdicts.items()
    }


def test_everything_done_anew_is_the_same(run: Run) -> None:
    found = rerun(run.evidence, run.folder, Permissions(allow_code=True), {}, lambda _: NullObserver())
    assert [(each.name, each.same) for each in found] == [(check.name, True) for check in run.evidence.checks]


def _asked(run: Run, function: str) -> list[CounterexampleRecheck]:
    model = load_model(f"{run.module}:{function}")
    pairs = zip(rebuilt(run.evidence).stated, run.evidence.checks, strict=True)
    return [recheck(each, check, model, Permissions()) for each, check in pairs]


def test_counterexamples_occur_again_in_the_model_and_not_in_another(run: Run) -> None:
    same, other = _asked(run, "model"), _asked(run, "changed")
    assert any(each.counterexamples for each in same) == run.cases.has_counterexamples
    for each in same:
        assert each.again == each.asked == each.counterexamples
        assert each.problem is None
        assert each.same
    assert not any(each.again or each.same for each in other)
    assert any(each.asked for each in other) == run.cases.has_counterexamples


STRANGE: list[Any] = [
    {},
    {"inputs": 3, "choices": []},
    {"inputs": {"x1": {}}, "choices": []},
    {"point": {"points": "x"}},
    {"person": None},
]


def test_strange_counterexamples_are_a_problem_and_no_crash(run: Run) -> None:
    model = load_model(f"{run.module}:model")
    for each, check in zip(rebuilt(run.evidence).stated, run.evidence.checks, strict=True):
        for strange in STRANGE:
            changed = replace(check, verdict={**(check.verdict or {}), "counterexamples": [strange]})
            assert recheck(each, changed, model, Permissions()).again == 0


# ------------------------------------------------------------------------------------------------------------ tampering


def _recomputed(run: Run, audit: RebuiltAudit, number: int, check: CheckEvidence) -> RecomputedProperty:
    evidence, alone = replace(run.evidence, checks=(check,)), replace(audit, stated=(audit.stated[number],))
    (result,) = recomputed(evidence, alone)
    return result


MOST_PATHS = 6
"""Of the numbers of one check, how many are changed; evenly spread."""


def test_numbers_that_cannot_be_are_noticed_and_never_crash(run: Run) -> None:
    audit = rebuilt(run.evidence)
    for number, check in enumerate(run.evidence.checks):
        entries = dict(check.entries)
        paths = statistics(entries, lambda path, name=check.name: run.cases.beside(name, path))  # type: ignore[misc]
        assert paths
        for path in paths[:: -(-len(paths) // MOST_PATHS)]:
            for value in (-1, 10**12, None, "x", []):
                changed = replace(check, entries=_with(entries, path, value))
                assert not _recomputed(run, audit, number, changed).sound, (check.name, path, value)


def test_entries_that_are_taken_away_or_emptied_are_noticed(run: Run) -> None:
    audit = rebuilt(run.evidence)
    for number, check in enumerate(run.evidence.checks):
        for key in check.entries:
            fewer = {other: entry for other, entry in check.entries.items() if other != key}
            for entries in (fewer, {**check.entries, key: {}}):
                result = _recomputed(run, audit, number, replace(check, entries=entries))
                if check.entries[key] != entries.get(key):
                    assert not result.sound, (check.name, key)


def test_a_verdict_that_was_changed_is_noticed(run: Run) -> None:
    audit = rebuilt(run.evidence)
    others = {"holds": "violated", "violated": "holds", "undecided": "holds"}
    for number, check in enumerate(run.evidence.checks):
        assert check.verdict is not None
        changed = replace(check, verdict={**check.verdict, "answer": others[check.verdict["answer"]]})
        assert not _recomputed(run, audit, number, changed).sound


# -------------------------------------------------------------------------------------------------------------- showing


def _terminal(verdict: iso.Verdict) -> str:
    file = StringIO()
    show(verdict, Console(file=file, width=100))
    return file.getvalue()


@_over("checks")
def test_every_renderer_shows_the_answer(case: Case) -> None:
    verdict = case.verdict
    audit = AuditReport("Contract", (Entry("a name", verdict),))
    shown = {
        "text": str(verdict),
        "notebook": verdict._repr_html_(),
        "terminal": _terminal(verdict),
        "markdown": as_markdown(audit),
    }
    assert {medium for medium, text in shown.items() if verdict.answer not in text.lower()} == set()
    (tested,) = ElementTree.fromstring(junit(audit)).iter("testcase")
    marks = {"violated": "failure", "undecided": "error", "holds": "system-out"}
    assert [child.tag for child in tested] == [marks[verdict.answer]]
    (result,) = json.loads(sarif(audit))["runs"][0]["results"]
    assert result["properties"]["answer"] == verdict.answer
    (written,) = json.loads(as_json(audit))["verdicts"]
    assert written["answer"] == verdict.answer


def test_the_page_shows_every_answer(run: Run) -> None:
    text = page(run.audit)
    for name, verdict in run.evidence.verdicts.items():
        assert name in text
        assert verdict.answer in text.lower()
        assert audit_for(run.planned()[0].check.prop).view.title in text


@pytest.mark.parametrize("run", [TOY.kind], indirect=True)
def test_the_commands_know_a_fifth_audit(run: Run, tmp_path: Path) -> None:
    """Claim: it is run, resumed, replayed and reported by the same commands, without a word about it in them."""

    def isonomia(*arguments: object) -> str:
        done = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "200", "NO_COLOR": "1"})
        assert done.exit_code in {0, 1}, done.output
        return done.output

    records, report, evidence = tmp_path / "records", tmp_path / "report.html", tmp_path / "evidence.json"
    told = isonomia("run", run.folder / "audit.toml", "--allow-code", "--records", records, "--report", report)
    assert "5 of 8 people are answered otherwise" in told
    assert TOY.view.title in report.read_text(encoding="utf-8")
    assert "all refused" in isonomia("show", "--records", records)
    isonomia("export", "--records", records, "--output", evidence)
    isonomia("compare", evidence, evidence)
    assert "follow" in isonomia("replay", evidence)
