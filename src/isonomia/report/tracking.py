"""An audit in an MLflow run: numbers as metrics, answers as tags, the report and the evidence as artifacts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from isonomia.errors import UsageError
from isonomia.records.display.view import telling
from isonomia.records.verdict import Verdict
from isonomia.report.entries import AuditReport, Entry, audit_exit_code
from isonomia.report.files import as_json
from isonomia.report.page import page
from isonomia.version import __version__

FOLDER = "isonomia"
"""The folder of the artifacts, and the prefix of every metric and tag."""

_MAX_KEY = 200
"""MLflow takes names of up to 250 characters; a prefix and a suffix are added to that of a property."""

_CODES = {0: "holds", 1: "violated", 2: "not checked", 3: "undecided"}


def log_to_mlflow(
    audit: AuditReport | Verdict | Sequence[Verdict], *, experiment: str | None = None, evidence: str | None = None
) -> str:
    """Log verdicts to an MLflow run: the active one, that of ``MLFLOW_RUN_ID``, or a new one.

    Metrics are ``isonomia/NAME/estimate``, ``low``, ``high``, ``threshold``, ``samples``, ``queries``, ``risk`` and
    ``holds`` (1 or 0, or absent where it is undecided). Tags are ``isonomia.answer`` for all properties together,
    ``isonomia.NAME`` for each, the version, and the fingerprints of model and data. Artifacts, in the folder
    ``isonomia``, are ``report.html``, ``verdicts.json`` and, where it is given, ``evidence.json``.

    Parameters
    ----------
    audit
        A verdict, several, or a whole audit.
    experiment
        The experiment of a new run; by default the current one. The location of runs is MLflow's own setting,
        ``MLFLOW_TRACKING_URI`` or ``mlflow.set_tracking_uri``.
    evidence
        The text of the evidence file, as ``isonomia export`` writes it.

    Returns
    -------
    str
        The id of the run.

    Raises
    ------
    UsageError
        If MLflow is not installed, or cannot be written to.
    """
    mlflow = _mlflow()
    whole = _as_audit(audit)
    names = _names(whole.entries)
    try:
        active = mlflow.active_run()
        if active is None and experiment is not None:
            mlflow.set_experiment(experiment)
        if active is not None:
            _log(mlflow, whole, names, evidence)
            return str(active.info.run_id)
        with mlflow.start_run() as run:
            _log(mlflow, whole, names, evidence)
            return str(run.info.run_id)
    except mlflow.exceptions.MlflowException as error:
        raise UsageError(f"MLflow at {mlflow.get_tracking_uri()} does not take the audit: {error}") from error


def _mlflow() -> Any:
    try:
        import mlflow
    except ImportError as error:
        raise UsageError("logging to MLflow needs the package: pip install 'isonomia[mlflow]'") from error
    return mlflow


def _as_audit(given: AuditReport | Verdict | Sequence[Verdict]) -> AuditReport:
    if isinstance(given, AuditReport):
        return given
    verdicts = [given] if isinstance(given, Verdict) else list(given)
    if not verdicts or not all(isinstance(verdict, Verdict) for verdict in verdicts):
        raise UsageError(f"expected a verdict, several or an audit to log, but got {given!r:.80}", name="given")
    return AuditReport("An audit", tuple(Entry(verdict.name or verdict.text, verdict) for verdict in verdicts))


def _names(entries: Sequence[Entry]) -> list[str]:
    """A unique name for each property, with only characters that MLflow accepts."""
    names: list[str] = []
    for entry in entries:
        base = name = re.sub(r"[^A-Za-z0-9 .-]+", "_", entry.name).strip(" _.")[:_MAX_KEY] or "property"
        number = 2
        while name in names:
            name, number = f"{base} {number}", number + 1
        names.append(name)
    return names


def _log(mlflow: Any, audit: AuditReport, names: Sequence[str], evidence: str | None) -> None:
    pairs = list(zip(names, audit.entries, strict=True))
    mlflow.log_metrics({f"{FOLDER}/{name}/{key}": value for name, entry in pairs for key, value in _numbers(entry)})
    mlflow.set_tags(dict(_tags(audit, pairs)))
    mlflow.log_text(page(audit), f"{FOLDER}/report.html")
    mlflow.log_text(as_json(audit), f"{FOLDER}/verdicts.json")
    if evidence is not None:
        mlflow.log_text(evidence, f"{FOLDER}/evidence.json")


def _numbers(entry: Entry) -> Iterator[tuple[str, float]]:
    verdict = entry.verdict
    item = telling(verdict)
    known: dict[str, float | None] = {"samples": verdict.samples, "queries": verdict.queries, "risk": verdict.risk}
    if verdict.holds is not None:
        known["holds"] = float(verdict.holds)
    if item is not None:
        known |= {"estimate": item.estimate, "low": item.low, "high": item.high, "threshold": item.threshold}
    yield from ((key, float(value)) for key, value in known.items() if value is not None and isfinite(value))


def _tags(audit: AuditReport, pairs: Sequence[tuple[str, Entry]]) -> Iterator[tuple[str, str]]:
    yield "isonomia.answer", _CODES[audit_exit_code(audit)]
    yield "isonomia.version", __version__
    if audit.run is not None:
        yield "isonomia.run", audit.run
    for name, entry in pairs:
        yield f"isonomia.{name}", entry.verdict.answer
    verdicts = [entry.verdict for _, entry in pairs]
    about = {"model": [one.model for one in verdicts], "population": [one.population for one in verdicts]}
    for what, records in about.items():
        marks = dict.fromkeys(record.get("fingerprint") for record in records)
        yield f"isonomia.{what}", ", ".join(mark for mark in marks if mark)
