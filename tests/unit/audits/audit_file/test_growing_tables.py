"""Runs of one audit file while rows are added to its table: looks at the same bets, and the chain broken if it is."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.audits.audit_file.planner import PlannedCheck, plan_audit
from isonomia.audits.audit_file.reader import read_audit_file
from isonomia.audits.audit_file.runner import EarlierLooks, begin_run, resume_run, run_checks
from isonomia.audits.check import new_check, run_check
from isonomia.audits.protocol import Permissions
from isonomia.audits.replay import rebuilt, recomputed, rerun
from isonomia.engine.parameters import NullObserver
from isonomia.errors import SpecError
from isonomia.records.evidence import evidence_of
from isonomia.records.store import Store
from isonomia.records.verdict import Verdict

AUDIT = """
delta = 0.1
[population]
sample = "people.csv"
{order}
[[property]]
check = "P[hired == 1] >= 0.5"
[[property]]
check = "P[hired == 1 | sex == 'F'] - P[hired == 1 | sex == 'M'] >= -0.02"
[[property]]
check = "P[hired == 1 | sex == 'F'] >= P[hired == 1] - 0.02"
"""


def _people(rows: int, seed: int = 5) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    hired, sex = rng.integers(0, 2, 4_000), rng.choice(["F", "M"], 4_000)
    return {"hired": hired[:rows], "sex": sex[:rows]}


class Folder:
    """A folder with an audit file and a table that grows."""

    def __init__(self, path: Path, order: str = "random") -> None:
        self.path, self.store = path, Store(path / "records")
        (path / "audit.toml").write_text(AUDIT.format(order=f'order = "{order}"'))

    def write(self, rows: int, seed: int = 5) -> None:
        columns = _people(rows, seed)
        lines = ["hired,sex", *(f"{hired},{sex}" for hired, sex in zip(*columns.values(), strict=True))]
        (self.path / "people.csv").write_text("\n".join(lines) + "\n")

    def plan(self, looks: EarlierLooks, seed: int) -> list[PlannedCheck]:
        file = read_audit_file(self.path / "audit.toml")
        return plan_audit(file, seed, Permissions(), looked_at=partial(looks.continued, seed))

    def look(self, seed: int | None = None) -> list[Verdict]:
        """What the command does."""
        file = read_audit_file(self.path / "audit.toml")
        looks = EarlierLooks.of(self.store, file)
        chosen = next(each for each in (seed, looks.seed, 7) if each is not None)
        planned = self.plan(looks, chosen)
        started = begin_run(self.store, file, planned, chosen, tables=looks.tables)
        outcomes = run_checks(self.store, started, planned, lambda _: NullObserver(), lambda *_: None)
        assert all(isinstance(outcome, Verdict) for outcome in outcomes)
        return [outcome for outcome in outcomes if isinstance(outcome, Verdict)]

    def batches(self, run: str, number: int) -> list[object]:
        journal = self.store.journal(run, number)
        try:
            return [(e["n"], e["counts"]) for key, e in journal.entries.items() if key.startswith("batch ")]
        finally:
            journal.close()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_batches_of_an_earlier_look_are_the_first_ones_of_a_later_look(folder: Folder):
    for rows in (501, 1203, 1204, 2000):
        folder.write(rows)
        folder.look()
    runs = [run.id for run in folder.store.runs()][::-1]
    for number in range(3):
        batches = [folder.batches(run, number) for run in runs]
        for earlier, later in itertools.pairwise(batches):
            assert later[: len(earlier)] == earlier
        assert number == 0 or len(batches[-1]) > len(batches[0])


def test_looks_are_stated_and_the_seed_is_that_of_the_first(folder: Folder):
    folder.write(500)
    first = folder.look(seed=12)
    folder.write(900)
    second = folder.look()
    assert "looks" not in first[1].population
    assert second[1].population["looks"] == [500]
    assert [verdict.seed for verdict in (*first, *second)] == [12] * 6
    assert len(first[1].assumptions) == len(second[1].assumptions)


def test_the_same_table_again_is_no_new_look(folder: Folder):
    folder.write(500)
    first, second = folder.look(), folder.look()
    assert [verdict.interval for verdict in first] == [verdict.interval for verdict in second]
    assert second[0].population == first[0].population


@pytest.mark.parametrize(("rows", "other", "seed"), [(900, 6, None), (400, 5, None), (900, 5, 99)])
def test_a_table_that_is_not_an_extension_is_said_to_break_the_chain(
    folder: Folder, rows: int, other: int, seed: int | None
):
    folder.write(500)
    folder.look()
    folder.write(rows, other)
    broken = folder.look(seed)
    run = folder.store.runs()[1].id
    assert "looks" not in broken[1].population
    assert all(any(run in line for line in verdict.assumptions) for verdict in broken)
    folder.write(rows + 100, other)
    later = folder.look()
    assert later[1].population["looks"] == [rows]
    assert any(run in line for line in later[1].assumptions)


def test_a_run_of_a_grown_table_is_resumed_replayed_and_repeated_with_its_looks(folder: Folder):
    folder.write(500)
    folder.look()
    folder.write(900)
    verdicts = folder.look()
    file, run = read_audit_file(folder.path / "audit.toml"), folder.store.run()
    looks = EarlierLooks.of(folder.store, file, run)
    planned = folder.plan(looks, run.request["seed"])
    assert resume_run(folder.store, file, run, planned).verdicts == tuple(verdicts)
    evidence = evidence_of(folder.store, run.id)
    assert all(check.sound for check in recomputed(evidence, rebuilt(evidence)))
    assert all(again.same for again in rerun(evidence, folder.path, Permissions(), {}, lambda _: NullObserver()))


def test_planned_reports_are_counted_by_the_store_and_no_more_are_made_than_planned(folder: Folder):
    file = folder.path / "audit.toml"
    unplanned = "[[property]]\ncheck = \"P[hired == 1 | sex == 'F'] * P[hired == 1 | sex == 'M'] <= 0.9\"\n"
    file.write_text('looks = "of 3"\n' + file.read_text() + unplanned)  # no planned look judges a product
    for rows, looks in ((500, "1 of 3"), (500, "1 of 3"), (900, "2 of 3 after 500"), (1300, "3 of 3 after 500, 900")):
        folder.write(rows)
        assert [verdict.looks for verdict in folder.look()] == [looks, looks, looks, "any"]
    evidence = evidence_of(folder.store)
    assert all(check.sound for check in recomputed(evidence, rebuilt(evidence)))
    assert all(again.same for again in rerun(evidence, folder.path, Permissions(), {}, lambda _: NullObserver()))
    folder.write(1400)
    with pytest.raises(SpecError):
        folder.look()


class _Kept(dict[str, Any]):
    """A journal in memory."""

    @property
    def entries(self) -> dict[str, Any]:
        return dict(self)

    def recall(self, key: str) -> Any:
        return self.get(key)

    def keep(self, key: str, make: Callable[[], Any]) -> None:
        self[key] = make()


def test_in_file_order_batches_do_not_depend_on_the_number_of_rows():
    found = []
    for rows in (100, 103, 257, 600):
        journal, people = _Kept(), iso.Sample(_people(rows), order="file")
        check = new_check("P[hired | sex == 'F'] >= P[hired | sex == 'M']", population=people, delta=1e-4, seed=1)
        verdict = run_check(check.with_journal(journal), NullObserver())
        assert rows - verdict.samples <= max(8, 0.02 * rows) + 12
        found.append([(entry["n"], entry["counts"]) for key, entry in journal.items() if key.startswith("batch ")])
    for earlier, later in itertools.pairwise(found):
        assert later[: len(earlier)] == earlier


@pytest.mark.parametrize("claim", ["P[hired == 1] >= 0.42", "P[hired | sex == 'F'] >= P[hired | sex == 'M'] - 0.12"])
def test_in_file_order_an_answer_in_python_stays_when_rows_are_added(claim: str):
    answered = 0
    for seed in range(3):
        before: Verdict | None = None
        for rows in (100, 103, 257, 600, 1_000):
            people = iso.Sample(_people(rows, seed), order="file")
            now = iso.check(claim, population=people, delta=0.4, seed=1)
            if before is not None and before.answer != "undecided":
                assert (now.answer, now.samples, now.interval) == (before.answer, before.samples, before.interval)
                answered += 1
            before = now
    assert answered


def test_in_random_order_a_verdict_says_that_it_covers_one_table():
    in_order, at_random = (iso.Sample(_people(500), order=order).assumptions for order in ("file", "random"))
    assert len(at_random) == len(in_order) + 1
