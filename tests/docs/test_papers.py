"""The pages on the papers name commands that exist, with options that they have."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "papers").glob("*.md")))
BENCHMARKS = sorted(set(re.findall(r"python -m (benchmarks\.\w+)([^`]*)`", TEXT)))
TESTS = sorted({path for paths in re.findall(r"`pytest ([^`]+)`", TEXT) for path in paths.split(" -k ")[0].split()})


@pytest.mark.parametrize(("module", "options"), BENCHMARKS)
def test_every_benchmark_on_the_pages_is_there_and_has_the_options(module: str, options: str) -> None:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    for option in re.findall(r"--[\w-]+", options):
        assert f'"{option}"' in source, f"{module} has no option {option}"


def test_every_test_on_the_pages_is_there() -> None:
    assert TESTS
    assert [path for path in TESTS if not (ROOT / path).exists()] == []
