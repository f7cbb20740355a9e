"""Logs of evals as tables: of inspect_ai, promptfoo and lm-evaluation-harness; and two of them, question by question.

Every log becomes a table with a row for each answer:

* ``item``: the question, by the name or number that the log has for it; ``repeat``: 1, 2, ... for its answers.
* ``correct``: 1 or 0, where the first score says right or wrong, and 0 where an answer failed; ``score``: that score as
  a number.
* a column for each score by its name, and ``answer``, ``target``, ``error``, where the log has them.
* what else is known of the question (metadata, variables, fields), where it is a number, text or truth value.

Rows are in the order of the questions, where a log has it: in the order in which answers came, wrong ones that take
longer would be last, and whoever looks at a table as it grows would be misled.

The answers to one question belong together, and are one draw. A log is recognized by its content; the tool that wrote
it need not be installed.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Protocol

from isonomia.errors import DataError
from isonomia.wording import listed

Row = dict[str, Any]
Rows = list[Row]

_WORDS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""The scores that inspect_ai writes as words: correct, incorrect, partial, no answer; yes and no."""

_OWN = ("item", "repeat", "correct", "score", "answer", "target", "error")
_TAKEN = (*_OWN, "limit", "seconds")
_TOO_LONG = "Key removed from summary (> 1k)"
"""What inspect_ai writes in the place of a field that is too long for a summary."""

_MOST_UNPACKED = 2**31
_MOST_TIMES, _SMALL = 100, 2**24
"""Bytes that the summaries of a log may unpack to: those of a million answers have about half as many. A file that is
larger than ``_SMALL`` when unpacked may not be ``_MOST_TIMES`` as large as packed: it has whole answers besides."""


@dataclass(frozen=True, slots=True)
class EvalLog:
    """The rows of a log, and what a verdict should mention of it.

    Attributes
    ----------
    rows
        A mapping for each answer, with ``item`` at least.
    scores
        The names of the columns with scores. ``correct`` and ``score`` are those of the first with numbers, where the
        rows do not have them.
    remarks
        What the log says of itself, and what it lacks.
    nested
        The fields that were left out, since they are neither numbers nor text.
    """

    rows: Rows
    scores: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    nested: Counter[str] = field(default_factory=Counter)


class LogFormat(Protocol):
    """How the logs of one tool are recognized and read."""

    @property
    def tool(self) -> str:
        """Its name."""

    def fits(self, content: Any) -> bool:
        """Whether the content of a file, decoded from JSON, is such a log; of JSON lines, a list with the first."""

    def log(self, content: Any) -> EvalLog:
        """Its rows. A ``LookupError``, ``TypeError``, ``ValueError`` or ``AttributeError`` where it is damaged."""


# --------------------------------------------------------------------------------------------------------- inspect_ai


@dataclass(frozen=True, slots=True)
class _InspectLog:
    """``.eval`` and ``.json`` logs of inspect_ai: a sample for each question and epoch, with scores by scorer."""

    tool: str = "inspect_ai"

    def fits(self, content: Any) -> bool:
        return isinstance(content, Mapping) and isinstance(content.get("eval"), Mapping) and "version" in content

    def log(self, content: Any) -> EvalLog:
        samples, nested = content.get("samples") or [], Counter[str]()
        if not samples:
            raise DataError("the log has no samples. Was it written with --no-log-samples, or the header alone?")
        places = {name: n for n, name in enumerate((content["eval"].get("dataset") or {}).get("sample_ids") or [])}
        samples = sorted(samples, key=lambda each: (places.get(each["id"], len(places)), each["epoch"]))
        # Not every sample has all scores, so their order is that of the task.
        names = dict.fromkeys(each["name"] for each in content["eval"].get("scorers") or [])
        names |= dict.fromkeys(name for sample in samples for name in sample.get("scores") or {})
        rows, columns = [], {name: dict[str, None]() for name in names}
        for sample in samples:
            scores = sample.get("scores") or {}
            answers = [scores[name].get("answer") for name in names if name in scores]
            row = {"item": sample["id"], "repeat": int(sample["epoch"]), "answer": next(iter(answers), None)}
            row |= {"target": _as_text(sample.get("target")), "error": _inspect_text(sample.get("error"), "message")}
            row |= {"limit": _inspect_text(sample.get("limit"), "type"), "seconds": sample.get("total_time")}
            for name in names:
                if name in scores:
                    parts = _inspect_scores(_free(name), scores[name]["value"], nested)
                    columns[name] |= dict.fromkeys(parts)
                    row |= parts
            rows.append(row)
        ordered = [column for name in names for column in columns[name]]
        for column in ordered:
            if any(_is_number(row.get(column)) for row in rows):
                for row in rows:  # one that is neither right nor wrong, such as a grade that could not be read
                    row |= {column: None} if isinstance(row.get(column), str) else {}
        _add_fields(rows, [sample.get("metadata") or {} for sample in samples], ordered, nested)
        return EvalLog(rows, tuple(ordered), tuple(_inspect_remarks(content, rows)), nested)


def _inspect_text(value: Any, part: str) -> str:
    """An error or a limit: an object in whole logs, text in summaries."""
    return str(value.get(part) if isinstance(value, Mapping) else value) if value else ""


def _inspect_scores(name: str, value: Any, nested: Counter[str]) -> Row:
    """The columns of one score, of which some have parts; text where it is no number."""
    if isinstance(value, Mapping):
        return {f"{name}.{part}": _number(each) for part, each in value.items()}
    if isinstance(value, list):
        nested[name] += 1
        return {name: None}
    return {name: value if isinstance(value, str) and _number(value) is None else _number(value)}


def _inspect_remarks(content: Mapping[str, Any], rows: Rows) -> Iterable[str]:
    samples, limited = len(rows), sum(bool(row["limit"]) for row in rows)
    if limited:
        yield f"{limited:,} of {samples:,} answers were ended by a limit, and scored as they were: see 'limit'"
    if content.get("invalidated"):
        yield "some answers were marked as invalid in inspect_ai; they count here"
    dataset, config = content["eval"].get("dataset") or {}, content["eval"].get("config") or {}
    planned = len(dataset.get("sample_ids") or []) * int(config.get("epochs") or 1)
    status, results = content.get("status", "started"), content.get("results") or {}
    if results.get("early_stopping"):
        yield (
            f"the task was stopped early, after {samples:,} of {planned:,} answers: a new verdict about these is not "
            "covered by its risk; the one that stopped it is in the log"
        )
    elif samples < planned or (status != "success" and not planned):
        yield (
            f"the log has {samples:,} of {planned or 'all'} answers (status {status}): where those that take longer "
            "are missing, every rate is biased"
        )
    elif status != "success":
        yield f"the task did not succeed (status {status}), but the log has all {samples:,} answers"


def _archive(file: Path) -> Any:
    """The content of an ``.eval`` file, with the summaries of its samples; of one that was cut off, what is there."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            header = "header.json" if "header.json" in names else "_journal/start.json"
            parts = [name for name in names if re.fullmatch(r"_journal/summaries/\d+\.json", name)]
            parts.sort(key=lambda name: int(Path(name).stem))
            wanted = ["summaries.json"] if "summaries.json" in names else parts
            most = min(max(_SMALL, _MOST_TIMES * file.stat().st_size), _MOST_UNPACKED)
            if sum(archive.getinfo(name).file_size for name in [header, *wanted]) > most:
                raise DataError(f"the log unpacks to more than {most:,} bytes, more than any real log of its size.")
            content = json.loads(_unpacked(file, archive, header))
            content["samples"] = [each for name in wanted for each in json.loads(_unpacked(file, archive, name))]
            return content
    except (zipfile.BadZipFile, LookupError, TypeError, ValueError, RecursionError, OSError, EOFError) as error:
        raise DataError(f"it is not a whole .eval log: {error}. Write it again.") from error


def _unpacked(file: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    """A member of an archive; zstandard, which newer logs have, is unpacked by pyarrow."""
    entry = archive.getinfo(name)
    if entry.compress_type != 93:
        return archive.read(name)
    import pyarrow as pa

    with file.open("rb") as stream:  # behind the entry's local header, whose last two fields say how long it is
        stream.seek(entry.header_offset + 26)
        lengths = stream.read(4)
        stream.seek(int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little"), 1)
        packed = stream.read(entry.compress_size)
    content = pa.CompressedInputStream(pa.BufferReader(packed), "zstd").read(entry.file_size + 1)
    if len(content) != entry.file_size or zlib.crc32(content) != entry.CRC:
        raise ValueError(f"{name} is damaged")
    return bytes(content)


# ---------------------------------------------------------------------------------------------------------- promptfoo


@dataclass(frozen=True, slots=True)
class _PromptfooLog:
    """Results of promptfoo as JSON or JSON lines: one for each test, provider and prompt."""

    tool: str = "promptfoo"

    def fits(self, content: Any) -> bool:
        if isinstance(content, list):
            return bool(content) and isinstance(content[0], Mapping) and {"testCase", "promptIdx"} <= content[0].keys()
        inner = content.get("results") if isinstance(content, Mapping) else None
        return isinstance(inner, Mapping) and isinstance(inner.get("results"), list) and "stats" in inner

    def log(self, content: Any) -> EvalLog:
        nested, rows, names, fields = Counter[str](), [], dict[str, None](), []
        results = content if isinstance(content, list) else content["results"]["results"]
        checked = 0
        for result in sorted(results, key=lambda each: (each.get("testIdx", 0), each.get("promptIdx", 0))):
            variables = (result.get("testCase") or {}).get("vars") or result.get("vars") or {}
            provider, prompt = result.get("provider") or {}, result.get("prompt") or {}
            output = (result.get("response") or {}).get("output")
            failed = result.get("failureReason") == 2  # not an answer that was wrong, but none
            row: Row = {"item": json.dumps(variables, sort_keys=True, ensure_ascii=False), "answer": _as_text(output)}
            row["error"] = str(result.get("error") or "no answer") if failed else ""
            # What nothing was asserted of is a success for promptfoo.
            said = not failed and (result.get("gradingResult") or {}).get("reason") != "No assertions"
            checked += failed or said
            row["correct"] = float(result["success"] is True) if said else None
            row["score"] = _number(result.get("score")) if said else None
            row["provider"] = provider if isinstance(provider, str) else provider.get("label") or provider.get("id")
            row["prompt"] = prompt if isinstance(prompt, str) else prompt.get("label") or prompt.get("raw")
            scores = {_free(str(name)): _number(value) for name, value in (result.get("namedScores") or {}).items()}
            names |= dict.fromkeys(scores)
            rows.append(row | scores | {"cost": result.get("cost")})
            fields.append({**((result.get("testCase") or {}).get("metadata") or {}), **variables})
        _add_fields(rows, fields, tuple(names), nested)
        remarks = []
        if checked < len(rows):
            remarks.append(
                f"nothing is asserted of {len(rows) - checked:,} of {len(rows):,} answers: they have no score"
            )
        return EvalLog(_numbered(rows, ("item", "provider", "prompt")), tuple(names), tuple(remarks), nested)


# --------------------------------------------------------------------------------------------- lm-evaluation-harness


@dataclass(frozen=True, slots=True)
class _HarnessLog:
    """``samples_*.jsonl`` of lm-evaluation-harness: a line for each question and filter, with metrics by name."""

    tool: str = "lm-evaluation-harness"

    def fits(self, content: Any) -> bool:
        line = content[0] if isinstance(content, list) and content else None
        return isinstance(line, Mapping) and isinstance(line.get("doc"), Mapping) and "filtered_resps" in line

    def log(self, content: Any) -> EvalLog:
        nested, rows, names, fields = Counter[str](), dict[Any, Row](), dict[str, None](), dict[Any, Any]()
        filters = list(dict.fromkeys(str(line.get("filter", "none")) for line in content))
        times: Counter[Any] = Counter()
        for number, line in enumerate(content):
            item, kind = line.get("doc_id", number), str(line.get("filter", "none"))
            times[item, kind] += 1
            fields.setdefault((item, times[item, kind]), line["doc"])
            row = rows.setdefault((item, times[item, kind]), {"item": item, "repeat": times[item, kind]})
            answers = line["filtered_resps"]
            row.setdefault("answer", _as_text(answers[0] if len(answers) == 1 else answers))
            row.setdefault("target", _as_text(line.get("target")))
            known = ("doc_id", "filter", "metrics")
            metrics = line.get("metrics") or [name for name in line if name not in known and _is_number(line[name])]
            for metric in metrics:
                name = metric.replace(",", "_") if len(filters) == 1 else f"{metric.partition(',')[0]}_{kind}"
                name = _free(re.sub(r"\W", "_", name))
                value = line.get(metric)
                nested[name] += not _is_number(value) and value is not None
                row[name], names[name] = _number(value), None
            if "doc_hash" in line:
                row.setdefault("doc_hash", line["doc_hash"])
        _add_fields(list(rows.values()), list(fields.values()), tuple(names), nested)
        remarks = () if len(filters) == 1 else (f"there are {len(filters)} filters: {listed(filters)}",)
        return EvalLog(list(rows.values()), tuple(names), remarks, nested)


FORMATS: Sequence[LogFormat] = (_InspectLog(), _PromptfooLog(), _HarnessLog())
"""The logs that are read, in the order in which they are tried."""


# ----------------------------------------------------------------------------------------------------- what they share


def content_of(file: Path, ending: str) -> Any | None:
    """What is in the log of an eval, decoded; ``None`` for other tables as JSON, which are decoded elsewhere."""
    from isonomia.populations.lines import open_bytes

    if ending == ".eval":
        return _archive(file)
    marks = (b'"eval"', b'"results"') if ending == ".json" else (b'"filtered_resps"', b'"promptIdx"')
    try:
        with open_bytes(file) as stream:
            start = bytes(stream.read(2**20))
            if not any(mark in start for mark in marks):
                return None
            text = start + bytes(stream.read())
        lines = [text] if ending == ".json" else text.splitlines()
        decoded = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError, RecursionError):
        return None  # reported by the reader of other tables, with the line
    content = decoded[0] if ending == ".json" else decoded
    if isinstance(content, Mapping) and {"results", "versions", "n-shot"} <= content.keys():
        raise DataError(
            "this file of lm-evaluation-harness has averages only: give the samples_*.jsonl beside it, which "
            "--log_samples writes"
        )
    return content if _format_of(content) is not None else None


def _format_of(content: Any) -> LogFormat | None:
    return next((each for each in FORMATS if each.fits(content)), None)


def columns_of(content: Any) -> tuple[dict[str, list[Any]], tuple[str, ...], str | None]:
    """The columns of a log, what a verdict mentions of it, and the column of what belongs together, if anything."""
    form = _format_of(content)
    if form is None:
        raise DataError(
            f"expected a log of {listed([each.tool for each in FORMATS], 'or')}, but this file has another format"
        )
    try:
        log = form.log(content)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        why = f"{type(error).__name__}: {error}"
        raise DataError(f"it looks like a log of {form.tool}, but a part of it is missing or damaged: {why}") from error
    if not log.rows:
        raise DataError(f"the log of {form.tool} has no answers")
    remarks = list(log.remarks)
    first = next((name for name in log.scores if any(_is_number(row.get(name)) for row in log.rows)), None)
    for row in log.rows:
        row.setdefault("score", row.get(first or ""))
        row.setdefault("correct", row["score"])
    if all(row["score"] is None for row in log.rows):
        remarks.append("the log has no scores that are numbers")
    if any(row["correct"] not in (None, 0.0, 1.0) for row in log.rows):
        remarks.append(f"{first} is not only right or wrong, so there is no column 'correct': 'score' has its values")
        for row in log.rows:
            del row["correct"]
    elif len(log.scores) > 1 and first is not None:
        others = [name for name in log.scores if name != first and any(row.get(name) is not None for row in log.rows)]
        also = f"; there are columns for {listed(others)} too" if others else ""
        remarks.append(f"'correct' and 'score' are {first}{also}")
    without = sum(row["score"] is None for row in log.rows)
    if 0 < without < len(log.rows):
        remarks.append(
            f"{without:,} of {len(log.rows):,} answers have no score, such as those that failed: P[correct] counts "
            "them as wrong"
        )
        for row in log.rows:
            row |= {"correct": 0.0} if "correct" in row and row["correct"] is None else {}
    if log.nested:
        remarks.append(f"left out, since they are neither numbers nor text: {listed(sorted(+log.nested))}")
    repeats = max(Counter(row["item"] for row in log.rows).values())
    if repeats > 1:
        remarks.append(f"the log has up to {repeats} answers to a question, which are one draw together")
    return _columns(log), tuple(remarks), "item" if repeats > 1 else None


def _columns(log: EvalLog) -> dict[str, list[Any]]:
    """The columns that have a value somewhere, each of one kind: numbers, or text."""
    names = dict.fromkeys((*_OWN, *log.scores, *(name for row in log.rows for name in row)))
    columns = {}
    for name in names:
        values = [row.get(name) for row in log.rows]
        known = [value for value in values if value is not None]
        if not known or (name in ("error", "limit") and not any(known)):
            continue
        if name in ("item", *log.scores) or not all(_is_number(value) or isinstance(value, bool) for value in known):
            numeric = all(_is_number(value) for value in known)
            values = values if numeric else [None if value is None else _as_text(value) for value in values]
        if name == "correct":
            values = [None if value is None else int(value) for value in values]
        # Text that was cut within a character has halves of it, which no encoding has.
        columns[name] = [each.encode("utf-8", "replace").decode() if isinstance(each, str) else each for each in values]
    return columns


def _free(name: str) -> str:
    """The column of a score: one whose name says something else here gets an underscore."""
    return f"{name}_" if name in _TAKEN else name


def _add_fields(rows: Rows, fields: Sequence[Mapping[str, Any]], scores: Sequence[str], nested: Counter[str]) -> None:
    """The fields of each question; a name that is already used gets an underscore."""
    taken = {*_TAKEN, *scores}
    for row, about in zip(rows, fields, strict=True):
        for name, value in about.items():
            if isinstance(value, str | bool | int | float) or value is None:
                own = name if name not in taken and name not in row else f"{name}_"
                row.setdefault(own, None if value == _TOO_LONG else value)
            else:
                nested[name] += 1


def _numbered(rows: Rows, same: Sequence[str]) -> Rows:
    """The rows with their numbers among those that are the same in some columns."""
    times: Counter[Any] = Counter()
    for row in rows:
        key = tuple(row[name] for name in same)
        times[key] += 1
        row["repeat"] = times[key]
    return rows


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> float | None:
    """A score as a number; ``None`` if it is not a number."""
    if isinstance(value, str):
        if value in _WORDS or value.lower() in _WORDS:
            return _WORDS.get(value, _WORDS.get(value.lower()))
        try:
            value = float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, bool | int | float) and isfinite(value) else None


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
