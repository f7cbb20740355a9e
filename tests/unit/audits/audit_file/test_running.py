"""Running audit files: every kind of property, people and answers shared, nothing lost."""

from __future__ import annotations

import importlib
import linecache
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import isonomia as iso
from isonomia.audits.audit_file.planner import PlannedCheck, plan_audit
from isonomia.audits.audit_file.reader import read_audit_file
from isonomia.audits.audit_file.runner import (
    FailedCheck,
    Outcome,
    begin_run,
    is_open,
    resumable,
    resume_run,
    run_checks,
)
from isonomia.audits.protocol import Permissions
from isonomia.engine.parameters import NullObserver
from isonomia.errors import RecordError, SpecError
from isonomia.records.store import Store
from isonomia.records.verdict import Verdict
from raising import raises

MODULE = """
import numpy as np

asked = []


def model(table):
    points = np.asarray(table["points"])
    asked.append(len(points))
    return ((points > 0.4) & (np.asarray(table["priors"]) < 4)).astype(int)


def draw(n, rng):
    return {
        "sex": rng.choice(["F", "M"], n),
        "points": rng.random(n),
        "priors": rng.integers(0, 6, n),
        "passed": rng.integers(0, 2, n),
    }
"""
HEAD = """
title = "Hiring"
seed = 7

[model]
load = "{module}:model"
"""
RATE = """
[[property]]
name = "rate {k}"
check = "P[prediction == 1 | sex == '{sex}'] >= {least}"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Path]:
    module = f"hiring_{abs(hash(request.node.nodeid))}"
    (tmp_path / f"{module}.py").write_text(MODULE)
    rng = np.random.default_rng(5)
    n = 8000
    rows = zip(
        rng.choice(["F", "M"], n), rng.random(n).round(4), rng.integers(0, 6, n), rng.integers(0, 2, n), strict=True
    )
    lines = ["sex,points,priors,passed", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "head").write_text(HEAD.format(module=module))
    yield tmp_path
    sys.modules.pop(module, None)


def _planned(folder: Path, body: str, seed: int = 7) -> list[PlannedCheck]:
    file = folder / "audit.toml"
    file.write_text((folder / "head").read_text() + body)
    return plan_audit(read_audit_file(file), seed, Permissions())


def _run(folder: Path, planned: list[PlannedCheck], store: Store) -> list[Verdict]:
    started = begin_run(store, read_audit_file(folder / "audit.toml"), planned, 7)
    return _all(run_checks(store, started, planned, lambda _: NullObserver(), lambda *_: None))


def _all(outcomes: list[Outcome | None]) -> list[Verdict]:
    verdicts = [outcome for outcome in outcomes if isinstance(outcome, Verdict)]
    assert len(verdicts) == len(outcomes), outcomes
    return verdicts


def _asked(folder: Path) -> list[int]:
    (module,) = [sys.modules[path.stem] for path in folder.glob("hiring_*.py")]
    return module.asked  # type: ignore[no-any-return]


POPULATIONS = {
    "sample": '[population]\nsample = "people.csv"\n',
    "census": '[population]\ncensus = "people.csv"\n',
    "generator": '[population]\ngenerator = "{module}:draw"\n',
}


TABLES = """
import duckdb
import ibis

import isonomia as iso

database = duckdb.connect("loans.duckdb")
database.execute("CREATE OR REPLACE TABLE loans AS SELECT * FROM read_csv('people.csv')")
relation = database.table("loans")
elsewhere = ibis.memtable(relation.to_arrow_table())


def view():
    return database.sql("SELECT * FROM loans WHERE priors < 3")
"""
STORED = """
[[property]]
name = "stored"
looks = "once"
check = "P[passed == 1 | sex == 'F'] / P[passed == 1 | sex == 'M'] >= 0.8"
"""


@pytest.mark.parametrize("kind", ["census", "sample"])
@pytest.mark.parametrize("name", ["relation", "elsewhere", "view"])
def test_a_table_in_an_engine_is_named_by_its_module(folder: Path, kind: str, name: str) -> None:
    module = f"tables_{abs(hash(name + kind + str(folder)))}"
    (folder / f"{module}.py").write_text(TABLES)
    (folder / "head").write_text("")
    audit = f'[population]\n{kind} = "{module}:{name}"\n{STORED}'
    found = _run(folder, _planned(folder, audit), Store(folder / "records"))[0]
    tables = importlib.import_module(module)
    held = tables.view() if name == "view" else tables.relation
    people = {"census": iso.Census, "sample": iso.Sample}[kind](held.to_arrow_table())
    expected = iso.check(
        "P[passed == 1 | sex == 'F'] / P[passed == 1 | sex == 'M'] >= 0.8", population=people, looks="once", seed=7
    )
    assert (found.answer, found.samples, found.leaves) == (expected.answer, expected.samples, expected.leaves)
    with pytest.raises(SpecError) as refused:
        _planned(folder, f'[population]\ncensus = "{module}:nothing"\n{STORED}')
    assert refused.value.place is not None
    assert refused.value.place.line == 2
    tables.database.close()
    sys.modules.pop(module)


@pytest.mark.parametrize("kind", POPULATIONS)
def test_a_dozen_properties_cost_little_more_than_the_dearest_alone(folder: Path, kind: str) -> None:
    (module,) = [path.stem for path in folder.glob("hiring_*.py")]
    population = POPULATIONS[kind].format(module=module)
    rates = [(("F", "M")[k % 2], 0.2 + 0.013 * k) for k in range(12)]
    texts = [RATE.format(k=k, sex=sex, least=round(least, 3)) for k, (sex, least) in enumerate(rates)]
    alone = []
    for text in texts:
        planned = _planned(folder, population + text.replace("check", f"delta = {0.05 / 12!r}\ncheck"))
        _asked(folder).clear()
        verdicts = _run(folder, planned, Store(folder / "alone"))
        alone.append((sum(_asked(folder)), verdicts[0].answer))
    planned = _planned(folder, population + "".join(texts))
    assert [each.check.delta for each in planned] == [0.05 / 12] * 12
    _asked(folder).clear()
    together = _run(folder, planned, Store(folder / "together"))
    cost, dearest = sum(_asked(folder)), max(rows for rows, _ in alone)
    if kind == "generator":  # whose shared draws are other draws than a check's own
        dearest = max(verdict.samples for verdict in together)
    assert cost <= 1.3 * dearest, f"{cost} rows together, {dearest} for the dearest alone"
    assert sum(rows for rows, _ in alone) > 2 * cost
    wrong = {("holds", "violated"), ("violated", "holds")}
    assert not wrong & {(answer, verdict.answer) for (_, answer), verdict in zip(alone, together, strict=True)}
    if kind == "census":
        assert [verdict.answer for verdict in together] == [answer for _, answer in alone]


ALL_KINDS = """
[population]
sample = "people.csv"

[populations.all]
census = "people.csv"

[interventions]
changes = "changes.toml"

[[property]]
name = "a formula"
check = "P[prediction == 1 | sex == 'F'] >= 0.2"

[[property]]
name = "a fairness property"
fairness = "demographic_parity"
with = {attribute = "sex", minority = "F", majority = "M", difference = 0.1}

[[property]]
name = "a named relation"
safety = "monotone"
population = "all"
with = {feature = "priors", up = [1, 2], at_most = 5, output = "not higher"}

[[property]]
name = "a specification"
nomos = "points.nom"
population = "all"

[[property]]
name = "shares"
responsiveness = "share"
population = "all"
with = {interventions = "changes", target = 1, at_least = 0.01, who = "prediction == 0 and points > 0.99"}

[[property]]
name = "strata"
principal = true
population = "all"
with = {attribute = "sex", outcome = "passed", within = 0.5}
"""
NOMOS = """
input x1;
var x2 := setFeat(x1, "points", 0.9);
requires getFeat(x1, "points") < 0.5;
output d1;
output d2;
{
    d1 = predict(x1)
    d2 = predict(x2)
}
ensures d1 <= d2;
"""


def _all_kinds(folder: Path) -> list[PlannedCheck]:
    (folder / "points.nom").write_text(NOMOS)
    (folder / "changes.toml").write_text(
        '[features.points]\nkind = "real"\nlow = 0.0\nhigh = 1.0\n\n'
        '[features.priors]\nkind = "integer"\nlow = 0\nhigh = 5\ndirection = "down"\n'
    )
    return _planned(folder, ALL_KINDS)


def test_a_file_may_hold_properties_of_every_kind(folder: Path) -> None:
    planned = _all_kinds(folder)
    verdicts = _run(folder, planned, Store(folder / ".isonomia"))
    assert [verdict.name for verdict in verdicts] == [each.name for each in planned]
    answers = {verdict.name: verdict.answer for verdict in verdicts}
    assert answers["a formula"] == answers["a named relation"] == answers["a specification"] == "holds"
    store = Store(folder / ".isonomia")
    assert [check.verdict for check in store.checks(store.run().id)] == verdicts
    assert store.run().ended is not None


def test_a_specification_may_import_a_population_of_the_file(folder: Path) -> None:
    body = ALL_KINDS.replace('nomos = "points.nom"\npopulation = "all"', 'nomos = "points.nom"')
    _all_kinds(folder)
    (folder / "points.nom").write_text("import all;\n" + NOMOS)
    (each,) = [each for each in _planned(folder, body) if each.name == "a specification"]
    assert each.check.population.kind == "census"  # type: ignore[union-attr]
    (folder / "points.nom").write_text(NOMOS)
    (each,) = [each for each in _planned(folder, body) if each.name == "a specification"]
    assert each.check.population.kind == "sample"  # type: ignore[union-attr]


def test_the_whole_risk_is_divided_over_the_properties_that_state_none(folder: Path) -> None:
    body = POPULATIONS["sample"] + RATE.format(k=1, sex="F", least=0.2) + "delta = 0.001\n"
    body += RATE.format(k=2, sex="M", least=0.2) + RATE.format(k=3, sex="M", least=0.3)
    (folder / "head").write_text("delta = 0.02\n" + (folder / "head").read_text())
    assert [each.check.delta for each in _planned(folder, body)] == [0.001, 0.01, 0.01]


class CutOffError(Exception):
    """Stands for the end of a process."""


class _Cut:
    """An observer that ends everything after so many batches."""

    def __init__(self, after: int) -> None:
        self.left = after

    def begin(self, text: str) -> None:
        del text

    def advance(self, progress: object) -> None:
        del progress
        self.left -= 1
        if self.left == 0:
            raise CutOffError

    def end(self) -> None:
        pass


def _plain(verdict: Verdict) -> dict[str, object]:
    return {key: value for key, value in verdict.to_dict().items() if key not in {"seconds", "queries", "repeated"}}


def test_a_run_that_is_cut_off_again_and_again_ends_as_the_undisturbed_one(folder: Path) -> None:
    undisturbed = _run(folder, _all_kinds(folder), Store(folder / "whole"))
    store, file = Store(folder / "cut"), read_audit_file(folder / "audit.toml")
    started = begin_run(store, file, _all_kinds(folder), 7)
    verdicts: list[Verdict] = []
    cuts = 0
    while not verdicts:
        planned = _all_kinds(folder)
        try:
            verdicts = _all(run_checks(store, started, planned, lambda _: _Cut(1 + 4 * cuts), lambda *_: None))  # noqa: B023
        except CutOffError:
            cuts += 1
            started = resume_run(store, file, resumable(store, file), planned)
    assert cuts > 5
    assert [_plain(verdict) for verdict in verdicts] == [_plain(verdict) for verdict in undisturbed]


def test_ctrl_c_leaves_a_check_open_and_the_next_run_goes_on(folder: Path) -> None:
    class Impatient(_Cut):
        def advance(self, progress: object) -> None:
            try:
                super().advance(progress)
            except CutOffError:
                raise KeyboardInterrupt from None

    body = POPULATIONS["sample"] + RATE.format(k=1, sex="F", least=0.37) + RATE.format(k=2, sex="M", least=0.2)
    planned, store = _planned(folder, body), Store(folder / ".isonomia")
    file = read_audit_file(folder / "audit.toml")
    whole = _run(folder, planned, Store(folder / "whole"))
    first = run_checks(store, begin_run(store, file, planned, 7), planned, lambda _: Impatient(5), lambda *_: None)
    assert isinstance(first[0], Verdict)
    assert (first[0].answer, first[0].stopped, first[1]) == ("undecided", "interrupted", None)
    again = resume_run(store, file, resumable(store, file), planned)
    assert again.verdicts == (None, None)
    second = _all(run_checks(store, again, planned, lambda _: NullObserver(), lambda *_: None))
    assert [_plain(verdict) for verdict in second] == [_plain(verdict) for verdict in whole]
    assert not is_open(store, resumable(store, file))


def test_a_run_does_not_go_on_with_other_people(folder: Path) -> None:
    body = POPULATIONS["sample"] + RATE.format(k=1, sex="F", least=0.37)
    planned, store = _planned(folder, body), Store(folder / ".isonomia")
    file = read_audit_file(folder / "audit.toml")
    with pytest.raises(CutOffError):
        run_checks(store, begin_run(store, file, planned, 7), planned, lambda _: _Cut(5), lambda *_: None)
    people = folder / "people.csv"
    people.write_text(people.read_text().replace("F,", "M,", 1))
    with raises(RecordError, "rate 1"):
        resume_run(store, file, resumable(store, file), _planned(folder, body))


def test_a_run_does_not_go_on_with_other_people_or_another_model_in_a_property_that_was_not_begun(folder: Path) -> None:
    body = POPULATIONS["sample"] + RATE.format(k=1, sex="F", least=0.2) + RATE.format(k=2, sex="M", least=0.37)
    planned, store = _planned(folder, body), Store(folder / ".isonomia")
    file = read_audit_file(folder / "audit.toml")
    begun = begin_run(store, file, planned, 7)
    with pytest.raises(CutOffError):
        run_checks(store, begun, planned, lambda number: _Cut(1) if number else NullObserver(), lambda *_: None)
    with sqlite3.connect(store.path) as connection:
        connection.execute("DELETE FROM entries WHERE number = 1")  # as if it had been cut off before
    assert resume_run(store, file, resumable(store, file), _planned(folder, body)).verdicts[0] is not None
    people = folder / "people.csv"
    before = people.read_text()
    people.write_text(before.replace("F,", "M,", 1))
    with raises(RecordError, "rate 1"):
        resume_run(store, file, resumable(store, file), _planned(folder, body))
    people.write_text(before)
    (module,) = folder.glob("hiring_*.py")
    module.write_text(module.read_text().replace("0.4", "0.45"))
    sys.modules.pop(module.stem)
    importlib.invalidate_caches()
    linecache.clearcache()
    with raises(RecordError, "rate 1"):
        resume_run(store, file, resumable(store, file), _planned(folder, body))


def test_a_run_does_not_go_on_where_what_the_model_finds_in_its_module_has_changed(folder: Path) -> None:
    body = POPULATIONS["sample"] + RATE.format(k=1, sex="F", least=0.37)
    planned, store = _planned(folder, body), Store(folder / ".isonomia")
    file = read_audit_file(folder / "audit.toml")
    begin_run(store, file, planned, 7)
    assert resume_run(store, file, resumable(store, file), planned)
    (module,) = folder.glob("hiring_*.py")
    module.write_text(f"LIMIT = 3\n{module.read_text()}")  # the text of the function is what it was
    with pytest.raises(RecordError, match=r"expected the code that .* names"):
        resume_run(store, file, resumable(store, file), planned)


MISTAKES = [
    ("with = {attribute", "with = {atribute", "'atribute' is not taken. Did you mean 'attribute'"),
    ('fairness = "demographic_parity"', 'fairness = "demografic_parity"', "Did you mean 'demographic_parity'"),
    ('population = "all"', 'population = "al"', "there is no population 'al'; the file names all. Did you mean 'all'"),
    ('nomos = "points.nom"', 'nomos = "pionts.nom"', "Did you mean 'points.nom'"),
    ('changes = "changes.toml"', 'changes = "chagnes.toml"', "Did you mean 'changes.toml'"),
    ('sample = "people.csv"', 'program = "people.fr"', "does not exist"),
    ("{feature = ", "{epz = 0.005, feature = ", "'epz' is not taken. Did you mean 'eps'"),
    ("{feature = ", "{allow_code = true, feature = ", "'allow_code' is not taken"),
    ("target = 1, at_least", "target = 1, at_lest", "'at_lest' is not taken. Did you mean 'at_least'"),
    ("P[prediction == 1 | sex ==", "P[prediction == 1 | sxe ==", "there is no column 'sxe'. Did you mean 'sex'"),
    ('{attribute = "sex", minority', '{attribute = "sxe", minority', "there is no column 'sxe'. Did you mean 'sex'"),
    ('{attribute = "sex", outcome', '{attribute = "sxe", outcome', "Did you mean 'sex'"),
    ("and points > 0.99", "and pionts > 0.99", "there is no column 'pionts'. Did you mean 'points'"),
    ('interventions = "changes", ', "", "expected with = {interventions = NAME"),
    ("P[prediction == 1 | sex == 'F']", "P[prediction == 1 | sex == 'F'", "line "),
    ('census = "people.csv"', 'census = "poeple.csv"', "Did you mean 'people.csv'"),
    ('census = "people.csv"', 'census = "people.csv"\norder = "file"', "order is not valid for this kind"),
    ('name = "strata"', 'name = "shares"', "'shares' is the name of another property"),
]


@pytest.mark.parametrize(("before", "after", "told"), MISTAKES)
def test_a_mistake_in_a_property_points_at_its_line(folder: Path, before: str, after: str, told: str) -> None:
    _all_kinds(folder)
    assert before in ALL_KINDS
    with raises(SpecError, "audit.toml") as caught:
        _planned(folder, ALL_KINDS.replace(before, after, 1))
    assert told in str(caught.value)
    assert caught.value.place is not None
    line = (folder / "audit.toml").read_text().splitlines()[caught.value.place.line - 1]
    keys = [part.split("=")[0].strip(" {") for part in after.split("\n")]
    assert any(key in line for key in keys) or "with" in line or "check" in line


def test_names_are_checked_before_anybody_is_asked_about(folder: Path) -> None:
    _all_kinds(folder)
    with raises(SpecError, "sxe", at="check"):
        _planned(folder, ALL_KINDS + RATE.format(k=1, sex="F", least=0.2).replace("sex ==", "sxe =="))
    assert not _asked(folder)


def test_columns_of_a_generator_are_left_to_the_check(folder: Path) -> None:
    (module,) = [path.stem for path in folder.glob("hiring_*.py")]
    body = POPULATIONS["generator"].format(module=module) + RATE.format(k=1, sex="F", least=0.2)
    (planned,) = _planned(folder, body.replace("sex ==", "sxe =="))
    store = Store(folder / "records")
    started = begin_run(store, read_audit_file(folder / "audit.toml"), [planned], 7)
    (failed,) = run_checks(store, started, [planned], lambda _: NullObserver(), lambda *_: None)
    assert isinstance(failed, FailedCheck)
    assert "'sxe'" in failed.message


NAMED_TESTS = {
    "preclusion": "target = 1, below = 0.02",
    "gaming": "target = 1, at_most = 0.5",
    "stability": "at_least = 0.2",
    "affordability": "limit = 3",
    "monotonicity": 'direction = "down"',
}


@pytest.mark.parametrize("test", NAMED_TESTS)
def test_every_named_test_of_responsiveness_takes_its_own_and_the_common_options(folder: Path, test: str) -> None:
    _all_kinds(folder)
    head = ALL_KINDS[: ALL_KINDS.index("[[property]]")]
    text = f'[[property]]\nresponsiveness = "{test}"\npopulation = "all"\nwith = {{interventions = "changes", %s}}\n'
    common = NAMED_TESTS[test] + ', who = "points > 0.9", most_listed = 50'
    (planned,) = _planned(folder, head + text % common)
    assert "points > 0.9" in str(planned.check.prop)
    with raises(SpecError, "most_listd", at="with", meant="most_listed"):
        _planned(folder, head + text % common.replace("most_listed", "most_listd"))


def test_an_option_in_a_table_of_its_own_is_pointed_at(folder: Path) -> None:
    options = '[property.with]\nfeatures = "points"\nby = 0.1\nepz = 0.1\n'
    body = f'[population]\ncensus = "people.csv"\n[[property]]\nsafety = "robust"\n{options}'
    with raises(SpecError, "audit.toml", at="epz", meant="eps") as caught:
        _planned(folder, body)
    assert caught.value.place is not None
    assert "epz" in (folder / "audit.toml").read_text().splitlines()[caught.value.place.line - 1]


def test_a_misspelled_column_in_a_table_of_its_own_is_pointed_at(folder: Path) -> None:
    _all_kinds(folder)
    head = ALL_KINDS[: ALL_KINDS.index("[[property]]")]
    body = (
        '[[property]]\nprincipal = true\npopulation = "all"\n[property.with]\nattribute = "sxe"\noutcome = "passed"\n'
    )
    with raises(SpecError, "sxe", at="attribute") as caught:
        _planned(folder, head + body)
    assert caught.value.place is not None
    assert "attribute" in (folder / "audit.toml").read_text().splitlines()[caught.value.place.line - 1]


def test_principal_fairness_that_is_said_to_be_false_is_refused_and_not_checked(folder: Path) -> None:
    body = POPULATIONS["census"] + '[[property]]\nprincipal = false\nwith = {attribute = "sex", outcome = "passed"}\n'
    with raises(SpecError, "true", "false", at="principal"):
        _planned(folder, body)


def test_inputs_that_are_no_people_have_no_names_to_check(folder: Path) -> None:
    (module,) = folder.glob("hiring_*.py")
    with module.open("a") as more:
        more.write("\nimport isonomia\npictures = isonomia.Images(np.zeros((3, 4, 4), np.uint8), [0, 1, 1])\n")
    text = "input x1;\noutput d1;\n{ d1 = predict(x1) }\nensures d1 == 0;\n"
    body = f'[population]\ndomain = "{module.stem}:pictures"\n[[property]]\nnomos = """\n{text}"""\n'
    (planned,) = _planned(folder, body)
    assert planned.name == "property 1"
    with pytest.raises(SpecError, match="expected people, but this population has inputs for k-safety"):
        _planned(folder, body + RATE.format(k=1, sex="F", least=0.2))


def test_the_store_stays_open_while_a_run_writes_into_it(folder: Path) -> None:
    # Whoever closes it last puts everything in its final place, which takes longer than the check of a property.
    planned = _planned(folder, POPULATIONS["census"] + "".join(RATE.format(k=k, sex="F", least=0.2) for k in range(3)))
    store = Store(folder / ".isonomia")
    ahead, seen = store.path.with_name(f"{store.path.name}-wal"), []
    started = begin_run(store, read_audit_file(folder / "audit.toml"), planned, 7)
    run_checks(store, started, planned, lambda _: NullObserver(), lambda *_: seen.append(ahead.exists()))
    assert seen == [True] * 3
    assert not ahead.exists()


def test_a_file_of_a_thousand_properties_works(folder: Path) -> None:
    people = (folder / "people.csv").read_text().splitlines(keepends=True)[:801]
    (folder / "people.csv").write_text("".join(people))
    body = POPULATIONS["census"] + "".join(RATE.format(k=k, sex="FM"[k % 2], least=0.3) for k in range(1000))
    planned = _planned(folder, body)
    _asked(folder).clear()
    verdicts = _run(folder, planned, Store(folder / ".isonomia"))
    assert len(verdicts) == 1000
    assert sum(_asked(folder)) < 800 * 1.3
