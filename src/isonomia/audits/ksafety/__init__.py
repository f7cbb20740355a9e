"""k-safety: relations between k runs of a model, in the Nomos language, tested metamorphically."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isonomia.audits.file_options import named_property, of_callable, refuse_options
from isonomia.audits.ksafety.view import VIEW
from isonomia.audits.protocol import (
    Check,
    Entries,
    FileKey,
    Permissions,
    PropertyTable,
    Recheck,
    RecordedCounts,
    refuse_rates_options,
)
from isonomia.errors import UsageError
from isonomia.spec.safety import Safety

if TYPE_CHECKING:
    from isonomia.engine.parameters import Observer
    from isonomia.records.verdict import Verdict

__all__ = ["KSAFETY", "KSafetyAudit"]

_NAMED = ("monotone", "robust", "invariant_to", "flips", "implies_after")
_NOT_FROM_A_FILE = ("source", "allow_code", "functions", "domains")

_STORED = ("inputs", "choices", "rows", "minimal")
"""What is stored of a counterexample; the rest is the model's answer, which may change."""


def _strict(prop: Safety) -> list[str]:
    """The conditions that must always be true; for any other, one case that breaks it proves nothing."""
    from isonomia.spec.nomos.tree import expression_text

    return [expression_text(item.condition) for item in prop.spec.ensures if item.always]


def _asks_model(prop: Safety) -> bool:
    """Whether the block calls ``predict`` or ``score``."""
    from isonomia.spec.nomos import CodeBlock, read_block
    from isonomia.spec.nomos.tree import MODEL_CALLS, calls_in

    block = read_block(prop.spec.block)
    if isinstance(block, CodeBlock):
        return bool(block.reads & MODEL_CALLS)
    return any(call.function in MODEL_CALLS for step in block.steps for call in calls_in(step.value))


def _stored(counterexample: Mapping[str, Any]) -> dict[str, Any]:
    return {name: counterexample[name] for name in _STORED if name in counterexample}


def _is_file(source: str) -> bool:
    """Whether a specification is named by its file, and not written out."""
    return source.strip().endswith(".nom")


def _code_in(text: str) -> str | None:
    """Why a specification is run as Python, if it is; one that cannot be parsed is refused later."""
    from isonomia.errors import SpecError
    from isonomia.spec.nomos import CodeBlock, parse_nomos, read_block

    try:
        block = read_block(parse_nomos(text).block)
    except SpecError:
        return None
    return block.reason if isinstance(block, CodeBlock) else None


def _nomos(table: PropertyTable, _: Any, permissions: Permissions) -> Safety:
    from isonomia.spec import safety

    source, options = table.get("nomos"), dict(table.get("with", {}))
    if "allow_code" in options:
        raise table.error("a file cannot allow itself to run code: use --allow-code", "with")
    refuse_options(table, of_callable(safety.property).without("source", "allow_code"), options)
    options["allow_code"] = permissions.allow_code
    if not _is_file(source):
        return safety.property(source, **options)
    text = table.read(source)
    made = safety.property(text if "\n" in text else f"{text}\n", **options)  # a single line could be taken for a path
    return replace(made, name=made.name or Path(source).stem, folder=str((table.folder / source).parent))


def _named(table: PropertyTable, *_: Any) -> Safety:
    from isonomia.spec import safety

    further = of_callable(safety.property).without(*_NOT_FROM_A_FILE)
    made: Safety = named_property(table, "safety", safety, _NAMED, further)
    return made


_FILE_KEYS: Mapping[str, FileKey] = {
    "nomos": FileKey("text", "a specification in Nomos: a .nom file, or the text", _nomos, _is_file, _code_in),
    "safety": FileKey("text", "a named k-safety property", _named),
}


@dataclass(frozen=True, slots=True)
class KSafetyAudit:
    """k-safety properties."""

    kind = "k-safety"
    property_type = Safety
    view = VIEW
    file_keys = _FILE_KEYS

    @property
    def known_first(self) -> KSafetyAudit:
        """The audit itself: cases that broke a condition which must always be true can be computed again."""
        return self

    def imports(self, prop: Safety) -> Sequence[str]:
        """The modules that a specification imports, and populations of an audit file that it imports by name."""
        return prop.spec.imports

    def outcomes(self, prop: Safety) -> tuple[str, ...]:
        """None: inputs and outputs are named by the specification."""
        del prop
        return ()

    def unclear_outcomes(self, prop: Safety) -> tuple[str, ...]:
        """None: inputs and outputs are named by the specification."""
        del prop
        return ()

    def prepare(self, check: Check[Safety]) -> Check[Safety]:
        """Refuse a check without a model if the specification queries one and has no ``predict`` of its own."""
        refuse_rates_options(check, "a k-safety property")
        prop = check.prop
        if check.random_model and check.model is not None and (always := _strict(prop)):
            raise UsageError(
                f"`ensures {always[0]}` must be true in every case, but the model may answer at random, so that it is "
                "false now and then whatever the change does. Say by how much changes may be more frequent than when "
                "the model answers twice: safety.flips(feature, eps=0.02), the option noise=0.02 of monotone, robust "
                f"and invariant_to, or `ensures {always[0]} up to noise + 0.02;` in a specification. Or say in which "
                f"share of cases it must be true: `ensures {always[0]} in 99% of cases;`",
                name="random_model",
            )
        if check.model is None and not prop.spec.imports and not prop.functions and _asks_model(prop):
            return replace(check, model=check.required_model)
        return check

    def check_names(self, check: Check[Safety]) -> None:
        """Do nothing here: a specification may have inputs of its own, so the check itself looks at names."""

    def run(self, check: Check[Safety], observer: Observer) -> Verdict:
        """Try known counterexamples, every case where there are few, edge cases, and random cases."""
        from isonomia.audits.ksafety.check import check_safety

        return check_safety(check, observer)

    def share(self, checks: Sequence[Check[Safety]]) -> Sequence[Check[Safety]]:
        """Each check has cases of its own."""
        return checks

    def locks(self, check: Check[Safety]) -> Sequence[Hashable]:
        """The search path of modules: importing those of a specification changes it."""
        return ["modules"] if check.prop.spec.imports or check.prop.allow_code else []

    def recheck(
        self,
        check: Check[Safety],
        counterexamples: Sequence[Mapping[str, Any]],
        entries: Entries,
        permissions: Permissions,
    ) -> Recheck:
        """Compute the counterexamples again, from their inputs and choices."""
        from isonomia.audits.ksafety.check import recheck

        allowed = replace(check, prop=replace(check.prop, allow_code=permissions.allow_code))
        return recheck(allowed, counterexamples, entries)

    def applies(self, check: Check[Safety]) -> bool:
        """Whether a condition must always be true."""
        return bool(_strict(check.prop))

    def with_known(self, check: Check[Safety], known: Sequence[Mapping[str, Any]]) -> Check[Safety]:
        """Add those that the property does not already have."""
        prop = check.prop
        own = [_stored(item) if isinstance(item, Mapping) else item for item in prop.known]
        further = [item for item in known if _stored(item) not in own]
        return replace(check, prop=replace(prop, known=(*prop.known, *further))) if further else check

    def as_recorded(self, check: Check[Safety], entries: Entries) -> Check[Safety]:
        """The journal lists all that were tried."""
        known = tuple(entries.get("known", {}).get("known", ()))
        return replace(check, prop=replace(check.prop, known=known))

    def proofs(self, check: Check[Safety], verdict: Verdict) -> Sequence[Mapping[str, Any]]:
        """Those that break a condition which must always be true."""
        strict = set(_strict(check.prop))
        return [_stored(item) for item in verdict.counterexamples if strict & set(item.get("violates", ()))]

    def outdated(self, check: Check[Safety]) -> Sequence[Mapping[str, Any]]:
        """All of them, unless the check continues after a violation."""
        return [_stored(item) for item in check.prop.known] if check.prop.stop_early else []

    def counts(self, check: Check[Safety], entries: Entries) -> Iterator[RecordedCounts]:
        """The cases of each batch, of all cases, and of edge cases; and the violations."""
        from isonomia.audits.ksafety.edge_cases import MAX_EDGE_CASES

        del check
        edge_cases = entries.get("edge_cases", {"violating": MAX_EDGE_CASES})["violating"]
        for key, entry in entries.items():
            if key.startswith("batch "):
                tested = [piece["tested"] for piece in entry["pieces"]]
                drawn = [*tested, entry["rejected"], entry["without_choice"]]
                yield RecordedCounts(key, drawn, entry["draws"], exactly=False)
                yield RecordedCounts(key, tested, entry["n"], exactly=False)
                for piece in entry["pieces"]:
                    yield from _cases(key, piece)
                    for cell in (cell for side in piece.get("bets", ()) for cell in side):
                        yield RecordedCounts(key, cell, piece["tested"])
                    if "pairs" in piece:
                        yield RecordedCounts(key, piece["pairs"], piece["tested"] - piece["failed"])
            elif key == "every case":
                yield from _cases(key, entry)
            elif key == "found":
                yield RecordedCounts(key, [entry["gone"], entry["distinct"], entry["inputs"]])
                kinds = [kind["count"] for kind in entry.get("kinds", ())]
                yield RecordedCounts(key, kinds, entry["distinct"] + edge_cases, exactly=False)
            elif key == "edge_cases":
                yield RecordedCounts(key, [entry["violating"]], entry["tried"], exactly=False)
                yield RecordedCounts(key, [entry["failed"]], entry["tried"], exactly=False)


def _cases(where: str, entry: Mapping[str, Any]) -> Iterator[RecordedCounts]:
    for name in ("violating", "failed", "vacuous"):
        yield RecordedCounts(where, [entry[name]], entry["tested"], exactly=False)
    yield RecordedCounts(where, [entry["violating"]], sum(entry["by_ensures"]), exactly=False)
    for broken in entry["by_ensures"]:
        yield RecordedCounts(where, [broken], entry["violating"], exactly=False)


KSAFETY = KSafetyAudit()
