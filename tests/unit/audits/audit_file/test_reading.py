"""Audit files: every mistake is answered with file, line, key, what is allowed and what is nearest."""

from __future__ import annotations

from pathlib import Path

import pytest

from isonomia.audits.audit_file.reader import read_audit_file
from isonomia.errors import SpecError, UsageError
from raising import raises

GOOD = """\
title = "Hiring"
delta = 0.05

[model]
load = "model.onnx"

[population]
sample = "people.csv"

[populations.all]
census = "people.csv"

[[property]]
name = "four fifths"
check = "P[prediction == 1 | sex == 'F'] >= 0.3"

[[property]]
principal = true
population = "all"
with = {attribute = "sex", outcome = "passed"}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "audit.toml"


def test_a_good_file_is_read_with_defaults_and_names(file: Path) -> None:
    file.write_text(GOOD)
    audit = read_audit_file(file)
    assert list(audit.entries("model", "models")) == ["default"]
    assert list(audit.entries("population", "populations")) == ["default", "all"]
    first, second = audit.properties()
    assert first.get("name") == "four fifths"
    assert second.get("with") == {"attribute": "sex", "outcome": "passed"}
    assert audit.folder == file.parent


MISTAKES = [
    ("delta = 0.05", "dleta = 0.05", 2, "no key 'dleta'. Did you mean 'delta'?"),
    ("delta = 0.05", 'delta = "small"', 2, "expected delta, .*, as a number, but got 'small'"),
    ('load = "model.onnx"', 'laod = "model.onnx"', 5, r"\[model\] has no key 'laod'. Did you mean 'load'?"),
    (
        'census = "people.csv"',
        "census = 3",
        11,
        "expected census, .* as text in quotes, but got 3",
    ),
    ('name = "four fifths"', 'nmae = "four fifths"', 14, "property 1 has no key 'nmae'. Did you mean 'name'?"),
    ("principal = true", "", 17, "expected property 2 to have one of check, .* but it has none of them"),
    ("principal = true", 'principal = true\ncheck = "P[x] > 0"', 17, "but it has check and principal"),
    ("[[property]]\nname", "[property]\nname", None, "not valid TOML|two brackets"),
]


@pytest.mark.parametrize(("before", "after", "line", "told"), MISTAKES)
def test_a_mistake_is_pointed_at(file: Path, before: str, after: str, line: int | None, told: str) -> None:
    assert before in GOOD
    file.write_text(GOOD.replace(before, after, 1))
    with pytest.raises(SpecError, match=told) as caught:
        read_audit_file(file)
    assert "audit.toml" in str(caught.value)
    if line is not None:
        assert f"line {line}, " in str(caught.value)


def test_a_file_without_properties_is_told_how_one_looks(file: Path) -> None:
    file.write_text('title = "nothing"\n')
    with raises(
        SpecError, "[[property]]", ("check", "fairness", "evals", "nomos", "safety", "responsiveness", "principal")
    ):
        read_audit_file(file)


def test_a_file_that_is_not_there_names_the_nearest(file: Path) -> None:
    file.write_text(GOOD)
    with raises(UsageError, meant="audit.toml"):
        read_audit_file(file.with_name("audti.toml"))
    with raises(UsageError, "x.toml", cause=FileNotFoundError):
        read_audit_file(file.parent / "elsewhere" / "x.toml")


def test_bytes_that_are_no_text_are_refused(file: Path) -> None:
    file.write_bytes(b"title = '\xff\xfe'")
    with raises(UsageError, "0xff", 9, cause=UnicodeDecodeError):
        read_audit_file(file)


@pytest.mark.parametrize("value", ["1" + "0" * 5000, "0x1" + "f" * 5000, "18446744073709551617", "[" * 5000])
def test_a_number_or_a_nesting_that_no_reader_takes_is_no_toml(tmp_path: Path, value: str) -> None:
    file = tmp_path / "audit.toml"
    file.write_text(f"budget = {value}\n[[property]]\ncheck = '1 < 2'\n")
    with pytest.raises(SpecError, match="is not valid TOML"):
        read_audit_file(file)
