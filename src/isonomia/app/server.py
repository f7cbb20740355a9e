"""The pages of ``isonomia open``: routes, the checks that run in the background, and who may see them.

Only this machine is served, and only a browser that was given the token: it comes once in the address, and then in a
cookie that scripts cannot read. Requests for another host name are refused, so that no page elsewhere can reach this
one by a name that resolves to this machine; forms are accepted from these pages alone. Only files directly in the
folder are read, and only audit files and records are written, there.
"""

from __future__ import annotations

import hmac
import threading
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, parse_qsl

from isonomia.app.choices import (
    MARK,
    REQUIREMENTS,
    RISKS,
    TableChoice,
    audit_text,
    file_for,
    largest_groups,
    limits_of,
    suggestion_for,
    value_field,
)
from isonomia.audits.audit_file.planner import plan_audit
from isonomia.audits.audit_file.reader import read_audit_file
from isonomia.audits.audit_file.runner import EarlierLooks, FailedCheck, Outcome, begin_run, run_checks
from isonomia.audits.measure.measure import measure
from isonomia.audits.protocol import Permissions
from isonomia.engine.parameters import Progress
from isonomia.errors import IsonomiaError, RecordError, UsageError
from isonomia.models.files import needed
from isonomia.populations.finite import Census
from isonomia.records.display.view import SIGNS, view_of
from isonomia.records.evidence import evidence_of, evidence_text
from isonomia.records.group_table import GroupTable
from isonomia.records.store import FOLDER, STORE, Store
from isonomia.report.entries import audit_of, summary_sentence, with_histories
from isonomia.report.files import write_file
from isonomia.report.packs import fill, pack_named
from isonomia.report.page import page
from isonomia.report.page.labels import printed
from isonomia.report.page.vega import style
from isonomia.version import __version__
from isonomia.wording import brief, visible

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

TABLES = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".json", ".arrow", ".feather")
"""The endings of files that are listed."""

WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
AS_CSV = "Open it in Excel or LibreOffice, choose Save As and CSV UTF-8, save it in this folder, and choose that file."

COOKIE = "isonomia"
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; frame-src 'self'; "
    "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
MAX_FORM = 2**20
"""Bytes of a form; the page sends a few hundred."""

Page = Callable[["Request"], Awaitable["Response"]]


@dataclass(slots=True)
class BackgroundRun:
    """A run of an audit file in a thread of its own, and how far it has come."""

    title: str
    total: int = 0
    done: int = 0
    text: str = "Reading the table"
    run: str = ""
    error: str = ""
    finished: bool = False

    def state(self) -> dict[str, Any]:
        """What the page of its progress shows."""
        return {
            "text": self.error or self.text,
            "done": self.done,
            "total": self.total,
            "next": f"/run/{self.run}" if self.finished and not self.error else "",
            "failed": bool(self.error),
        }

    def carry_out(self, file: Path, store: Store) -> None:
        """Run the file to its end; what goes wrong is kept for the page."""
        try:
            audit = read_audit_file(file)
            looks = EarlierLooks.of(store, audit)
            seed = None if looks.run is None else int(looks.run.request["seed"])
            planned = plan_audit(
                audit, seed, Permissions(), looked_at=lambda name, sample: looks.continued(seed or 0, name, sample)
            )
            self.total, self.text = len(planned), "Checking"
            chosen = planned[0].check.seed if seed is None else seed
            started = begin_run(store, audit, planned, chosen, (), looks.tables, seed_chosen=False)
            self.run = started.run

            def ended(number: int, outcome: Outcome) -> None:
                answer = "could not be checked" if isinstance(outcome, FailedCheck) else outcome.answer
                self.done, self.text = self.done + 1, f"{planned[number].name}: {answer}"

            run_checks(store, started, planned, lambda number: _Teller(self, planned[number].name), ended)
        except IsonomiaError as error:
            self.error = str(error)
        except Exception:
            traceback.print_exc()
            self.error = "This should not happen; the terminal has the details."
        finally:
            self.finished = True


@dataclass(slots=True)
class _Teller:
    """An observer that tells a background run what is being checked, a few times a second."""

    job: BackgroundRun
    name: str
    told: float = 0.0

    def begin(self, text: str) -> None:  # noqa: ARG002
        self.job.text = f"Checking {self.name}"

    def advance(self, progress: Progress) -> None:
        if monotonic() - self.told > 0.3:
            self.told = monotonic()
            self.job.text = f"Checking {self.name}: {progress.samples:,} {progress.counted}"

    def end(self) -> None:
        """The verdict follows."""


@dataclass(slots=True)
class Workbench:
    """The pages for one folder.

    Attributes
    ----------
    folder
        Where the tables are, and where audit files and records are written.
    token
        What a browser must have.
    """

    folder: Path
    token: str
    jobs: list[BackgroundRun] = field(default_factory=list)
    _table: Callable[[TableChoice, float], GroupTable] = field(init=False)

    def __post_init__(self) -> None:
        """Keep the tables that were measured last, until their files change."""
        self._table = lru_cache(maxsize=4)(lambda choice, _: self._measured(choice))

    # ------------------------------------------------------------------------------------------------ what there is

    def tables(self) -> list[str]:
        """The names of the tables in the folder; a link to a file elsewhere is none of them."""
        files = (
            path
            for path in self.folder.iterdir()
            if path.suffix.lower() in TABLES and path.is_file() and path.resolve().parent == self.folder
        )
        return sorted(path.name for path in files if not path.name.startswith("."))

    def workbooks(self) -> list[str]:
        """The names of the workbooks in the folder, which must be saved as CSV first."""
        return sorted(path.name for path in self.folder.iterdir() if path.suffix.lower() in WORKBOOKS)

    def path(self, name: str) -> Path:
        """The file of a table, by its name: one of those in the folder, and no other."""
        if name in self.workbooks():
            raise UsageError(f"{visible(name)} is a workbook, and this page reads tables. {AS_CSV}", name="data")
        if name not in self.tables():
            raise UsageError(f"There is no table {visible(name)!r} in this folder.", name="data")
        return self.folder / name

    def store(self) -> Store:
        """The records of the folder."""
        return Store(self.folder / FOLDER)

    def recorded(self, run: str) -> Store:
        """The records, if they have this run."""
        if not (self.folder / FOLDER / STORE).exists():
            raise RecordError("There are no earlier runs in this folder.")
        store = Store(self.folder / FOLDER, reading=True)
        if run not in {each.id for each in store.runs()}:
            raise RecordError(f"There is no run {visible(run)!r} in this folder.")
        return store

    def measured(self, choice: TableChoice) -> GroupTable:
        """The table by group; computed once, until the file changes."""
        return self._table(choice, self.path(choice.data).stat().st_mtime)

    def _measured(self, choice: TableChoice) -> GroupTable:
        path = self.path(choice.data)
        by: list[Any] = [*choice.by, *([choice.by[:2]] if len(choice.by) > 1 else [])]
        return measure(
            Census(path) if choice.census else path,
            by=by,
            decision=choice.decision,
            favourable=choice.favourable,
            outcome=choice.outcome or None,
            positive=choice.positive,
        )

    # -------------------------------------------------------------------------------------------------------- pages

    async def start(self, request: Request) -> Response:  # noqa: ARG002
        """The tables of the folder, and earlier runs."""
        runs = Store(self.folder / FOLDER, reading=True).runs() if (self.folder / FOLDER / STORE).exists() else []
        return self.show(
            "start.html",
            title="Choose a table",
            tables=self.tables(),
            runs=runs[:20],
            workbooks=self.workbooks(),
            as_csv=AS_CSV,
        )

    async def choose(self, request: Request) -> Response:
        """Which columns hold decisions, groups and outcomes."""
        data = request.query_params.get("data", "")
        suggestion = await _in_thread(suggestion_for, self.path(data))
        shown = {
            name: [(value_field(name, value), value if isinstance(value, str) else brief(value)) for value in values]
            for name, values in suggestion.columns.items()
        }
        return self.show(
            "choose.html",
            title=data,
            data=data,
            columns=shown,
            chosen=suggestion,
            field=value_field,
        )

    async def table(self, request: Request) -> Response:
        """The table by group, and the requirements to choose from."""
        choice = TableChoice.of(_fields(request))
        await _in_thread(self.measured, choice)  # a mistake is shown here, and not in the frame
        possible = [each for each in REQUIREMENTS if choice.outcome or not each.needs_outcome]
        parts = [each.words.split("{limit}") for each in possible]
        return self.show(
            "table.html",
            title=f"{choice.decision} by {', '.join(choice.by)}",
            choice=choice,
            requirements=list(zip(possible, parts, strict=True)),
            risks=RISKS,
            fields=[(name, value) for name, value in parse_qsl(choice.query) if name != "data"],
        )

    async def measured_page(self, request: Request) -> Response:
        """The table by group as the page that ``isonomia measure`` writes."""
        table = await _in_thread(self.measured, TableChoice.of(_fields(request)))
        return _page(table.to_html(), f"{table.decision}-by-group.html", request)

    async def document(self, request: Request) -> Response:
        """The document on the four-fifths rule, with gaps for facts that only people know."""
        table = await _in_thread(self.measured, TableChoice.of(_fields(request)))
        return _page(fill(pack_named("eeoc"), table, {}).to_html(), "four-fifths.html", request)

    async def check(self, request: Request) -> Response:
        """Write the audit file, and begin to run it."""
        from starlette.responses import RedirectResponse

        text = (await _body(request)).decode("utf-8", "replace")
        fields = parse_qs(text, max_num_fields=1_000)
        choice = TableChoice.of(fields)
        limits = limits_of(fields, choice)
        path = self.path(choice.data)
        largest = await _in_thread(largest_groups, path, choice.by)
        file = file_for(self.folder, choice.data)
        written = audit_text(choice, limits, next(iter(fields.get("delta", ())), ""), largest, file.name)
        write_file(written, file, "the audit file")
        job = BackgroundRun(f"{choice.decision} in {choice.data}")
        self.jobs.append(job)
        # A daemon: closing the program cuts the run off, and isonomia run FILE --resume continues with it.
        threading.Thread(target=job.carry_out, args=(file, self.store()), daemon=True).start()
        return RedirectResponse(f"/progress/{len(self.jobs) - 1}", status_code=303)

    async def progress(self, request: Request) -> Response:
        """How far a run has come."""
        job = self._job(request)
        return self.show("progress.html", title=job.title, state=job.state(), number=request.path_params["number"])

    async def state(self, request: Request) -> Response:
        """The same for the script of the page."""
        from starlette.responses import JSONResponse

        return JSONResponse(self._job(request).state())

    def _job(self, request: Request) -> BackgroundRun:
        number = int(request.path_params["number"])
        if number >= len(self.jobs):
            raise RecordError("This check is unknown: the program was restarted. Earlier runs are listed.")
        return self.jobs[number]

    async def run(self, request: Request) -> Response:
        """The verdicts of a run, with the report and what can be downloaded."""
        run = request.path_params["run"]
        audit = audit_of(self.recorded(run), run)
        verdicts = [entry.verdict for entry in audit.entries]
        rows = [
            (
                entry.verdict.answer,
                SIGNS[entry.verdict.answer],
                entry.name,
                entry.why or entry.verdict.text,
                printed(view_of(entry.verdict).finding(entry.verdict, False)),
            )
            for entry in audit.entries
        ]
        summary = summary_sentence(verdicts, audit.failures)
        return self.show("run.html", title=audit.title, run=run, summary=summary, rows=rows, audit=audit)

    async def download(self, request: Request) -> Response:
        """A file about a run: the report, the evidence, or the audit file that repeats it."""
        run, name = request.path_params["run"], request.path_params["name"]
        store = self.recorded(run)
        match name:
            case "report.html":
                text = await _in_thread(lambda: page(with_histories(store, audit_of(store, run))))
                return _page(text, name, request)
            case "evidence.json":
                return _download(await _in_thread(lambda: evidence_text(evidence_of(store, run))), name)
            case "audit.toml":
                request_of_run = store.run(run).request
                return _download(str(request_of_run.get("text", MARK)), name)
            case _:
                raise UsageError(f"There is no download {visible(name)!r}.", name="name")

    # ------------------------------------------------------------------------------------------------------- shared

    def show(self, template: str, *, title: str, status: int = 200, **values: Any) -> Response:
        """A page from its template."""
        import jinja2
        from starlette.responses import HTMLResponse

        templates = jinja2.Environment(
            loader=jinja2.PackageLoader("isonomia.app"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        templates.filters["shown"] = lambda text: visible(str(text))
        text = templates.get_template(template).render(
            title=visible(title),
            style=style(),
            folder=self.folder.name,
            version=__version__,
            **values,
        )
        return HTMLResponse(text, status_code=status, headers={"Content-Security-Policy": POLICY})


async def _in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run what takes long outside of the loop that serves the pages."""
    from starlette.concurrency import run_in_threadpool

    return await run_in_threadpool(function, *arguments)


def _fields(request: Request) -> Mapping[str, list[str]]:
    return parse_qs(request.url.query, max_num_fields=1_000)


async def _body(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM:
            raise UsageError("The form is too long.", name="form")
    return body


def _page(text: str, name: str, request: Request) -> Response:
    """A page that is complete in itself, with a policy of its own; shown in a frame of ours, or downloaded."""
    from starlette.responses import HTMLResponse

    kind = "attachment" if "download" in request.query_params else "inline"
    safe = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-._") else "_" for sign in name)
    headers = {"Content-Security-Policy": "frame-ancestors 'self'", "Content-Disposition": f'{kind}; filename="{safe}"'}
    return HTMLResponse(text, headers=headers)


def _download(text: str, name: str) -> Response:
    from starlette.responses import PlainTextResponse

    return PlainTextResponse(text, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def application(folder: Path, token: str, port: int) -> Starlette:
    """The pages for a folder, for requests to this port of this machine that have the token."""
    needed("starlette", "app", "isonomia open")
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse
    from starlette.routing import Route

    bench = Workbench(folder.resolve(), token)
    hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def guarded(request: Request, pages: Page) -> Response:
        origin = request.headers.get("origin")
        if request.headers.get("host") not in hosts or (origin is not None and origin.partition("://")[2] not in hosts):
            return PlainTextResponse("This page is available only on this machine.", status_code=403)
        given = request.query_params.get("token", "")
        if given and hmac.compare_digest(given.encode(), token.encode()):
            rest = request.url.remove_query_params("token")
            answer: Response = RedirectResponse(f"{rest.path}{'?' if rest.query else ''}{rest.query}", status_code=303)
            answer.set_cookie(COOKIE, token, httponly=True, samesite="strict")
        elif not hmac.compare_digest(request.cookies.get(COOKIE, "").encode(), token.encode()):
            words = "Open the address that the terminal printed: it has the token that this page needs."
            answer = PlainTextResponse(words, status_code=403)
        else:
            try:
                answer = await pages(request)
            except IsonomiaError as error:
                answer = bench.show("error.html", title="That did not work", status=400, message=visible(str(error)))
        for name, value in (
            ("Cache-Control", "no-store"),
            ("Referrer-Policy", "same-origin"),
            ("X-Content-Type-Options", "nosniff"),
        ):
            answer.headers[name] = value
        return answer

    async def script(_: Request) -> Response:
        return FileResponse(Path(__file__).parent / "templates" / "app.js", media_type="text/javascript")

    routes = [
        Route("/", bench.start),
        Route("/choose", bench.choose),
        Route("/table", bench.table),
        Route("/measured", bench.measured_page),
        Route("/document", bench.document),
        Route("/check", bench.check, methods=["POST"]),
        Route("/progress/{number:int}", bench.progress),
        Route("/progress/{number:int}/state", bench.state),
        Route("/run/{run}", bench.run),
        Route("/run/{run}/{name}", bench.download),
        Route("/app.js", script),
    ]
    return Starlette(routes=routes, middleware=[Middleware(BaseHTTPMiddleware, dispatch=guarded)])
