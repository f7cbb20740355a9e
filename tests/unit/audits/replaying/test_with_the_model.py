"""Evidence put to the model: counterexamples asked about again, everything repeated, and nothing without permission."""

from __future__ import annotations

import os
import pickle
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isonomia.audits.audit_file.permissions import check_allowed
from isonomia.audits.audit_file.planner import plan_audit
from isonomia.audits.audit_file.reader import read_audit_file, recorded_audit_file
from isonomia.audits.audit_file.runner import begin_run, run_checks
from isonomia.audits.protocol import Permissions
from isonomia.audits.replay import RerunProperty, opened_models, rebuilt, recheck, rerun
from isonomia.engine.parameters import NullObserver
from isonomia.errors import DataError, NotAllowedError, SpecError, UsageError
from isonomia.models.loader import load_model
from isonomia.records.evidence import EvidenceFile, evidence_of
from isonomia.records.store import Store
from raising import raises

if TYPE_CHECKING:
    from tests.unit.audits.replaying.conftest import Run

ALLOWED = Permissions(allow_code=True)


def test_a_person_who_reaches_nothing_cannot_be_asked_about(run: Run) -> None:
    (each,) = [each for each in rebuilt(run.evidence).stated if each.name == "shares"]
    check = run.evidence.checks[4]
    assert check.verdict is not None
    first, *rest = check.verdict["counterexamples"]
    silent = {**first, "point": None, "distance": None, "changed": {}}
    changed = replace(check, verdict={**check.verdict, "counterexamples": [silent, *rest]})
    found = recheck(each, changed, load_model(f"{run.module}:model"), Permissions())
    assert found.asked == found.again == len(rest)
    assert "1 say that a person reaches nothing" in str(found.problem)


def test_inputs_of_a_domain_cannot_be_rebuilt(run: Run) -> None:
    check = run.evidence.checks[3]
    entries = {**check.entries, "population": {**check.entries["population"], "kind": "domain"}}
    stated = rebuilt(run.evidence).stated[3]
    found = recheck(stated, replace(check, entries=entries), load_model(f"{run.module}:model"), Permissions())
    assert "domain that the record does not hold" in str(found.problem)


def _rerun(
    run: Run, evidence: EvidenceFile, folder: Path, permissions: Permissions, **models: str
) -> list[RerunProperty]:
    opened = {name: load_model(f"{run.module}:{function}") for name, function in models.items()}
    return list(rerun(evidence, folder, permissions, opened, lambda _: NullObserver()))


def test_other_data_and_another_model_are_noticed(run: Run, tmp_path: Path) -> None:
    people = (run.folder / "people.csv").read_text()
    (tmp_path / "people.csv").write_text(people.replace("F,", "M,", 1))
    found = _rerun(run, run.evidence, tmp_path, Permissions(), default="changed")
    assert all(each.others == ("model", "population") for each in found)
    assert not any(each.same for each in found)
    assert any(each.differences for each in found)


def test_the_texts_of_the_record_are_used_and_not_those_on_disk(run: Run, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text((run.folder / "people.csv").read_text())
    (tmp_path / "priors.nom").write_text("this is no specification")
    (tmp_path / "audit.toml").write_text("this is no audit")
    assert all(each.same for each in _rerun(run, run.evidence, tmp_path, Permissions(), default="model"))


def test_data_that_is_not_there_is_an_error(run: Run, tmp_path: Path) -> None:
    with raises(SpecError, "people.csv", at="sample", cause=DataError):
        _rerun(run, run.evidence, tmp_path, Permissions(), default="model")


PEOPLE = '[population]\nsample = "people.csv"\n'
PROPERTY = '[[property]]\ncheck = "1 < 2"\n'
UNSAFE = [
    ('[model]\nload = "os:system"\n' + PEOPLE, "runs code: the Python module os"),
    ('[model]\nload = "https://example.org/score"\n' + PEOPLE, "sends the rows to example.org"),
    ('[model]\nload = "../model.onnx"\n' + PEOPLE, "reads outside of its folder"),
    ('[model]\nload = "service.toml"\n' + PEOPLE, "sends the rows to localhost:1"),
    ('[model]\nload = "model.skops"\n[model.options]\ntrusted = ["os.system"]\n' + PEOPLE, "gives itself"),
    ('[population]\nsample = "../people.csv"\n', 'sample = "../people.csv" reads outside of its folder'),
    ('[population]\ncensus = "/etc/passwd"\n', "reads outside of its folder: /etc/passwd"),
    ('[population]\ngenerator = "os:getcwd"\n', 'generator = "os:getcwd" runs code'),
    ('[populations.x]\ndomain = "os:environ"\n', 'domain = "os:environ" runs code'),
    (PEOPLE + '[[property]]\nnomos = "x"\nwith = {domains = {x = "/etc/passwd"}}\n', 'domains.x = "/etc/passwd" reads'),
]


@pytest.mark.parametrize(("text", "told"), UNSAFE, ids=[told for _, told in UNSAFE])
def test_what_a_stranger_names_is_neither_run_nor_read_without_permission(tmp_path: Path, text: str, told: str) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    (tmp_path / "model.onnx").write_bytes(b"x")
    (folder / "model.skops").write_bytes(b"x")
    (folder / "service.toml").write_text('[model]\nurl = "http://localhost:1/x"\n')
    file = recorded_audit_file(folder / "audit.toml", text + PROPERTY, {})
    with pytest.raises(NotAllowedError) as caught:
        check_allowed(file, Permissions(), "use {flags}")
    assert told in str(caught.value)
    assert "--allow-code" in str(caught.value) or "code" not in told
    check_allowed(file, replace(ALLOWED, trust_pickle=True), "")


def test_every_permission_that_is_missing_is_asked_for_at_once(tmp_path: Path) -> None:
    (tmp_path / "model.pkl").write_bytes(pickle.dumps([1]))
    text = '[model]\nload = "model.pkl"\n[models.two]\nload = "os:system"\n[population]\nsample = "../people.csv"\n'
    file = recorded_audit_file(tmp_path / "audit.toml", text + PROPERTY, {})
    with pytest.raises(NotAllowedError) as caught:
        check_allowed(file, Permissions(), "use {flags}")
    assert caught.value.permissions == ("allow_code", "trust_pickle")
    assert str(caught.value).endswith("use --allow-code --trust-pickle")
    assert len(caught.value.wants) == 3
    check_allowed(file, Permissions(allow_code=True, trust_pickle=True), "")


def test_a_link_out_of_the_folder_is_outside(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "secret.csv").write_text("a\n1\n")
    (tmp_path / "here" / "people.csv").symlink_to(tmp_path / "secret.csv")
    file = recorded_audit_file(tmp_path / "here" / "audit.toml", PEOPLE + PROPERTY, {})
    with raises(NotAllowedError, "audit.toml", "people.csv", "secret.csv"):
        check_allowed(file, Permissions(), "")


def test_a_model_that_somebody_names_makes_that_of_the_record_harmless(tmp_path: Path) -> None:
    text = '[model]\nload = "os:system"\n' + PEOPLE + PROPERTY
    check_allowed(recorded_audit_file(tmp_path / "audit.toml", text, {}), Permissions(), "", given={"default"})


class _Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return (os.mkdir, (str(self.folder),))


def test_a_pickle_is_opened_only_by_the_person_and_never_by_the_record(tmp_path: Path) -> None:
    trap = tmp_path / "model.pkl"
    trap.write_bytes(pickle.dumps(_Trap(tmp_path / "trapped")))
    text = '[model]\nload = "model.pkl"\n[model.options]\ntrust_pickle = true\n' + PEOPLE + PROPERTY
    file = recorded_audit_file(tmp_path / "audit.toml", text, {})
    with raises(NotAllowedError, "audit.toml", "model.pkl", "trust_pickle"):
        check_allowed(file, Permissions(), "")
    with raises(UsageError, "model.pkl", "trust_pickle=True"):
        opened_models(file, {"default": str(trap)}, Permissions())
    assert not (tmp_path / "trapped").exists()


def test_a_model_that_the_audit_does_not_have_is_refused(tmp_path: Path) -> None:
    file = recorded_audit_file(tmp_path / "audit.toml", PEOPLE + PROPERTY, {})
    with raises(UsageError, "default"):
        opened_models(file, {"default": "x:y"}, Permissions())


def test_a_record_has_no_say_in_how_a_program_is_run(tmp_path: Path) -> None:
    program = tmp_path / "score"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = '[model]\nload = "x:y"\n[model.options]\nno_such_option = "-c"\n' + PEOPLE + PROPERTY
    file = recorded_audit_file(tmp_path / "audit.toml", text, {})
    opened_models(file, {"default": str(program)}, Permissions())
    with raises(UsageError, name="no_such_option"):
        opened_models(file, {"default": str(program)}, ALLOWED)


PROGRAM = """
def popModel():
    sex = step([(0, 1, 0.5), (1, 2, 0.5)])
    points = gaussian(sex, 4)
    sensitiveAttribute(sex < 1)
def F():
    t = points > 0
    fairnessTarget(t)
"""
ON_A_DEVICE = """
seed = 7
[population]
program = "people.fr"
device = "auto"
[[property]]
name = "drawn"
check = "P[target | minority] >= 0.3"
"""


@pytest.fixture(scope="session")
def on_a_device(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, EvidenceFile]:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")
    folder = tmp_path_factory.mktemp("device")
    (folder / "people.fr").write_text(PROGRAM)
    (folder / "audit.toml").write_text(ON_A_DEVICE)
    file, store = read_audit_file(folder / "audit.toml"), Store(folder / ".isonomia")
    planned = plan_audit(file, 7, Permissions())
    run_checks(store, begin_run(store, file, planned, 7), planned, lambda _: NullObserver(), lambda *_: None)
    return folder, evidence_of(store)


def of_another_kind(evidence: EvidenceFile, **changed: Any) -> EvidenceFile:
    """The same record, made on a device that is not here."""
    (check,) = evidence.checks
    assert check.verdict is not None
    people = {**check.verdict["population"], "device": "torch on cuda (NVIDIA H200)"}
    verdict = {**check.verdict, "population": people, "samples": check.verdict["samples"] + 1, **changed}
    return replace(evidence, checks=(replace(check, verdict=verdict),))


def test_a_record_of_the_same_kind_of_device_comes_out_the_same(on_a_device: tuple[Path, EvidenceFile]) -> None:
    folder, evidence = on_a_device
    (again,) = rerun(evidence, folder, Permissions(), {}, lambda _: NullObserver())
    assert again.same
    assert again.devices is None


def test_another_kind_of_device_is_told_and_is_no_sign_of_tampering(on_a_device: tuple[Path, EvidenceFile]) -> None:
    folder, evidence = on_a_device
    (again,) = rerun(of_another_kind(evidence), folder, Permissions(), {}, lambda _: NullObserver())
    assert again.verdict is not None
    assert again.devices == ("torch on cuda (NVIDIA H200)", again.verdict.population["device"])
    assert again.sound
    assert not again.same


def test_what_does_not_hang_on_the_draws_is_still_compared(on_a_device: tuple[Path, EvidenceFile]) -> None:
    folder, evidence = on_a_device
    for changed in ({"answer": "violated"}, {"delta": 0.5}):
        (again,) = rerun(of_another_kind(evidence, **changed), folder, Permissions(), {}, lambda _: NullObserver())
        assert [each.path for each in again.differences] == list(changed)
        assert not again.sound


def test_a_run_does_not_go_on_with_draws_of_another_device(on_a_device: tuple[Path, EvidenceFile]) -> None:
    from isonomia.audits.check import new_check, run_check
    from isonomia.errors import DataError
    from isonomia.populations.program import Program
    from isonomia.records.journal import ReadOnlyJournal

    _, evidence = on_a_device
    check = new_check("P[target | minority] >= 0.3", population=Program.of(PROGRAM, "people.fr"), seed=7)
    with raises(DataError, name="device"):
        run_check(check.with_journal(ReadOnlyJournal(evidence.checks[0].entries)), NullObserver())


# -------------------------------------------------------------------------------------------------------- random models

COIN = """
import numpy as np

rng = np.random.default_rng(1)

def model(table):
    return (rng.random(len(table["x"])) < np.where(np.asarray(table["x"], dtype=float) > 0, 0.8, 0.3)).astype(int)

def other(table):
    return 1 - model(table)
"""
OF_A_COIN = """
seed = 7
delta = 0.001
[model]
load = "a_coin_that_forgets:model"
random = true
[population]
sample = "people.csv"
[[property]]
name = "a rate"
check = "P[prediction == 1] >= 0.4"
[[property]]
name = "flips"
safety = "flips"
with = {feature = "x", eps = 0.02}
"""


@pytest.fixture
def coin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvidenceFile:
    rng = np.random.default_rng(0)
    (tmp_path / "people.csv").write_text("x\n" + "".join(f"{value:.3f}\n" for value in rng.normal(size=3_000)))
    (tmp_path / "a_coin_that_forgets.py").write_text(COIN)
    (tmp_path / "audit.toml").write_text(OF_A_COIN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "a_coin_that_forgets", raising=False)
    file, store = read_audit_file(tmp_path / "audit.toml"), Store(tmp_path / ".isonomia")
    planned = plan_audit(file, 7, ALLOWED)
    run_checks(store, begin_run(store, file, planned, 7), planned, lambda _: NullObserver(), lambda *_: None)
    return evidence_of(store)


def test_other_answers_of_a_random_model_are_no_sign_of_tampering(coin: EvidenceFile, tmp_path: Path) -> None:
    for again, check in zip(rerun(coin, tmp_path, ALLOWED, {}, lambda _: NullObserver()), coin.checks, strict=True):
        assert again.verdict is not None
        assert check.verdict is not None
        assert again.verdict.answer == check.verdict["answer"]
        assert again.sound
        assert again.random
        assert not again.same
        assert not again.differences


def test_a_random_model_that_contradicts_the_record_is_still_reported(coin: EvidenceFile, tmp_path: Path) -> None:
    found = [
        replace(check, verdict={**(check.verdict or {}), "answer": "violated", "delta": 0.5}) for check in coin.checks
    ]
    first, _ = rerun(replace(coin, checks=tuple(found)), tmp_path, ALLOWED, {}, lambda _: NullObserver())
    assert not first.sound
    assert {each.path for each in first.differences} == {"answer", "delta"}


def test_counterexamples_of_a_random_model_need_not_occur_again(coin: EvidenceFile) -> None:
    model = load_model("a_coin_that_forgets:model")
    pairs = zip(rebuilt(coin).stated, coin.checks, strict=True)
    found = [recheck(each, check, model, Permissions()) for each, check in pairs]
    assert all(each.random and each.same for each in found)
    assert found[1].asked == found[1].counterexamples > 0
