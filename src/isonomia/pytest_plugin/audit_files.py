"""Audit files as files of tests: every property is a test, with a name and a line.

The settings of the plugin: on the command line, in the configuration, and by a marker.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from isonomia.audits.context import SETTINGS, UNDECIDED
from isonomia.errors import IsonomiaError, UsageError, nearest

if TYPE_CHECKING:
    from isonomia.audits.audit_file.planner import PlannedCheck
    from isonomia.audits.audit_file.reader import AuditFile
    from isonomia.audits.protocol import Permissions


MARKER = (
    "isonomia(delta=..., budget=..., seed=..., looks=..., undecided='fail'): the defaults for every "
    "assert_holds of the test; undecided is 'fail', 'pass' or 'skip'."
)

FOLDER = ".isonomia"
"""The same as in ``isonomia.records.store``, whose import would slow down every test run."""


def add_options(parser: pytest.Parser) -> None:
    """Add every option, each with a counterpart in the configuration."""
    group = parser.getgroup("isonomia", "properties of machine-learning models")
    for name, metavar, what in (
        ("seed", "N", "the default seed of every check"),
        ("budget", "TEXT", "the default budget of every check: samples (1e5), a time (30s), or both"),
        ("records", "FOLDER", f"the file of known counterexamples, for the next run; {FOLDER} in the root folder"),
    ):
        group.addoption(f"--isonomia-{name}", metavar=metavar, default=None, help=what)
        parser.addini(f"isonomia_{name}", what, default=None)
    for name, what in (
        ("no-records", "neither store counterexamples nor try known ones"),
        ("trust-pickle", "let audit files open pickled models, which can run code"),
        ("allow-code", "let audit files import modules, run programs and blocks, and call services"),
        ("allow-outside", "let audit files read outside of their folders"),
    ):
        group.addoption(f"--isonomia-{name}", action="store_true", default=False, help=what)
        parser.addini(f"isonomia_{name.replace('-', '_')}", what, type="bool", default=False)
    what = "audit files that are tests: true for audit.toml and *.audit.toml, or patterns such as audits/*.toml"
    parser.addini("isonomia_audits", what, default="false")


def allowed(config: pytest.Config, name: str) -> bool:
    """Whether a permission was given, on the command line or in the configuration."""
    return bool(config.getoption(f"isonomia_{name}") or config.getini(f"isonomia_{name}"))


def records_folder(config: pytest.Config) -> Path | None:
    """The folder of records; ``None`` where nothing is to be kept.

    On the command line it is relative to the current folder, in the configuration to the root folder.
    """
    if allowed(config, "no_records"):
        return None
    on_line, configured = config.getoption("isonomia_records"), config.getini("isonomia_records")
    if on_line:
        return config.invocation_params.dir / str(on_line)
    return config.rootpath / str(configured or FOLDER)


def seed_option(config: pytest.Config, *, configured: bool = True) -> int | None:
    """The seed of the command line, else that of the configuration."""
    text = _setting(config, "seed", configured)
    if text is None:
        return None
    if not text.isdecimal():
        raise pytest.UsageError(f"expected --isonomia-seed as a whole number that is not negative, but got {text!r}")
    return int(text)


def budget_option(config: pytest.Config, *, configured: bool = True) -> str | None:
    """The budget of the command line, else that of the configuration."""
    return _setting(config, "budget", configured)


def _setting(config: pytest.Config, name: str, configured: bool) -> str | None:
    text = config.getoption(f"isonomia_{name}") or (config.getini(f"isonomia_{name}") if configured else None)
    return str(text) if text else None


def settings_of(item: pytest.Item) -> tuple[dict[str, Any], str | None]:
    """The settings of a test for its assertions, and a complaint where a marker is invalid.

    The setting nearest to the test wins: its own marker, that of its class, that of its module, the command line, and
    last the configuration.
    """
    general = {"seed": seed_option(item.config), "budget": budget_option(item.config)}
    settings = {name: value for name, value in general.items() if value is not None}
    for marker in reversed(list(item.iter_markers("isonomia"))):
        complaint = _complaint(marker)
        if complaint is not None:
            return settings, f"{complaint} Write {MARKER.partition(':')[0]}."
        settings |= {name: value for name, value in marker.kwargs.items() if value is not None}
    return settings, None


def _complaint(marker: pytest.Mark) -> str | None:
    if marker.args:
        return f"The marker isonomia takes no values without a name, but got {marker.args!r}."
    for name in marker.kwargs:
        if name not in SETTINGS:
            return f"The marker isonomia takes {', '.join(SETTINGS)}, but got {name!r}.{nearest(name, SETTINGS)}"
    undecided = marker.kwargs.get("undecided", "fail")
    if undecided not in UNDECIDED:
        return f"The marker isonomia takes undecided as one of {', '.join(UNDECIDED)}, but got {undecided!r}."
    return None


_ADVICE = (
    "allow it with {flags}, where each option of pytest begins with --isonomia-, or in its configuration: "
    "isonomia_allow_code = true"
)


def is_wanted(path: Path, parent: pytest.Collector) -> bool:
    """Whether a file is an audit file whose properties are tests."""
    usual = path.name == "audit.toml" or path.name.endswith(".audit.toml")
    wanted = str(parent.config.getini("isonomia_audits")).strip()
    if wanted.lower() in {"", "0", "no", "off", "false"}:
        return usual and parent.session.isinitpath(path)
    if wanted.lower() in {"1", "yes", "on", "true"}:
        return usual
    inside = path.is_relative_to(parent.config.rootpath)
    name = (path.relative_to(parent.config.rootpath) if inside else path).as_posix()
    return (usual and parent.session.isinitpath(path)) or any(fnmatch(name, pattern) for pattern in wanted.split())


class AuditFileTests(pytest.File):
    """An audit file. Its models and populations are opened once, when the first of its tests begins."""

    _audit: AuditFile
    _planned: list[PlannedCheck] | None = None
    _failure: Exception | None = None

    def collect(self) -> Iterable[pytest.Item]:
        """A test for each property; only the text is read."""
        from isonomia.audits.audit_file.reader import read_audit_file

        try:
            self._audit = read_audit_file(self.path)
        except IsonomiaError as error:
            raise self.CollectError(str(error)) from error
        for index, entry in enumerate(self._audit.properties()):
            name = _node_name(entry.get("name") or f"property {index + 1}")
            yield PropertyTest.from_parent(self, name=name, index=index, line=entry.line)

    def planned(self, index: int) -> PlannedCheck:
        """A property ready to be checked."""
        if self._failure is not None:
            raise self._failure
        if self._planned is None:
            try:
                self._planned = self._plan()
            except Exception as error:
                self._failure = error
                raise
        return self._planned[index]

    def _plan(self) -> list[PlannedCheck]:
        from isonomia.audits.audit_file.permissions import check_allowed
        from isonomia.audits.audit_file.planner import plan_audit

        config, audit = self.config, self._audit
        budget = budget_option(config, configured="budget" not in audit.content)
        if budget is not None:
            audit = replace(audit, toml=replace(audit.toml, content={**audit.content, "budget": budget}))
        stated = (seed_option(config, configured=False), audit.content.get("seed"), seed_option(config))
        seed = next((each for each in stated if each is not None), None)
        permissions = self._permissions()
        check_allowed(audit, permissions, _ADVICE)
        refuse_namesakes(audit)
        return plan_audit(audit, seed, permissions, seed_chosen=seed is not None)

    def _permissions(self) -> Permissions:
        from isonomia.audits.audit_file.permissions import with_remembered
        from isonomia.audits.protocol import Permissions

        names = ("trust_pickle", "allow_code", "allow_outside")
        return with_remembered(self._audit, Permissions(*(allowed(self.config, name) for name in names)))

    def modules(self) -> AbstractContextManager[None]:
        """Make modules in the folder of the file importable, if it may run code.

        If it may not, a file called ``pandas.py`` would otherwise be imported in place of the library, and run.
        """
        return modules_beside(self.path) if self._permissions().allow_code else nullcontext()


class PropertyTest(pytest.Item):
    """One property of an audit file."""

    def __init__(self, *, index: int, line: int, **given: Any) -> None:
        super().__init__(**given)
        self.index, self.line = index, line
        self.add_marker("isonomia")

    @property
    def _file(self) -> AuditFileTests:
        assert isinstance(self.parent, AuditFileTests)
        return self.parent

    def setup(self) -> None:
        """Open the models and populations of the file."""
        from isonomia.wording import visible

        message: str | None = None
        try:
            with self._file.modules():
                self._file.planned(self.index)
        except IsonomiaError as error:
            message = visible(str(error))
        if message is not None:
            # For an error in this phase, pytest would show the whole traceback, for every property of the file.
            pytest.fail(message, pytrace=False)

    def runtest(self) -> None:
        """Check the property."""
        from isonomia.audits.assert_holds import assert_verdict
        from isonomia.engine.parameters import NullObserver

        undecided = settings_of(self)[0].get("undecided", "fail")
        with self._file.modules():
            check = self._file.planned(self.index).check
            assert_verdict(check, NullObserver(), undecided, records_folder(self.config))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What is wrong, without a traceback."""
        if isinstance(excinfo.value, AssertionError | IsonomiaError):
            return excinfo.getrepr(style="value")
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The place of the property, its line counted from 0."""
        return self.path, self.line - 1, self.name


def _node_name(name: str) -> str:
    """A name by which a test can be selected: on one line, visible, and without pytest's separator ``::``."""
    from isonomia.wording import on_one_line

    return on_one_line(name.replace("::", ":"))


@contextmanager
def modules_beside(path: Path) -> Iterator[None]:
    """Make modules in the folder of an audit file importable, as for a script, without affecting other tests."""
    folder = str(path.parent.resolve())
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def refuse_namesakes(audit: AuditFile) -> None:
    """Refuse a module from elsewhere in place of the one of the same name in the folder of the file.

    Python imports a name once. With two audit files in two folders, each with a ``scoring.py``, the second would get
    the model of the first.
    """
    for name in _modules(audit):
        folder = audit.folder.resolve()
        own = [each for each in (folder / f"{name}.py", folder / name / "__init__.py") if each.exists()]
        imported = getattr(sys.modules.get(name), "__file__", None)
        if own and imported is not None and Path(imported).resolve() != own[0]:
            raise UsageError(
                f"expected {audit.path} to be answered by {own[0]}, but another module {name!r} was imported "
                f"before, from {imported}: run the two separately, or rename one"
            )


def _modules(audit: AuditFile) -> Sequence[str]:
    """The modules that the file names."""
    models = [entry.get("load") for entry in audit.entries("model", "models").values()]
    people = audit.entries("population", "populations").values()
    sources = [*models, *(entry.get(key) for entry in people for key in ("generator", "domain"))]
    return [each.partition(":")[0].partition(".")[0] for each in sources if each is not None and ":" in each]
