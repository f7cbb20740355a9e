"""JUnit XML, which every CI server reads: a property is a test case."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from isonomia.records.display.view import answer_line
from isonomia.report.entries import AuditReport, Entry, Failure, missing_answer

# Characters that XML 1.0 cannot hold, even as a character reference.
_UNSPEAKABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(audit: AuditReport) -> str:
    """The audit as a test suite.

    A violated property is a failure. An undecided one is an error: it is not known to hold, so it must not look like
    a pass. So is one that could not be checked.
    """
    answers = [entry.verdict.answer for entry in audit.entries]
    seconds = sum(entry.verdict.seconds for entry in audit.entries)
    counts = {
        "tests": str(len(answers) + len(audit.failures)),
        "failures": str(answers.count("violated")),
        "errors": str(answers.count("undecided") + len(audit.failures)),
        "time": f"{seconds:.3f}",
    }
    suites = ElementTree.Element("testsuites", {"name": _clean(audit.title), **counts})
    extra = {"timestamp": audit.when[:19]} if audit.when else {}
    suite = ElementTree.SubElement(
        suites, "testsuite", {"name": _clean(audit.title), **counts, "skipped": "0", **extra}
    )
    for entry in audit.entries:
        _case(suite, entry, audit)
    for failure in audit.failures:
        _failed(suite, failure, audit)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, entry: Entry, audit: AuditReport) -> None:
    verdict = entry.verdict
    case = ElementTree.SubElement(
        suite,
        "testcase",
        {"name": _clean(entry.name), "classname": _clean(audit.title), "time": f"{verdict.seconds:.3f}"},
    )
    kinds = {"violated": "failure", "undecided": "error"}
    if verdict.answer in kinds:
        problem = ElementTree.SubElement(
            case, kinds[verdict.answer], {"type": verdict.answer, "message": _clean(answer_line(verdict))}
        )
        problem.text = _clean(str(verdict))
    else:
        ElementTree.SubElement(case, "system-out").text = _clean(str(verdict))


def _failed(suite: ElementTree.Element, failure: Failure, audit: AuditReport) -> None:
    names = {"name": _clean(failure.name), "classname": _clean(audit.title), "time": "0.000"}
    case = ElementTree.SubElement(suite, "testcase", names)
    first = f"{missing_answer(failure)}: {failure.message.partition(chr(10))[0]}"
    problem = ElementTree.SubElement(case, "error", {"type": _clean(failure.kind), "message": _clean(first)})
    problem.text = _clean(failure.message)


def _clean(text: str) -> str:
    return _UNSPEAKABLE.sub("\N{REPLACEMENT CHARACTER}", text)
