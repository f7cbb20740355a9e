"""How a command ends: files for CI servers, code hosts and people, a summary, the exit code; and files people edit.

The console through which every command prints: nothing that comes from outside has a meaning for the terminal.

Names of properties, titles of runs, values of tables and texts of errors come from files that other people may have
written. An escape sequence in one of them could clear the screen or change a verdict that is printed above it, and a
character that turns the direction of writing could make a line say something else. In a job of GitHub a line that
begins with two colons is an order to what runs the job: to hide words, or to stop listening.

Output that cannot be written does not end a command (:func:`guard_streams`): an audit of hours continues and writes its
files when the reader of a pipe has left.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from glob import glob
from importlib.util import find_spec
from io import BufferedWriter, FileIO, RawIOBase, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from isonomia.errors import UsageError
from isonomia.wording import plural, visible

if TYPE_CHECKING:
    from isonomia.interventions import Interventions
    from isonomia.records.verdict import Verdict
    from isonomia.records.violations import ViolationSet
    from isonomia.report.entries import AuditReport


def new_console(*, stderr: bool = False, wrap: bool = True, quiet: bool = False) -> Console:
    """A console for plain text, with control characters made visible; without ``wrap``, lines are not wrapped."""
    return _ShieldedConsole(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=not wrap, quiet=quiet)


class _ShieldedConsole(Console):
    """A console in whose text every control character is made visible.

    Rich has no other place through which everything passes, the lines of a progress bar among it. Colours are not text
    there yet, and what moves the cursor of a progress bar is marked as control.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is printed, piece by piece."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(_harmless(segment.text), segment.style)


_ORDER = re.compile(r"^(\s*):(?=:)|##(?=\[)", re.MULTILINE)
"""What GitHub's runner takes for an order: two colons, blanks before them aside, or two signs of a number anywhere."""


def _harmless(text: str) -> str:
    """The text without a meaning for the terminal, or for what runs a job."""
    shown = visible(text)
    if "GITHUB_ACTIONS" not in os.environ or not _ORDER.search(shown):
        return shown
    return _ORDER.sub(lambda match: f"{match[1]}\N{MODIFIER LETTER COLON}" if match[1] is not None else "# #", shown)


class _Guarded(RawIOBase):
    """A stream whose errors are remembered instead of raised; after the first one, nothing more is written to it."""

    def __init__(self, raw: Any, error: OSError | None) -> None:
        self._raw, self.error = raw, None
        self._closed_before = error

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        return bool(self._raw.isatty())

    def write(self, data: Any) -> int | None:
        try:
            if self._closed_before is not None:
                raise self._closed_before
            if self.error is None:
                written: int | None = self._raw.write(data)
                return written
        except OSError as error:
            if isinstance(error, BlockingIOError):
                raise
            self.error = error
        return len(data)

    error: OSError | None


def guard_streams() -> None:
    """Let output that cannot be written change nothing but :func:`output_error`.

    A stream that is closed is replaced by the null device, so that no file can get its number and be written to.
    """
    shut = [number for number in range(3) if not _is_open(number)]
    for _ in shut:
        os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    sys.stdout = _guarded(sys.stdout, sys.__stdout__, 1)
    sys.stderr = _guarded(sys.stderr, sys.__stderr__, 2)


def output_error() -> OSError | None:
    """Why standard output could not be written; ``None`` if it could, or if its reader has left."""
    raw = _raw(sys.stdout)
    error = raw.error if isinstance(raw, _Guarded) else None
    return None if isinstance(error, BrokenPipeError) else error


def reader_left() -> bool:
    """Whether standard output is a pipe whose reader has left."""
    raw = _raw(sys.stdout)
    return isinstance(raw, _Guarded) and isinstance(raw.error, BrokenPipeError)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _raw(stream: Any) -> Any:
    buffer = getattr(stream, "buffer", None)
    return getattr(buffer, "raw", buffer)  # with PYTHONUNBUFFERED there is no buffer


def _guarded(stream: Any, original: Any, number: int) -> Any:
    if stream is not original or isinstance(_raw(stream), _Guarded):
        return stream  # replaced, such as by a test, or guarded before
    shut = OSError(errno.EBADF, "it is closed") if stream is None else None
    raw = FileIO(number, "w", closefd=False) if stream is None else _raw(stream)
    if raw is None:
        return stream
    guard = BufferedWriter(_Guarded(raw, shut))
    encoding = "utf-8" if stream is None else stream.encoding
    # A character that the terminal lacks must not end an audit.
    direct = stream is not None and stream.write_through
    return TextIOWrapper(guard, encoding, "replace", line_buffering=number == 2 or raw.isatty() or direct)


@dataclass(frozen=True, slots=True)
class OutputFiles:
    """Where each kind of file is to be written; ``None`` for nowhere."""

    junit: Path | None = None
    sarif: Path | None = None
    json: Path | None = None
    markdown: Path | None = None
    card: Path | None = None
    report: Path | None = None
    violations: Path | None = None
    mlflow: str | None = None  # the experiment to log to

    def probe(self) -> None:
        """Make sure that every file can be written, before hours are spent; what is in it stays as it is."""
        if self.mlflow is not None and find_spec("mlflow") is None:
            raise UsageError("--mlflow needs the package: pip install 'isonomia[mlflow]'")
        need_files(**dict(self.wanted()))

    def wanted(self) -> list[tuple[str, Path]]:
        """The files that are requested, by their kinds."""
        return [(name, path) for name, path in asdict(self).items() if name != "mlflow" and path is not None]


def need_files(**files: Path | None) -> None:
    """Make sure, before any work is done, that the files can be written that options name; ``None`` for no file."""
    from isonomia.report.files import need_table, need_violations, need_writable

    checks = {"violations": need_violations, "csv": need_table, "points": need_table, "people": need_table}
    for name, path in files.items():
        if path is not None:
            checks.get(name, need_writable)(path, _what(name))


def say_written(console: Console, *paths: Path | None) -> None:
    """Say which files there are now, a line for each that was asked for."""
    for path in paths:
        if path is not None:
            console.print(f"written: {path}", soft_wrap=True)


def write_outputs(outputs: OutputFiles, audit: AuditReport, summary_file: str | None) -> None:
    """Write every requested file, and the summary of a GitHub job if there is one."""
    from isonomia.report.files import as_json, write_file
    from isonomia.report.junit import junit
    from isonomia.report.markdown import as_markdown, github_lines, model_card, summary
    from isonomia.report.sarif import sarif

    makers: dict[str, Callable[[AuditReport], str]] = {
        "junit": junit,
        "sarif": sarif,
        "json": as_json,
        "markdown": as_markdown,
        "card": model_card,
        "report": _page,
    }
    for name, target in outputs.wanted():
        if name == "violations":  # they are no part of a report, and come from the store
            continue
        write_file(makers[name](audit), target, _what(name))
    if summary_file:
        with Path(summary_file).open("a", encoding="utf-8") as file:
            file.write(summary(audit))
        print(github_lines(audit), end="")


def _page(audit: AuditReport) -> str:
    from isonomia.report.page import page

    return page(audit)


def _what(kind: str) -> str:
    return "the report" if kind == "report" else f"--{kind}"


TITLE = "Checked at the command line"
"""What verdicts are about that no audit file has given a title."""


def conclude(verdicts: Sequence[Verdict], console: Console, target: Path | None, *, always: bool = False) -> int:
    """Sum up several verdicts, or ``always`` also one, store them if asked to, and give the exit code."""
    from isonomia.report.entries import AuditReport, Entry, exit_code
    from isonomia.report.files import as_json, write_file
    from isonomia.report.terminal import print_lines, print_page

    entries = tuple(Entry(verdict.name or verdict.text, verdict) for verdict in verdicts)
    if len(verdicts) > 1 or always:
        print_lines(entries, console)
    if not always:
        print_page(verdicts, console)
    if target is not None:
        write_file(as_json(AuditReport(TITLE, entries)), target, "--json")
    return exit_code(verdicts)


def write_all_violations(
    by_name: Sequence[tuple[str, ViolationSet]], target: Path, console: Console, what: str = "violation"
) -> None:
    """Write every violation of some properties, given by their names: to one file, or to one for each of several."""
    from isonomia.report.files import write_violations

    for path, (_, violations) in zip(_file_names(target, [name for name, _ in by_name]), by_name, strict=True):
        if len(violations) or len(by_name) == 1:
            write_violations(violations, path)
            more = "more than " if violations.more else ""
            count = plural(len(violations), what)
            console.print(f"{path}: {more}{count}", soft_wrap=True)


def _file_names(target: Path, names: Sequence[str]) -> list[Path]:
    """The target; where there are several properties, with the name or number of each before the ending."""
    if len(names) == 1:
        return [target]
    words = ["-".join(re.findall(r"[A-Za-z0-9]+", name))[:60] for name in names]
    numbered = [word if word and words.count(word) == 1 else str(number) for number, word in enumerate(words, start=1)]
    return [target.with_name(f"{target.stem}-{word}{target.suffix}") for word in numbered]


def read_interventions(path: Path) -> Interventions:
    """The interventions of a TOML file."""
    from isonomia.audits.audit_file.reader import file_text
    from isonomia.interventions import Interventions

    hint = " isonomia init people.csv --interventions drafts one."
    return Interventions.from_toml(file_text(path, "a file of interventions", hint), str(path))


def refuse_to_overwrite(path: Path, *, force: bool) -> None:
    """Refuse to overwrite a file without ``force``: a person may have edited it."""
    if path.exists() and not force:
        raise UsageError(
            f"expected a new file, but {path} exists and may have been edited: choose another name with -o, or --force"
        )


WRITTEN = (
    *("junit", "sarif", "json", "markdown", "card", "report", "violations", "html", "csv", "document", "output"),
    *("page", "evidence", "points", "people"),
)
"""The options of all commands that name a file to write."""


def refuse_inputs(options: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Refuse to write over a file that the same command reads: named by it, or by a TOML file that it names."""
    from isonomia.records.store import FOLDER

    outputs = [(f"--{name}", path) for name in WRITTEN for path in _texts(options.get(name))]
    inputs = [*_texts(arguments), *_texts({name: each for name, each in options.items() if name not in WRITTEN})]
    for file in [Path(name) for name in inputs if name.endswith(".toml")]:
        try:
            content = tomllib.loads(file.read_text("utf-8-sig"))
        except (OSError, ValueError):
            continue  # reported by whoever needs it
        page = content.pop("page", None)
        if isinstance(page, str) and options.get("page") is None:
            outputs.append(("page", str(file.parent / page)))
        inputs.append(str(file.parent / FOLDER))
        inputs += [str(file.parent / name) for name in _texts(content)]
    for option, output in outputs:
        if Path(output).is_file() and any(_holds(name, Path(output)) for name in inputs):
            raise UsageError(f"expected a new name for {option}, but {output} is read by this command")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str | Path):
        yield str(value)
    elif isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def _holds(name: str, file: Path) -> bool:
    """Whether a name is that of a file, a pattern that it matches, or that of a folder of rows or records with it."""
    from isonomia.populations.files import files_in
    from isonomia.records.store import STORE

    try:
        path = Path(name)
        if not path.is_dir():
            module = Path(path.parent, path.name.partition(":")[0].replace(".", "/") + ".py")  # of module:object
            named = glob(name, recursive=True) or ([str(module)] if ":" in path.name else [name])
            return any(file.samefile(each) for each in named)
        inside = file.resolve().is_relative_to(path.resolve())
        return inside and (file.name == STORE or any(file.samefile(each) for each in files_in(path)))
    except (OSError, ValueError):  # a formula, or another text that is no path
        return False


def write_text(text: str, path: Path, *, force: bool) -> None:
    """Write a file that a person will edit; an existing one is overwritten only with ``force``."""
    from isonomia.report.files import write_file

    refuse_to_overwrite(path, force=force)
    write_file(text, path, "the draft")
