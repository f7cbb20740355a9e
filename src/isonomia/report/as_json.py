"""An audit as JSON, for other programs; ``verdicts.schema.json`` beside this file is its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from isonomia.report.entries import Audit


def as_json(audit: Audit) -> str:
    """Every verdict in full, and every property that could not be checked."""
    content = {
        "title": audit.title,
        "run": audit.run,
        "when": audit.when,
        "file": audit.file,
        "verdicts": [{**entry.verdict.to_dict(), "name": entry.name} for entry in audit.entries],
        "failures": [
            {"name": failure.name, "kind": failure.kind, "message": failure.message, "line": failure.line}
            for failure in audit.failures
        ],
    }
    return dumped(content)


def schema() -> dict[str, Any]:
    """The JSON Schema of what :func:`as_json` writes."""
    content: dict[str, Any] = json.loads(files("isonomia.report").joinpath("verdicts.schema.json").read_text("utf-8"))
    return content


def dumped(content: Mapping[str, Any]) -> str:
    """JSON that can be written as UTF-8; a lone surrogate, as in a path that is not UTF-8, must be escaped for that."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(content, indent=1, allow_nan=False) + "\n"
    return text
