"""The command starts fast: what it does not need is not imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from isonomia.records.store import Store

HEAVY = ("numpy", "scipy", "sklearn", "pandas", "lark", "narwhals", "altair", "isonomia.audits", "isonomia.engine")
CODE = """
import sys
from isonomia.cli import main
sys.argv = ["isonomia", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(sorted(set({heavy!r}) & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], ["runs", "--records", "kept"]])
def test_help_and_lists_import_nothing_that_computes(tmp_path: Path, arguments: list[str]) -> None:
    Store(tmp_path / "kept").begin("hiring", {"file": "audit.toml"}, [("women", {}, {})])
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(heavy=HEAVY), *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "[]"
