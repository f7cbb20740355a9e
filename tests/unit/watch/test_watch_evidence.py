"""The evidence of a watch: every kind of watch comes back, and whatever is changed in what it says is found."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.audits.protocol import Permissions
from isonomia.audits.replay import rebuilt
from isonomia.errors import DataError, IsonomiaError, NotAllowedError, RecordError, SpecError, UsageError
from isonomia.models.adapt import adapt
from isonomia.records.evidence import evidence_text, parse_evidence, read_evidence, seal_problem, sealed
from isonomia.records.strict_json import strict_json
from isonomia.watch.file import outcomes_of, read_watch_file, source_of, watch_of
from isonomia.watch.monitor import Monitor
from isonomia.watch.replay import RebuiltWatch, rebuilt_watch, recomputed_watch, reread
from isonomia.watch.store import WatchStore
from isonomia.watch.stream import StreamSums, window_start
from raising import raises

FOUR_FIFTHS = "P[hired | sex == 'F'] >= 0.8 * P[hired | sex == 'M']"


def _people(seed: int, rows: int, women: float) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], rows)
    return {
        "sex": sex,
        "race": rng.choice(["A", "B", "C"], rows),
        "pay": rng.uniform(10, 50, rows),
        "hired": rng.random(rows) < np.where(sex == "F", women, 0.4),
    }


def _changed(*properties: Any, **options: Any) -> iso.Watch:
    """A watch over a stream that changes for the worse."""
    watch = iso.Watch(list(properties), window=300, **options)
    watch.update(_people(1, 700, 0.4))
    watch.update(_people(2, 600, 0.02))
    return watch


def _late() -> iso.Watch:
    watch = iso.Watch("P[paid == 1] >= 0.5", alpha=0.05, outcome="paid", id="id", patience=150)
    watch.update({"id": [f"n{k}" for k in range(20)]})
    watch.update({"id": [f"m{k}" for k in range(400)], "paid": [int(k < 100) for k in range(400)]})
    watch.update({"id": [f"o{k}" for k in range(30)]})
    assert min(watch.samples, watch.missing, watch.pending) > 0
    return watch


def _acknowledged() -> iso.Watch:
    watch = _changed("P[hired | sex == 'F'] >= 0.3", FOUR_FIFTHS, alpha=0.05)
    watch.acknowledge()
    watch = iso.Watch(["P[hired | sex == 'F'] >= 0.3", FOUR_FIFTHS], alpha=0.05, window=300).restore(watch.state)
    watch.update(_people(3, 500, 0.02))
    assert len(watch.alerts) == 4
    return watch


def _asked() -> iso.Watch:
    class Scorer:
        classes_ = np.asarray([0, 1])

        def predict_proba(self, table: Any) -> Any:
            p = np.asarray(table)[:, 0].astype(float)
            return np.stack([1 - p, p], axis=1)

        def predict(self, table: Any) -> Any:
            return (self.predict_proba(table)[:, 1] > 0.5).astype(int)

    watch = iso.Watch("E[score] >= 0.4", alpha=0.05, model=Scorer(), features=["x"])
    watch.update({"x": np.random.default_rng(4).random(400) * 0.6})
    return watch


WATCHES: dict[str, tuple[Callable[[], iso.Watch], int]] = {
    "a rate": (lambda: _changed("P[hired] >= 0.3", alpha=0.01), 1),
    "a ratio": (lambda: _changed(iso.parse(FOUR_FIFTHS).named('four "fifths"'), run_length=1e4, seed=7), 1),
    "a mean": (lambda: _changed("E[pay] >= 25", "E[pay] >= 35", run_length=1e5, ranges={"pay": (0, 100)}), 1),
    "two sides": (lambda: _changed("abs(P[hired] - 0.4) <= 0.1", alpha=0.01), 1),
    "groups": (
        lambda: _changed(
            "for g in sex: P[hired | sex == g] >= 0.25", alpha=0.01, values={"sex": np.asarray(["F", "M"])}
        ),
        1,
    ),
    "overlapping groups": (lambda: _changed("P[hired | sex == 'F'] >= P[hired] - 0.1", run_length=1e4), 1),
    "a named property": (
        lambda: _changed(
            iso.fairness.demographic_parity("sex", "F", "M", ratio=0.8, decision="hired", favourable=True), alpha=0.01
        ),
        1,
    ),
    "late outcomes": (_late, 1),
    "acknowledged, and gone on with": (_acknowledged, 4),
    "a model that is asked": (_asked, 1),
    "nothing yet": (lambda: iso.Watch(FOUR_FIFTHS, alpha=0.01), 0),
    "a threshold that is crossed at once": (lambda: _changed("P[hired] >= 0.99", run_length=1.0), 1),
}


def _rebuilt(content: Any) -> RebuiltWatch:
    return rebuilt_watch(parse_evidence(content, "the file"))


def _problems(content: Any) -> list[str]:
    """Whatever is wrong with content, be it sealed or not."""
    try:
        watch = _rebuilt(content)
        results = list(recomputed_watch(watch))
    except IsonomiaError as error:
        return [str(error)]
    told = [str(each) for result in results for each in result.differences]
    return [*map(str, watch.contradictions), *told, *(result.failure for result in results if result.failure)]


@pytest.mark.parametrize("name", WATCHES)
def test_every_kind_of_watch_comes_back_from_its_evidence(name: str) -> None:
    make, alerts = WATCHES[name]
    watch = make()
    text = watch.evidence("A stream")
    content = strict_json(text.encode(), "the file")
    assert seal_problem(content) is None
    assert _problems(content) == []
    again = _rebuilt(content)
    assert again.alerts == watch.alerts
    assert again.open_alerts == watch.open_alerts
    assert alerts is None or len(watch.alerts) == alerts
    assert again.terms.verdicts(again.known) == watch.verdicts
    assert again.terms.now(again.known) == watch.now
    assert parse_evidence(content, "it").verdicts == {each.name or each.text: each for each in watch.verdicts}


ANY = (
    *("P[hired] >= 0.3", FOUR_FIFTHS, "abs(P[hired] - 0.4) <= 0.1", "0.2 <= P[hired | sex == 'F'] <= 0.5"),
    *("E[pay] >= 25", "E[pay | sex == 'M'] - E[pay | sex == 'F'] <= 1", "P[hired | sex == 'X'] >= 0.1"),
    *("P[hired | sex == 'F'] >= P[hired | race == 'A'] - 0.1", "P[hired] >= 0.3 and E[pay] >= 29"),
)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_a_stream_does_its_evidence_is_in_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(ANY), 3)  # perhaps one of them twice
    properties = [iso.parse(ANY[k]).named(f"property {place}") for place, k in enumerate(chosen)]
    risks = {"alpha": (0.5, 0.05)[seed % 4 // 2]} if seed % 2 else {"run_length": (1.0, 300)[seed % 4 // 2]}
    options: dict[str, Any] = {**risks, "window": int(rng.choice([1, 7, 100])), "ranges": {"pay": (0, 60)}}
    watch = iso.Watch(properties, **options)
    for _ in range(rng.integers(1, 7)):
        watch.update(_people(int(rng.integers(99)), int(rng.choice([1, 40, 300])), float(rng.choice([0.02, 0.4, 0.9]))))
        if rng.random() < 0.3:
            watch.acknowledge()
        if rng.random() < 0.3:
            watch = iso.Watch(properties, **options).restore(watch.state)
    content = strict_json(watch.evidence().encode(), "the file")
    assert _problems(content) == []
    assert _rebuilt(content).alerts == watch.alerts


def test_no_sample_and_nobody_that_waits_is_in_the_file() -> None:
    watch = iso.Watch("P[paid == 1 | city == 'Rome'] >= 0.5", alpha=0.05, outcome="paid", id="id")
    watch.update({"id": ["anna-1", "otto-2"], "city": ["Rome", "Vaduz"]})
    watch.label(["anna-1"], [1])
    text = watch.evidence()
    assert "anna" not in text
    assert "otto" not in text
    assert "Vaduz" not in text


def test_the_file_hardly_grows_with_the_stream() -> None:
    sizes = []
    watch = iso.Watch("P[x] >= 0.3", alpha=0.01)
    for _ in range(2):
        for part in range(10):
            watch.update({"x": np.random.default_rng(part).random(2_000) < 0.4})
        sizes.append(len(watch.evidence()))
    assert abs(sizes[1] - sizes[0]) < 50


@pytest.mark.parametrize("window", [1, 2, 3, 4, 7, 100])
def test_where_a_window_starts_follows_from_the_number_of_samples(window: int) -> None:
    sums, samples = StreamSums.empty(1, window), 0
    for rows in [0, 1, 1, 3, 0, 20, 1, 64, 2, 5, 300, 1]:
        sums.add(samples, [np.ones(rows, dtype=bool)], [np.ones(rows)], rows)
        samples += rows
        assert window_start(samples, window) == (sums.recent.start, sums.recent.number)


# ------------------------------------------------------------------------------------------------------------ tampering

WATCH_FILE = """
title = "Hiring"
alpha = 0.01
window = 40

[source]
folder = "days"

[[property]]
name = "often enough"
check = "P[x > 0.5] >= 0.4"
why = "so that there is something to see"
"""


def _write_days(folder: Path, lows: list[float]) -> None:
    (folder / "days").mkdir(exist_ok=True)
    for day, low in enumerate(lows, start=1):
        numbers = np.random.default_rng(day).uniform(low, 1.0, 100)
        (folder / "days" / f"{day}.csv").write_text("\n".join(["x", *map(str, numbers)]) + "\n")


def _monitor(folder: Path, model: Any = None) -> Monitor:
    file, nobody = read_watch_file(folder / "watch.toml"), Permissions()
    source = source_of(file, nobody)
    outcomes = outcomes_of(file, nobody)
    store = WatchStore(folder / "watch.sqlite", source.describe())
    monitor = Monitor(watch_of(file, nobody, model), store, source, (), outcomes, "Hiring")
    monitor.resume()
    return monitor


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that was watched: an alert, acknowledged, and another that is open."""
    folder = tmp_path_factory.mktemp("watched")
    (folder / "watch.toml").write_text(WATCH_FILE)
    _write_days(folder, [0.1, 0.1, -4.0])
    monitor = _monitor(folder)
    monitor.catch_up(Event())
    assert monitor.acknowledge() == 1
    _write_days(folder, [0.1, 0.1, -4.0, 0.1, -4.0, -4.0])
    monitor = _monitor(folder)  # as after a restart
    monitor.catch_up(Event())
    text = evidence_text(monitor.evidence(read_watch_file(folder / "watch.toml")))
    (folder / "evidence.json").write_text(text)
    return folder


@pytest.fixture
def content(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "evidence.json").read_text())
    assert len(found["watch"]["alerts"]) == 2
    return found


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(item, (*path, key))
    else:
        yield path, value


def _with(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(content)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


def _other(value: Any) -> Any:
    match value:
        case None:
            return 1
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return 1.01 * value + 1e-3
    return f"{value}x"


NOT_FOUND = {
    *("run.id", "run.begun", "run.ended", "run.versions", "audit.name", "checks.verdict.seconds"),
    *("watch.alerts.raised", "watch.alerts.acknowledged"),
    *("watch.log.position.file", "watch.log.position.bytes", "watch.log.digest"),
    *(
        "watch.sides.height",
        "watch.alerts.heights",
        "watch.alerts.moments",
        "watch.alerts.against",
        "watch.alerts.opposite",
    ),
}
"""What the seal alone guards: moments and versions, what only the source can tell, and wealth that decides nothing."""


def _kind(path: tuple[Any, ...]) -> str:
    name = ".".join(key for key in path if isinstance(key, str))
    return "run.versions" if name.startswith("run.versions") and not name.endswith("isonomia") else name


def test_a_change_of_any_field_is_found_even_if_the_file_is_sealed_anew(content: dict[str, Any]) -> None:
    assert _problems(content) == []
    kinds = set()
    for path, value in _leaves(content):
        if _kind(path) in NOT_FOUND or path[0] == "seal":
            continue
        kinds.add(_kind(path))
        assert _problems(_with(content, path, _other(value))), path
    assert {"watch.samples", "watch.rates.recent_sum", "watch.sides.against", "watch.sides.opposite"} <= kinds
    assert {"watch.alerts.onset.low", "watch.alerts.since", "watch.alerts.in", "watch.now.low"} <= kinds
    assert {"watch.acknowledged", "watch.log.rows", "watch.source", "audit.text", "run.versions.isonomia"} <= kinds


def test_a_change_of_any_field_breaks_the_seal(content: dict[str, Any]) -> None:
    seen: set[str] = set()
    for path, value in _leaves(content):
        name = ".".join(str(key) for key in path if isinstance(key, str))
        if name not in seen and path[0] != "seal":
            seen.add(name)
            assert seal_problem(_with(content, path, _other(value))) is not None, path
    assert NOT_FOUND - {"run.versions"} <= seen


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda watch: watch["alerts"].pop(), "no alert"),
        (lambda watch: watch["alerts"][0].update(heights=[1.0, 2.0]), "needs a log wealth of"),
        (lambda watch: watch["alerts"][0]["moments"].reverse(), "not in order"),
        (lambda watch: watch["alerts"][0].update(since=[[10.5, 1.0]]), "as draws and sums since it began"),
        (lambda watch: watch["alerts"][1].update(acknowledged="2026-01-01"), "was acknowledged"),
        (lambda watch: watch["alerts"][0].update(side=5), "half-space"),
        (lambda watch: watch["alerts"][0].update(against=[0.0]), "each moment and group"),
        (lambda watch: watch["alerts"][0].update(began_in="6.csv"), "begun in 6.csv"),
        (lambda watch: watch["alerts"][0]["opposite"].__setitem__(0, 0.0), "onset.low"),
        (lambda watch: watch["alerts"][0]["against"].__setitem__(0, 99.0), "onset.estimate"),
        (lambda watch: watch["rates"][0].update(sum=0.5), "sums"),
        (lambda watch: watch["rates"][0].update(text="P[y]"), "which the watch file speaks of"),
        (lambda watch: watch.update(rates=[]), "which the watch file speaks of"),
        (lambda watch: watch.update(sides=[]), "half-spaces"),
        (lambda watch: watch.update(samples=10**30), "possible in a stream"),
        (lambda watch: watch.update(acknowledged=[]), "acknowledged"),
        (lambda watch: watch["log"].pop(), "decisions were read"),
        (lambda watch: watch["sides"][0].update(against=900.0), "violated"),
        (lambda watch: watch["sides"][0].update(against=-1e9), "cannot be read"),
        (lambda watch: watch.update(pending=1, samples=599), "speaks of|sums|samples"),
    ],
)
def test_what_no_stream_comes_to_is_told(content: dict[str, Any], change: Callable[[Any], object], told: str) -> None:
    change(content["watch"])
    problems = " ".join(_problems(content))
    assert any(part in problems for part in told.split("|")), problems


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text[: len(text) // 2], "expected JSON"),
        (lambda text: text.replace('"version": 4', '"version": 7'), "version 7"),
        (lambda text: text.replace('"isonomia evidence"', '"a letter"'), "expected an evidence file"),
        (lambda text: text.replace('"samples": 600', '"samples": 6e2', 1), "600.0"),
        (lambda text: text.replace('"pending": 0', '"pending": "0"'), "pending"),
        (lambda text: text.replace('"pending": 0, ', "").replace('"pending": 0,\n', ""), "pending"),
        (lambda text: text.replace('"pending": 0', '"pending": 0, "pending": 0'), "twice"),
        (lambda text: text.replace('P[x > 0.5] >= 0.4\\"', 'P[x > ] >= 0.4\\"'), "cannot be read"),
        (lambda text: text.replace("[source]", "[sauce]"), "cannot be read"),
        (lambda text: text.replace("[[property]]", '[model]\\nload = \\"os:system\\"\\n[[property]]'), "a model"),
    ],
)
def test_what_is_no_evidence_of_a_watch_is_refused(
    folder: Path, tmp_path: Path, change: Callable[[str], str], told: str
) -> None:
    text = (folder / "evidence.json").read_text()
    file = tmp_path / "other.json"
    assert change(text) != text
    file.write_text(change(text))
    with pytest.raises(RecordError, match=told):
        rebuilt_watch(read_evidence(file))


def test_the_evidence_of_an_audit_is_no_watch_and_that_of_a_watch_no_audit(content: dict[str, Any]) -> None:
    alone = {name: part for name, part in content.items() if name != "watch"}
    with raises(RecordError, "watch.toml", "alpha", cause=SpecError):
        rebuilt(parse_evidence(alone, "it"))
    content["audit"]["text"] = '[population]\ncensus = "a.csv"\n[[property]]\ncheck = "P[a] >= 0.5"\n'
    with raises(RecordError, "watch.toml", "population", cause=SpecError):
        rebuilt_watch(parse_evidence(content, "it"))


# ----------------------------------------------------------------------------------------------------------- read again


def test_everything_is_read_again_and_is_the_same(folder: Path, content: dict[str, Any]) -> None:
    again = reread(_rebuilt(content), folder, Permissions(), {})
    assert (again.rows, again.differences) == (600, ())
    assert all(each.same for each in again.properties)


@pytest.mark.parametrize("part", ["heights", "moments", "against", "opposite"])
def test_reading_again_finds_made_up_wealth(folder: Path, content: dict[str, Any], part: str) -> None:
    content["watch"]["alerts"][0][part][1] += 1
    (each,) = reread(_rebuilt(content), folder, Permissions(), {}).properties
    assert any(f"alerts[0].{part}" in difference.path for difference in each.differences)


def test_reading_again_finds_files_that_changed_and_counts_that_never_were(
    tmp_path: Path, content: dict[str, Any]
) -> None:
    _write_days(tmp_path, [0.1, 0.1, -4.0, 0.1, -4.0, -3.0])
    again = reread(_rebuilt(content), tmp_path, Permissions(), {})
    assert any("6.csv is not the file that was read" in str(each) for each in again.differences)
    assert not all(each.sound for each in again.properties)
    (tmp_path / "days" / "6.csv").unlink()
    with raises(DataError, name="6.csv"):
        reread(_rebuilt(content), tmp_path, Permissions(), {})


def test_a_model_is_asked_again_and_another_one_is_told_by_its_fingerprint(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "days", tmp_path / "days")
    text = WATCH_FILE.replace("[source]", '[model]\nload = "nowhere:model"\n[source]').replace(
        "x > 0.5", "prediction == 1"
    )
    (tmp_path / "watch.toml").write_text(text)
    one, other = (adapt(partial(_above, threshold)) for threshold in (0.5, 0.6))
    monitor = _monitor(tmp_path, one)
    monitor.catch_up(Event())
    watch = _rebuilt(json.loads(evidence_text(monitor.evidence(read_watch_file(tmp_path / "watch.toml")))))
    assert all(each.sound for each in recomputed_watch(watch))
    with raises(NotAllowedError, "watch.toml", "nowhere:model"):
        reread(watch, tmp_path, Permissions(), {})
    assert all(each.same for each in reread(watch, tmp_path, Permissions(), {"default": one}).properties)
    (told,) = reread(watch, tmp_path, Permissions(), {"default": other}).properties
    assert told.others == ("model",)
    assert told.differences


def _above(threshold: float, table: Any) -> Any:
    return (np.asarray(table["x"]) > threshold).astype(int)


@pytest.mark.parametrize("name", ["../watch.toml", "/etc/hostname"])
def test_a_record_names_no_file_outside_of_its_folder(folder: Path, content: dict[str, Any], name: str) -> None:
    content["watch"]["log"][0]["position"]["file"] = name
    with raises(DataError, name):
        reread(_rebuilt(content), folder, Permissions(allow_outside=True), {})


def test_what_a_record_would_do_needs_permission_but_nobody_is_told_of_alerts(
    folder: Path, content: dict[str, Any]
) -> None:
    text = content["audit"]["text"]
    content["audit"]["text"] = text.replace("[source]", '[alert]\ncommand = ["false"]\n[source]')
    assert reread(_rebuilt(content), folder, Permissions(), {}).rows == 600
    content["audit"]["text"] = text.replace('folder = "days"', 'postgres = "host=db"\ntable = "t"\nkey = "k"')
    with raises(NotAllowedError, "host=db"):
        reread(_rebuilt(content), folder, Permissions(), {})
    content["audit"]["text"] = text.replace('folder = "days"', 'folder = "/etc"')
    with pytest.raises(NotAllowedError, match="outside"):
        reread(_rebuilt(content), folder, Permissions(), {})


@pytest.mark.parametrize(
    ("source", "told"),
    [('[source]\nlines = "jsonl"', "standard input"), ("", "samples of this watch came from Python")],
)
def test_what_cannot_be_read_again_is_said(folder: Path, content: dict[str, Any], source: str, told: str) -> None:
    content["audit"]["text"] = content["audit"]["text"].replace('[source]\nfolder = "days"', source)
    with pytest.raises(UsageError, match=told):
        reread(_rebuilt(content), folder, Permissions(), {})


def test_positions_of_another_kind_of_source_are_refused(folder: Path, content: dict[str, Any]) -> None:
    content["watch"]["log"][0]["position"] = {"key": 3}
    with raises(RecordError, cause=KeyError):
        reread(_rebuilt(content), folder, Permissions(), {})


def test_the_address_of_a_webhook_is_not_handed_on(tmp_path: Path) -> None:
    (tmp_path / "days").mkdir()
    hook = '[alert]\nwebhook = "https://hooks.example.org/T0/s3cret"\n[source]'
    (tmp_path / "watch.toml").write_text(WATCH_FILE.replace("[source]", hook))
    monitor = _monitor(tmp_path)
    text = evidence_text(monitor.evidence(read_watch_file(tmp_path / "watch.toml")))
    assert "s3cret" not in text
    assert "https://hooks.example.org/..." in text
    assert _problems(json.loads(text)) == []
    escaped = hook.replace("s3cret", "s3\\u0063ret")
    (tmp_path / "watch.toml").write_text(WATCH_FILE.replace("[source]", escaped))
    with raises(iso.SpecError, "watch.toml", "webhook_env", at="webhook"):
        monitor.evidence(read_watch_file(tmp_path / "watch.toml"))


def test_a_key_seals_what_only_its_owner_can_seal() -> None:
    key = b"a key of the house"
    content = json.loads(iso.Watch("P[x] >= 0.3", alpha=0.01).evidence(key=key))
    assert seal_problem(content, key) is None
    content["run"]["title"] = "Another"
    assert seal_problem(content, key) is not None
    assert seal_problem(sealed({name: part for name, part in content.items() if name != "seal"})) is None
