"""The table of all options, from which the parameters of every command are made; and how the model is opened.

A command is a function: its parameters have the types and defaults, the table has the words of the help. What is needed
every day stands in the panel that every help has; the rest stands in panels of its own.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer

from isonomia.cli.outputs import new_console
from isonomia.errors import UsageError, nearest
from isonomia.records.store import FOLDER, STORE
from isonomia.wording import visible

if TYPE_CHECKING:
    from isonomia.audits.protocol import AuditProperty
    from isonomia.models.protocol import Model
    from isonomia.populations.protocol import Population
    from isonomia.records.verdict import Verdict

T = TypeVar("T")

HERE = Path(FOLDER)
"""The default folder of the records."""


def as_risk(text: str | float) -> float:
    """A risk as a number, or in percent."""
    shown = str(text).strip()
    try:
        return float(shown.removesuffix("%")) / (100.0 if shown.endswith("%") else 1.0)
    except ValueError:
        raise typer.BadParameter(f"expected a number such as 0.05 or 5%, but got {shown!r}") from None


def names_of_runs(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The runs whose names begin so, each with its title, for shell completion."""
    from isonomia.records.store import Store

    folder = context.params.get("records") or HERE
    try:
        stored = Store(folder, reading=True).runs() if (folder / STORE).exists() else []
    except Exception:
        return []  # whoever presses Tab wants no message
    pairs = [(run.id, visible(run.title)) for run in stored]
    latest = [("latest", pairs[0][1])] if pairs else []
    return [pair for pair in latest + pairs if pair[0].startswith(incomplete)]


# ----------------------------------------------------------------------------------------------------------- the table


@dataclass(frozen=True, slots=True)
class OptionDisplay:
    """How a parameter is shown: its help, the word for its value, which a flag does not have, and its spellings."""

    help: str
    metavar: str = ""
    names: tuple[str, ...] = ()  # where the name of the parameter is not the name of the option
    positional: bool = False
    default: str | None = None  # in words, where the value would say less
    parser: Callable[[str], Any] | None = None
    min: float | None = None
    complete: Callable[..., list[tuple[str, str]]] | None = None


_MODEL = "The model: a file, folder, address, or module:object"
_CONTROL = OptionDisplay("The error rate of named groups: family (family-wise) or discovery (false discovery).", "NAME")
_EITHER = "The log of an eval, a table of results, a run of the records, an evidence file, or verdicts of --json."
_OUTPUT = ("--output", "-o")
_MODEL_OPTION = ("--model-option",)

OPTIONS: Mapping[str | None, Mapping[str, OptionDisplay]] = {
    None: {
        "seed": OptionDisplay("Makes the result repeatable; default: derived from property, data and model.", "NUMBER"),
        "register, run: seed": OptionDisplay(
            "Makes the result repeatable; default: as in the file, or derived.", "NUMBER"
        ),
        "demo: seed": OptionDisplay("Makes the result repeatable.", "NUMBER"),
        "demo: report": OptionDisplay("Write the HTML report.", "FILE"),
        "no_report": OptionDisplay("Write no report."),
        "show_it": OptionDisplay("Open the report in a browser.", names=("--open",)),
        "open: data": OptionDisplay("A table, or a folder with tables.", "DATA", positional=True),
        "port": OptionDisplay("The port; default: any that is free.", "NUMBER", min=0),
        "no_browser": OptionDisplay("Print the address and open no browser."),
        "sources": OptionDisplay(
            "The model, and the table. Without a model, the table has its answers.", "[MODEL] DATA", positional=True
        ),
        "init: outcome": OptionDisplay("The column with the true outcome; default: guessed.", "COLUMN"),
        "protected": OptionDisplay("A protected attribute; default: guessed.", "COLUMN"),
        "init: favourable": OptionDisplay("The answer that people want; default: guessed.", "VALUE"),
        "init: decision": OptionDisplay("Without a model: the column with predictions or decisions.", "COLUMN"),
        "census": OptionDisplay("Whether rows are the whole population or a sample.", names=("--census/--sample",)),
        "init: output": OptionDisplay(
            "The file to write, or - for standard output; default: audit.toml or changes.toml.", "FILE", names=_OUTPUT
        ),
        "register: output": OptionDisplay("The file to write.", "FILE", names=_OUTPUT),
        "repair: output": OptionDisplay("The file for the repaired model, in skops format.", "FILE", names=_OUTPUT),
        "report: output": OptionDisplay("The file to write; default: RUN.html.", "FILE", names=_OUTPUT),
        "export: output": OptionDisplay("The file to write; default: RUN.evidence.json.", "FILE", names=_OUTPUT),
        "force": OptionDisplay("Overwrite existing files."),
        "init: interventions": OptionDisplay("Draft only what people can change, from a table."),
        "leave_out": OptionDisplay(
            "With --interventions: a column that is not a feature, or a pattern: 'juv_*'.", "COLUMN"
        ),
        "queries": OptionDisplay(
            "The most rows sent to the model; default: 200 for a service or a program.", "N", min=20
        ),
        "register: file": OptionDisplay("The audit file.", "FILE", positional=True),
        "run: file": OptionDisplay("The audit file.", "AUDIT.toml", positional=True),
        "watch: file": OptionDisplay("The watch file.", "WATCH.toml", positional=True),
        "replay: file": OptionDisplay("The evidence file.", "FILE", positional=True),
        "resume": OptionDisplay("Resume the latest run of this file, or rewrite its files if the run is complete."),
        "records": OptionDisplay("The folder of the records.", "FOLDER"),
        "run: records": OptionDisplay(
            "The folder of the records; default: .isonomia in the folder of the file.", "FOLDER"
        ),
        "jobs": OptionDisplay("Properties to check at once; default: one for each core.", "NUMBER"),
        "known_first": OptionDisplay("Try the counterexamples of earlier runs first."),
        "quiet": OptionDisplay("Print one line per property, and no progress.", names=("--quiet", "-q")),
        "follow": OptionDisplay("Wait for more data, until it is stopped."),
        "every": OptionDisplay("Seconds between looks with --follow.", "SECONDS", min=0.01),
        "until_alert": OptionDisplay("Stop at the first open alert, even with --follow."),
        "acknowledge": OptionDisplay("Acknowledge the open alerts; the watch continues with the remaining risk."),
        "replay": OptionDisplay("Read all data again and compare with the store."),
        "store": OptionDisplay("The file that keeps the watch; default: as in the watch file.", "FILE"),
        "page": OptionDisplay("Write a page; default: as in the watch file.", "FILE"),
        "evidence": OptionDisplay("Write sealed evidence for isonomia replay at each update.", "FILE"),
        "key": OptionDisplay("A file with the evidence key: at least 16 bytes.", "FILE"),
        "data": OptionDisplay("The table: CSV, Parquet, Arrow or JSON lines.", "FILE"),
        "model": OptionDisplay(f"{_MODEL}.", "MODEL"),
        "measure: model": OptionDisplay(f"{_MODEL}; none where the table has its decisions.", "MODEL"),
        "check: model": OptionDisplay(
            f"{_MODEL}; none where the table has its predictions. Repeatable, as NAME=MODEL or NAME=COLUMN.", "MODEL"
        ),
        "principal: model": OptionDisplay(f"{_MODEL}, in place of such a column.", "MODEL"),
        "repair: model": OptionDisplay(
            "The model to train: a file, or module:object with a classifier or its factory.", "MODEL"
        ),
        "replay: model": OptionDisplay(
            "Recheck counterexamples with this model; NAME=MODEL for one of several.", "MODEL"
        ),
        "cluster": OptionDisplay("Rows with the same value belong together: customer, prompt, school.", "COLUMN"),
        "labels": OptionDisplay("Labels exist for a random part of the rows, in this column.", "COLUMN"),
        "judge": OptionDisplay("With --labels: a judge's answer for every row.", "COLUMN"),
        "label_probability": OptionDisplay(
            "With --labels: the probability of a label, or the column that has it.", "P|COLUMN"
        ),
        "max_cluster": OptionDisplay("With --cluster: the largest number of rows in a cluster.", "ROWS"),
        "delta": OptionDisplay("The risk of a wrong answer.", "RISK", parser=as_risk),
        "measure: delta": OptionDisplay("The risk of each interval.", "RISK", parser=as_risk),
        "looks": OptionDisplay("How many looks: any number, once, N, or which: 2 of 5 after 2000.", "any|once|N"),
        "ranges": OptionDisplay(
            "The range of a column of numbers, for its intervals.", "COLUMN=LOW:HIGH", names=("--range",)
        ),
        "check: ranges": OptionDisplay("The range of a column in E[...].", "COLUMN=LOW:HIGH", names=("--range",)),
        "budget": OptionDisplay(
            "The most samples, rows sent to the model, tokens, money or time: 1e6, '500 queries', '20 USD', 30s.",
            "COST",
        ),
        "arguments": OptionDisplay(
            "A formula in quotes, a specification.nom, a program.fr to draw from, or the log of an eval.",
            "PROPERTY",
            positional=True,
        ),
        "weigh": OptionDisplay("With --cluster: the unit of equal weight.", "rows|clusters"),
        "method": OptionDisplay("The method: auto, exact, bets, region or verifair.", "NAME"),
        "stop": OptionDisplay(
            "Stop at a verdict; at a verdict and the target width; after all data.", "decided|precise|all"
        ),
        "width": OptionDisplay("The target width of the interval, for --stop precise.", "NUMBER"),
        "control": _CONTROL,
        "explain": OptionDisplay("Also state the claim in plain English."),
        "repair: label": OptionDisplay("The column with the labels.", "COLUMN"),
        "attribute": OptionDisplay("The column with the protected attribute.", "COLUMN"),
        "prediction": OptionDisplay("The column with the prediction or decision.", "COLUMN"),
        "prop": OptionDisplay("The property to check.", "PROPERTY", positional=True),
        "guess": OptionDisplay("A guess for a rate; one for each rate.", "RATE=VALUE"),
        "share": OptionDisplay("The share of people who meet a condition.", "CONDITION=SHARE"),
        "specifications": OptionDisplay("What must hold: one file or several.", "SPECIFICATION.nom", positional=True),
        "prune": OptionDisplay("Delete old runs; requires --older-than or --keep-latest."),
        "older_than": OptionDisplay("Delete runs begun longer ago than this: 90d, 12h, 2w.", "AGE"),
        "keep_latest": OptionDisplay("Keep this many of the latest runs.", "NUMBER"),
        "dry_run": OptionDisplay("Print what --prune would delete, and delete nothing."),
        "run": OptionDisplay(
            "Its name, the beginning of its name, or latest.", "RUN", positional=True, complete=names_of_runs
        ),
        "before": OptionDisplay(_EITHER, "BEFORE", positional=True, complete=names_of_runs),
        "after": OptionDisplay(_EITHER, "AFTER", positional=True, complete=names_of_runs),
        "margin": OptionDisplay("How much worse the second may be.", "SHARE", min=0.0),
        "value": OptionDisplay("Evals: the column with the results; default: correct, or score.", "COLUMN"),
        "on": OptionDisplay("Evals: the column that identifies a question.", "COLUMN"),
        "scale": OptionDisplay(
            "Evals: the range of results that are not just right or wrong.", "LOW:HIGH", names=("--range",)
        ),
        "compare: by": OptionDisplay("Evals: a claim for each value of this column, such as a topic.", "COLUMN"),
        "pack": OptionDisplay(
            "The rule: nyc-ll144 or eeoc (a table), reg-b (a model), eu-ai-act, sr-11-7 (an audit).", "NAME"
        ),
        "document": OptionDisplay("The file to write: .html or .md. Repeatable.", "FILE", names=("--document", "-o")),
        "fact": OptionDisplay("A fact for the document. Repeatable.", "NAME=TEXT"),
        "facts": OptionDisplay("A TOML file of facts, NAME = 'TEXT' each.", "FILE"),
        "full": OptionDisplay("Run every check again, with the data and the model."),
        "folder": OptionDisplay(
            "The folder of data and model, for --full; default: that of FILE, or the current one.", "FOLDER"
        ),
        "registered": OptionDisplay("Compare with this registration, as isonomia register writes it.", "FILE"),
        "seconds": OptionDisplay("The time limit for one property, in seconds.", "NUMBER", min=0.0),
    },
    "Files for machines and people": {
        "report": OptionDisplay("Write the HTML report.", "FILE"),
        "junit": OptionDisplay("Write JUnit XML.", "FILE"),
        "sarif": OptionDisplay("Write SARIF 2.1.0.", "FILE"),
        "json": OptionDisplay("Write the verdicts as JSON.", "FILE"),
        "measure: json": OptionDisplay("Write the table as JSON.", "FILE"),
        "markdown": OptionDisplay("Write Markdown.", "FILE"),
        "card": OptionDisplay("Write a section for a model card.", "FILE"),
        "violations": OptionDisplay("Write every violation: .csv, .parquet or .jsonl.", "FILE"),
        "mlflow": OptionDisplay("Log verdicts, report and evidence to MLflow, to this experiment.", "EXPERIMENT"),
        "csv": OptionDisplay("Write the table: CSV or Parquet.", "FILE"),
        "html": OptionDisplay("Write a page with charts.", "FILE"),
        "points": OptionDisplay(
            "Write the people who violate the claim with their nearest points: .csv or .parquet.", "FILE"
        ),
        "id_column": OptionDisplay("The column that identifies people.", "COLUMN", names=("--id",)),
        "people": OptionDisplay("Write the findings for each person: .csv or .parquet.", "FILE"),
    },
    "A table by group": {
        "outcome": OptionDisplay("The column with the true outcome.", "COLUMN"),
        "favourable": OptionDisplay("The favourable decision; default: 1 or true.", "VALUE"),
        "decision": OptionDisplay("The decisions; default with a model: its predictions.", "COLUMN"),
        "by": OptionDisplay(
            "The groups: a column, or several for their intersection: sex,race. Repeatable.", "COLUMN,..."
        ),
        "score": OptionDisplay("The scores: a column, or score for the model's.", "COLUMN"),
        "positive": OptionDisplay(
            "The positive outcome, and the default of --favourable; default: 1 or true.", "VALUE"
        ),
        "reference": OptionDisplay("The reference group: M, or 'M,White'. Repeatable.", "highest|VALUE"),
        "unknown": OptionDisplay("A value that means an unknown group, such as '?'. Repeatable.", "VALUE"),
        "small": OptionDisplay("Groups with a smaller share of all are flagged.", "SHARE"),
    },
    "Claim": {
        "interventions": OptionDisplay(
            "What people can change, as TOML; isonomia init --interventions drafts it.", "FILE"
        ),
        "repair: eps": OptionDisplay("The share of cases that may violate a property.", "SHARE"),
        "given": OptionDisplay("A column within whose values the attribute is as good as random.", "COLUMN"),
        "definition": OptionDisplay("1 each stratum, 2 all strata together, 3 all people, 4 odds.", "NUMBER"),
        "within": OptionDisplay("The largest difference that is still fair.", "MARGIN"),
        "responsiveness: within": OptionDisplay("For stability: the largest change of a number.", "NUMBER"),
        "normalised": OptionDisplay("The margin is of tau, within the stratum, not of tau'."),
        "assume": OptionDisplay("An assumption, such as 'outcome never falls' or 'P[Y0 > Y1] <= 0.05'.", "TEXT"),
        "values": OptionDisplay("A column's values in order, the first is 0.", "COLUMN=FIRST,SECOND"),
        "target": OptionDisplay("The target prediction: a class, LOW:HIGH, or 'prediction < own'.", "TARGET"),
        "at_least": OptionDisplay("The smallest share of points for each person.", "SHARE"),
        "at_most": OptionDisplay("The largest share of points for each person.", "SHARE"),
        "average": OptionDisplay("Limit the average share of all people instead."),
        "skip_invalid": OptionDisplay("Leave out and count people with missing or impossible values."),
        "failing_at_most": OptionDisplay("The share of people for whom the claim may fail.", "SHARE"),
        "test": OptionDisplay(
            "A ready-made claim: preclusion, gaming, stability, affordability or monotonicity.", "NAME"
        ),
        "limit": OptionDisplay("For affordability: a number, or the column with each limit.", "LIMIT"),
        "direction": OptionDisplay("For monotonicity: the allowed direction of predictions.", "up|down"),
        "lost": OptionDisplay("The accuracy that may be lost.", "SHARE"),
        "held_out": OptionDisplay("The share of rows held out for the certificate.", "SHARE", default="a third"),
        "no_reason": OptionDisplay("A column that is not a reason, such as the outcome.", "COLUMN"),
    },
    "How the model is read": {
        "features": OptionDisplay("The columns the model is given, in order.", "COLUMN,..."),
        "model_options": OptionDisplay(
            "An option of the model: output=logits, classes=no,yes.", "NAME=VALUE", names=_MODEL_OPTION
        ),
        "trust_pickle": OptionDisplay("Open a pickled model, which can run any code."),
        "trust": OptionDisplay("Allow this type from a skops file.", "TYPE"),
        "replay: allow_code": OptionDisplay(
            "Let --model and --full run code that the record names, and read files anywhere."
        ),
        "executor": OptionDisplay("The executor: threads:8, processes, dask:tcp://host:8786, ray, mpi.", "WHERE"),
        "cache": OptionDisplay("Keep the model's answers in this file.", "FILE"),
        "random_model": OptionDisplay("The model may answer the same row differently."),
        "cache_key": OptionDisplay("The version of the model, if the cache cannot detect it.", "TEXT"),
    },
    "Permissions": {
        "allow_code": OptionDisplay("Let the audit file run code and programs, and call services."),
        "allow_outside": OptionDisplay("Let the audit file read and write outside its folder."),
        "remember": OptionDisplay("Remember the permissions until a file in the folder changes."),
    },
    "Programs and specifications": {
        "check, repair: allow_code": OptionDisplay("Let the blocks of specifications run as Python."),
        "ratio": OptionDisplay("Program: the smallest ratio of its minority's rate to its majority's.", "RATIO"),
        "device": OptionDisplay(
            "Program: the device of torch draws, cuda, cpu or auto; default: NumPy draws.", "DEVICE"
        ),
        "eps": OptionDisplay("Specification: the share of violating cases below which it holds.", "SHARE"),
        "label": OptionDisplay("Specification: the column with the right answers.", "COLUMN"),
        "groups": OptionDisplay(
            "Specification: one-hot columns as a single feature.", "NAME=COLUMN,...", names=("--group",)
        ),
        "edge_cases": OptionDisplay(
            "Specification: try edge cases before any draw.", names=("--edge-cases/--no-edge-cases",)
        ),
        "shrink": OptionDisplay(
            "Specification: shrink violations, at the cost of further queries.", names=("--shrink/--no-shrink",)
        ),
        "keep": OptionDisplay("Specification: keep counterexamples here, and try them first next time.", "FILE"),
    },
    "Population": {
        "responsiveness: by": OptionDisplay("A column whose values split the counts of people.", "COLUMN"),
        "who": OptionDisplay("The people: 'prediction == 0 and age < 25'; default: all.", "CONDITION"),
        "person": OptionDisplay("The row of one person, counted from 0.", "ROW"),
        "only": OptionDisplay("Free only this actionable feature.", "FEATURE"),
    },
    "Sampling": {
        "responsiveness: control": _CONTROL,
        "draws": OptionDisplay("A fixed number of draws for each person; default: sequential.", "NUMBER"),
        "most_draws": OptionDisplay("The largest number of draws for one person.", "NUMBER"),
    },
    "A repair": {
        "repair": OptionDisplay("Also print a repair of the decisions."),
        "objective": OptionDisplay("The cost to minimize: total, changes, accuracy or loss.", "NAME"),
        "certified": OptionDisplay("Repair the decisions of the population, with the risk --delta that it fails."),
        "never_lower": OptionDisplay("Never change a decision to an earlier one in the order of --values."),
    },
    "Training": {
        "rounds": OptionDisplay("The largest number of rounds.", "NUMBER"),
        "cases": OptionDisplay("The number of cases in a search.", "NUMBER"),
    },
    "An audit": {
        "file: run": OptionDisplay("A run of the records, or an evidence file.", "RUN"),
    },
}
"""What each panel of the help shows, in no order. ``check, repair: allow_code`` is the option of these two commands."""


def _by_command() -> Iterator[tuple[tuple[str, str], tuple[OptionDisplay, str | None]]]:
    for panel, options in OPTIONS.items():
        for key, shown in options.items():
            commands, _, name = key.rpartition(": ")
            for command in commands.split(", "):
                yield (command, name), (shown, panel)


_SHOWN = dict(_by_command())


def shown_as(command: str, parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter of a command with what the table says of its option."""
    name = parameter.name
    shown, panel = _SHOWN.get((command, name)) or _SHOWN["", name]
    required = parameter.default is parameter.empty
    spelled = shown.names or ((f"--{name.replace('_', '-')}",) if parameter.annotation is bool else ())
    declared = (typer.Argument if shown.positional else typer.Option)(
        *spelled,
        help=shown.help,
        metavar=shown.metavar,
        show_default=shown.default or not required,
        rich_help_panel=None if required else panel,  # what cannot be left out comes first
        parser=shown.parser,
        min=shown.min,
        autocompletion=shown.complete,
    )
    return parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=Annotated[parameter.annotation, declared])


# ----------------------------------------------------------------------------------------------------------- the model


@dataclass(frozen=True, slots=True)
class ModelReading:
    """How the model of a command is read: the options that every command with a model has."""

    features: str | None = None
    model_options: list[str] | None = None
    random_model: bool = False
    cache: Path | None = None
    cache_key: str | None = None
    trust_pickle: bool = False
    trust: list[str] | None = None
    executor: str | None = None

    def open(self, model: str | None, *, quiet: bool = False) -> Model | None:
        """Open what ``--model`` names and say in one line what it is; with its answers on disk if asked to."""
        opened = self._opened(model)
        if opened is not None and not quiet:
            from isonomia.models import describe

            new_console(stderr=True, wrap=False).print(f"model: {describe(opened)}")
        return self._cached(opened)

    def open_all(
        self, models: Sequence[str], columns: Sequence[str], *, quiet: bool = False
    ) -> Model | dict[str, Model | str] | None:
        """Open what ``--model`` names, once, or as ``NAME=MODEL`` several times; a column has stored answers."""
        pairs = [text.partition("=") for text in models]
        named = [pair[0].isidentifier() and bool(pair[2]) and not Path("".join(pair)).exists() for pair in pairs]
        if len(models) <= 1 and not any(named):
            return self.open(models[0] if models else None, quiet=quiet)
        if not all(named) or len({name for name, _, _ in pairs}) < len(pairs):
            raise UsageError(
                f"expected one --model, or each as NAME=MODEL with a unique name, but got {', '.join(models)}",
                name="model",
            )
        return {
            name: text if text in columns or nearest(text, columns) else cast("Model", self.open(text, quiet=quiet))
            for name, _, text in pairs
        }

    def check(
        self,
        prop: AuditProperty,
        model: Model | Mapping[str, Model | str] | None,
        population: Population | None,
        *,
        quiet: bool,
        explain: bool,
        **options: Any,
    ) -> Verdict:
        """Check a property of an opened model and show the verdict; a quiet command prints only its remarks."""
        from isonomia.audits.check import check
        from isonomia.records.display.view import view_of
        from isonomia.report import LiveProgress, show

        observer = None if quiet else LiveProgress(new_console(stderr=True))
        options |= {"random_model": self.random_model, "executor": self.executor, "observer": observer}
        verdict = check(prop, model, population, **options)
        if not quiet:
            explained = explain or view_of(verdict).explanation_first
            show(verdict, new_console(), prop.explain() if explained else None)
        for remark in verdict.remarks if quiet else ():
            new_console(stderr=True, wrap=False).print(f"note: {remark}")
        return verdict

    def _opened(self, model: str | None) -> Model | None:
        if model is None:
            if self.features is not None:
                raise UsageError("--features requires --model")
            if self.trust_pickle or self.trust or self.model_options or self.random_model:
                raise UsageError("--trust-pickle, --trust, --model-option and --random-model require --model")
            return None
        from isonomia.models import load_model

        options = parse_model_options(self.model_options)
        if self.trust:
            options["trusted"] = self.trust
        if self.trust_pickle:
            options["trust_pickle"] = True
        columns = None if self.features is None else [name.strip() for name in self.features.split(",")]
        return load_model(model, features=columns, **options)

    def _cached(self, model: Model | None) -> Model | None:
        """The model with its answers on disk, where ``--cache`` says so."""
        if self.cache is None:
            if self.cache_key is not None:
                raise UsageError("--cache-key requires --cache")
            return model
        if model is None:
            raise UsageError("--cache requires --model")
        from isonomia.models.cache import Cached

        try:
            return Cached(model, self.cache, self.cache_key)
        except UsageError as error:
            raise UsageError(f"{error} On the command line: --cache-key 'credit 2024-05'") from error


@contextmanager
def arguments_as_options(*names: str) -> Iterator[None]:
    """Say of an argument that is wrong how it is written at the command line."""
    try:
        yield
    except UsageError as error:
        if error.name not in names:
            raise
        raise UsageError(f"{error}. At the command line: --{error.name} VALUE", name=error.name) from error


def named_values(
    items: Sequence[str] | None, option: str, form: str, read: Callable[[str], T], *, last: bool = False
) -> dict[str, T]:
    """Read values such as ``NAME=VALUE``, in the ``form`` that an error shows; ``last``: names may contain ``=``."""
    values = {}
    for item in items or ():
        name, sign, text = item.rpartition("=") if last else item.partition("=")
        try:
            values[name.strip()] = read(text.strip())
        except ValueError:
            sign = ""
        if not sign or not name.strip():
            raise UsageError(f"expected {option} as {form}, but got {item!r}")
    return values


def parse_model_options(items: list[str] | None) -> dict[str, Any]:
    """Read ``NAME=VALUE``: a number, a truth value, a list with commas, TOML in brackets, or text."""
    options = named_values(items, "--model-option", "NAME=VALUE, such as output=logits", _value)
    for name in options:
        if not name.isidentifier():
            raise UsageError(f"expected --model-option as NAME=VALUE, such as output=logits, but got the name {name!r}")
    return options


def _value(text: str) -> Any:
    if not text:
        raise ValueError("no value")
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return [_value(part.strip()) for part in text.split(",")] if "," in text else text
