"""A path that no file can have is refused like one that does not exist, wherever it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

import isonomia as iso
from isonomia.audits.audit_file.planner import plan_audit
from isonomia.audits.audit_file.reader import read_audit_file
from isonomia.audits.protocol import Permissions
from isonomia.errors import DataError, IsonomiaError
from isonomia.records.store import Store

ODD = {"a null byte": "a\0b.csv", "half a character": "\ud800.csv", "a long name": "x" * 300 + ".csv"}
PROPERTY = '\n[[property]]\ncheck = "P[x > 1] >= 0.1"\n'


@pytest.mark.parametrize("path", ODD.values(), ids=ODD)
def test_a_call_with_a_path_that_no_file_has_is_refused(path: str) -> None:
    for opened in (iso.Census, iso.Sample, iso.Program, Store):
        with pytest.raises(DataError, match="expected the path of a file"):
            opened(path)
    with pytest.raises(IsonomiaError):
        iso.load_model(path)


@pytest.mark.parametrize("path", ["a\\u0000b.csv", "x" * 300 + ".csv"], ids=["a null byte", "a long name"])
@pytest.mark.parametrize(
    "text",
    [
        '[population]\ncensus = "{}"' + PROPERTY,
        '[population]\nsample = "{}"' + PROPERTY,
        '[population]\nprogram = "{}"' + PROPERTY,
        '[population]\ncensus = "p.csv"\n[model]\nload = "{}"' + PROPERTY,
        '[population]\ncensus = "p.csv"\n[interventions]\nchanges = "{}"' + PROPERTY,
    ],
)
def test_an_audit_file_with_a_path_that_no_file_has_is_refused(text: str, path: str, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("x\n1\n2\n")
    (tmp_path / "audit.toml").write_text(text.format(path))
    with pytest.raises(IsonomiaError):
        plan_audit(read_audit_file(tmp_path / "audit.toml"), 1, Permissions(allow_code=True))
