"""Specifications on the command line: which arguments are some, and what goes with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isonomia.errors import UsageError

if TYPE_CHECKING:
    from isonomia.records.verdict import Verdict
    from isonomia.spec.safety import Safety

__all__ = ["SUFFIX", "keep", "read_specification"]

SUFFIX = ".nom"
"""How the name of a specification ends."""

MOST_KEPT = 100
"""How many counterexamples of a specification are kept."""


def read_specification(
    path: str, *, allow_code: bool, eps: float | None, label: str | None, groups: Sequence[str], kept: Path | None
) -> Safety:
    """The k-safety property of a file.

    Parameters
    ----------
    path
        The ``.nom`` file.
    allow_code, eps, label
        As for :func:`isonomia.spec.safety.property`.
    groups
        One-hot columns as ``NAME=COLUMN,COLUMN,...``.
    kept
        A file of counterexamples, which are tried first; it need not exist yet.
    """
    from isonomia.spec.safety import EPS
    from isonomia.spec.safety import property as safety_property

    return safety_property(
        Path(path),
        eps=EPS if eps is None else eps,
        allow_code=allow_code,
        label=label,
        groups=dict(_group(item) for item in groups),
        known=_known(kept, Path(path).stem),
    )


def keep(verdicts: Sequence[Verdict], target: Path) -> None:
    """Write the counterexamples of k-safety verdicts, to be tried first next time.

    Earlier ones stay behind the new ones, also where they violate no longer: a model that is mended may break again.
    """
    found = _stored(target)
    for verdict in verdicts:
        if verdict.details.get("audit") == "k-safety" and verdict.name:
            items = [*map(dict, verdict.counterexamples), *found.get(verdict.name, [])]
            unique = {json.dumps([item.get("inputs"), item.get("choices")]): item for item in reversed(items)}
            found[verdict.name] = list(reversed(unique.values()))[:MOST_KEPT]
    try:
        target.write_text(json.dumps(found, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"expected a file that can be written for --keep, but {target}: {error.strerror}") from error


def _known(kept: Path | None, name: str) -> list[Any]:
    return [] if kept is None else list(_stored(kept).get(name, []))


def _stored(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"expected counterexamples that --keep wrote at {path}, but: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(items, list) for items in found.values()):
        raise UsageError(f"expected counterexamples that --keep wrote at {path}, but something else is there")
    return found


def _group(item: str) -> tuple[str, list[str]]:
    name, _, columns = item.partition("=")
    listed = [column.strip() for column in columns.split(",") if column.strip()]
    if not name or not listed:
        raise UsageError(f"expected --group as NAME=COLUMN,COLUMN,..., but {item!r} came")
    return name, listed
