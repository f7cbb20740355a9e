"""What is written for machines is what their schemas say, whatever the audit was and whatever it is called."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from xml.etree import ElementTree

import jsonschema
import page_audits
import pytest
import xmlschema
from schemas import JUNIT, SARIF

import isonomia as iso
from isonomia.records.verdict import Verdict
from isonomia.report.entries import AuditReport, Entry, Failure
from isonomia.report.files import as_json, schema
from isonomia.report.junit import junit
from isonomia.report.sarif import sarif

ODD = "\x00\x07\x1b[31m\x7f \ud800 \ufffe ]]> <a&b> \"'\r\n\t\u202e\u2028 名前 🧮 C:\\x y#?%zz"


def _infinite() -> Verdict:
    verdict = page_audits.rates()
    first = replace(verdict.expressions[0], low=-math.inf, high=math.inf, estimate=None)
    leaf = replace(verdict.leaves[0], n=0, estimate=None)
    return replace(verdict, answer="undecided", risk=0.0, expressions=(first,), leaves=(leaf,))


def _odd() -> Verdict:
    verdict = page_audits.safety()
    return replace(verdict, text=ODD, name=ODD, stopped=ODD, remarks=(ODD,), assumptions=(ODD,))


def _constant() -> Verdict:
    return iso.check("1 >= 0.5", population=iso.Census({"hired": [1]}), seed=1)


VERDICTS = {
    "rates": page_audits.rates,
    "violated": lambda: page_audits.rates(0.9),
    "exact": lambda: iso.check("P[hired] >= 0.5", population=iso.Census({"hired": [1, 1, 0]}), seed=1),
    "constants only": _constant,
    "undecided": page_audits.undecided,
    "infinite": _infinite,
    "safety with counterexamples": page_audits.safety,
    "responsiveness": page_audits.responsiveness,
    "principal": page_audits.principal,
    "odd characters": _odd,
}
WHOLE = {"run": "20261115-1200-ab12", "when": "2026-11-15T12:00:00+00:00", "file": "audits/audit.toml"}


def _audits() -> dict[str, AuditReport]:
    found = {name: AuditReport(name, (Entry(name, make(), "why", 3),), **WHOLE) for name, make in VERDICTS.items()}
    failure = Failure("no model", "ModelError", "it raised\nValueError", "the law", 12)
    found["a failure"] = AuditReport("t", found["rates"].entries, **WHOLE, failures=(failure,))
    found["failures only"] = AuditReport("t", (), **WHOLE, failures=(failure, replace(failure, name=ODD, message=ODD)))
    found["nothing"] = AuditReport("nothing", ())
    found["odd all over"] = AuditReport(
        ODD, (Entry(ODD, _odd(), ODD, None, ODD),), ODD, None, ODD, (Failure(ODD, "X", ODD),)
    )
    found["windows"] = AuditReport("t", found["rates"].entries, file="C:\\audits\\my audit.toml")
    found["absolute"] = AuditReport("t", found["rates"].entries, file="/srv/my audits/ü.toml")
    entry = found["exact"].entries[0]
    found["a thousand"] = AuditReport("t", tuple(replace(entry, name=f"property {k}", line=k + 1) for k in range(1000)))
    return found


AUDITS = _audits()
CHECKER = jsonschema.FormatChecker(["uri", "uri-reference"])


@pytest.mark.parametrize("name", AUDITS)
def test_our_json_is_what_its_schema_says_and_comes_back(name: str) -> None:
    audit = AUDITS[name]
    content = json.loads(as_json(audit).encode("utf-8"))
    jsonschema.Draft202012Validator(schema()).validate(content)
    assert len(content["verdicts"]) == len(audit.entries)
    for stored, entry in zip(content["verdicts"], audit.entries, strict=True):
        assert Verdict.from_dict(stored).expressions == entry.verdict.expressions
        assert stored["name"] == entry.name
    assert [failure["message"] for failure in content["failures"]] == [each.message for each in audit.failures]


@pytest.mark.parametrize("name", AUDITS)
def test_sarif_is_what_the_standard_says(name: str) -> None:
    audit = AUDITS[name]
    content = json.loads(sarif(audit).encode("utf-8"))
    jsonschema.Draft202012Validator(SARIF, format_checker=CHECKER).validate(content)
    (run,) = content["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(ids)) == len(ids) == len(audit.entries)
    assert all(ids[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] == (not audit.failures)
    assert len(invocation.get("toolExecutionNotifications", [])) == len(audit.failures)


@pytest.mark.parametrize("name", AUDITS)
def test_junit_is_what_readers_take(name: str) -> None:
    audit = AUDITS[name]
    text = junit(audit)
    suites = ElementTree.fromstring(text.encode("utf-8"))
    xmlschema.XMLSchema(JUNIT).validate(suites)
    (suite,) = suites
    for part in (suites, suite):
        assert int(part.get("tests", "")) == len(suite)
        assert int(part.get("failures", "")) == len(suite.findall("testcase/failure"))
        assert int(part.get("errors", "")) == len(suite.findall("testcase/error"))
    assert len(suite) == len(audit.entries) + len(audit.failures)


def test_the_schemas_refuse_what_is_wrong() -> None:
    content = json.loads(as_json(AUDITS["rates"]))
    for change in ({"answer": "maybe"}, {"samples": -1}, {"risk": 2}, {"seconds": "1"}, {"more": 1}):
        bad = {**content, "verdicts": [{**content["verdicts"][0], **change}]}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(schema()).validate(bad)
    log = json.loads(sarif(AUDITS["windows"]))
    assert log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == (
        "file:///C:/audits/my%20audit.toml"
    )
    log["runs"][0]["results"][0]["level"] = "none" if log["runs"][0]["results"][0]["kind"] == "fail" else "error"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SARIF).validate(log)
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        xmlschema.XMLSchema(JUNIT).validate(junit(AUDITS["rates"]).replace("<testcase ", '<testcase more="1" '))
