"""What the tests of the pages share: the pages, built once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the tests import what lies beside them

from built_site import Site, read_site

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The pages, built by whichever worker comes first."""
    for package in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(package, reason="the pages are built where isonomia[docs] is installed")
    folder = _shared_by_workers(tmp_path_factory) / "site"
    try:
        folder.mkdir()
    except FileExistsError:
        _wait_for(folder.with_suffix(".built"))
    else:
        _build(folder)
    return read_site(folder)


def _shared_by_workers(factory: pytest.TempPathFactory) -> Path:
    own = factory.getbasetemp().resolve()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def _build(folder: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    folder.with_suffix(".built").write_text(done.stderr if done.returncode else "")
    assert done.returncode == 0, done.stderr


def _wait_for(built: Path) -> None:
    for _ in range(1200):
        if built.exists():
            assert not built.read_text(), built.read_text()
            return
        sleep(0.1)
    pytest.fail("another worker has been building the pages for two minutes")
