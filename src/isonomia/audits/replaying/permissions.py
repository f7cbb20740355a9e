"""What a record names, opened with permission only: models, data, and whatever runs code.

An evidence file may come from a stranger. Its audit can name a module, a service or a file anywhere on the disk, and a
model that is a service is sent the rows of the data. So everything that is run, sent or read from outside of one folder
needs the permission of the person who replays it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isonomia.audits.audit_file.reader import AuditFile, FileTable
from isonomia.audits.protocol import Permissions
from isonomia.errors import RecordError, UsageError
from isonomia.models.loader import Kind, kind_of, load_model
from isonomia.models.protocol import Model

__all__ = ["opened_models", "refuse_unsafe"]

_PERMISSIONS = ("trust_pickle", "trusted")
"""Options of a model that give permissions: a record has none to give."""

_RUN = frozenset({Kind.PROGRAM, Kind.SERVICE})
"""Kinds of models that run a program, or send the rows somewhere."""


def opened_models(
    file: AuditFile, sources: Mapping[str, str], permissions: Permissions, trusted: list[str] | None = None
) -> dict[str, Model]:
    """Open the models that a person names in place of those of the record, read as the audit file says.

    Parameters
    ----------
    file
        The audit file of the record.
    sources
        What to open, by the name that the model has in the file.
    permissions, trusted
        Whether pickles may be opened, and which types of a skops file may be made.
    """
    entries, found = file.entries("model", "models"), {}
    for name, source in sources.items():
        if name not in entries:
            raise UsageError(f"expected --model for a model of the audit, but it has none called {name!r}")
        options = _options(entries[name], source, permissions)
        if trusted:
            options["trusted"] = trusted
        features = entries[name].get("features")
        found[name] = load_model(source, features=features, **options, trust_pickle=permissions.trust_pickle)
    return found


def _options(entry: FileTable, source: str, permissions: Permissions) -> dict[str, Any]:
    """How the record says that a model is read. It has no say in how something is run or called."""
    path = Path(source)
    if not permissions.allow_code and (not path.exists() or kind_of(path) in _RUN):
        return {}
    return {key: value for key, value in entry.get("options", {}).items() if key not in _PERMISSIONS}


def refuse_unsafe(file: AuditFile, permissions: Permissions, given: Mapping[str, Any]) -> None:
    """Make sure that running an audit of a record runs, sends and reads nothing that nobody allowed.

    Parameters
    ----------
    file
        The audit file, whose folder holds the data and the models.
    permissions
        What is allowed; whoever allows code allows all of this.
    given
        The models that somebody named, by their names in the file: those of the record are not opened.
    """
    if permissions.allow_code:
        return
    for name, entry in file.entries("model", "models").items():
        if name not in given and entry.get("load") is not None:
            _refuse_model(entry, entry.get("load"))
    for entry in file.properties():
        if "domains" in entry.get("with", {}):
            raise _refusal("read whatever a property names as inputs of its own")
    for entry in file.entries("population", "populations").values():
        for key in ("generator", "domain"):
            if key in entry.content:
                raise _refusal(f"import {entry.get(key)!r}, which runs its code")
        for key in ("sample", "census"):
            if key in entry.content:
                _refuse_outside(file.folder, entry.get(key))


def _refuse_model(entry: FileTable, source: str) -> None:
    here = entry.file.folder / source
    if not here.exists():
        raise _refusal(f"open the model {source!r}, which is no file in {entry.file.folder}: a module or a service")
    _refuse_outside(entry.file.folder, source)
    if kind_of(here) in _RUN:
        raise _refusal(f"run or call what {here} describes")
    if set(_PERMISSIONS) & set(entry.get("options", {})):
        raise _refusal(f"open {here} with permissions that the record gives itself")


def _refuse_outside(folder: Path, source: str) -> None:
    if not (folder / source).resolve().is_relative_to(folder.resolve()):
        raise _refusal(f"read {source!r}, outside of {folder}")


def _refusal(what: str) -> RecordError:
    return RecordError(
        f"the audit of this record would {what}. If you trust whoever made it, allow that with --allow-code; or name "
        "the model yourself with --model, and the folder of the data with --folder"
    )
