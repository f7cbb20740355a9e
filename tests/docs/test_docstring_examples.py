"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import isonomia

SOURCE = Path(isonomia.__file__).parent
EXAMPLE = re.compile(r"^\s*>>> ", re.MULTILINE)
MODULES = sorted(
    ".".join(("isonomia", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if EXAMPLE.search(path.read_text("utf-8"))
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_give_what_they_say(name: str) -> None:
    failed, attempted = doctest.testmod(import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert attempted
    assert not failed
