"""Specifications on the command line: which arguments are some, and what goes with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isonomia.errors import UsageError
from isonomia.records.findings import SAFETY

if TYPE_CHECKING:
    from isonomia.records.verdict import Verdict
    from isonomia.spec.safety import Safety

__all__ = ["SUFFIX", "keep", "read_specification", "refuse_without"]

SUFFIX = ".nom"
"""How the name of a specification ends."""

MOST_KEPT = 100
"""How many counterexamples of a specification are kept."""


def read_specification(
    path: str,
    *,
    allow_code: bool,
    corners: bool,
    eps: float | None,
    label: str | None,
    groups: Sequence[str],
    kept: Path | None,
) -> Safety:
    """The k-safety property of a file.

    Parameters
    ----------
    path
        The ``.nom`` file.
    allow_code, corners, eps, label
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
        corners=corners,
        label=label,
        groups=dict(_group(item) for item in groups),
        known=_known(kept, Path(path).stem),
    )


def refuse_without(texts: Sequence[str], **given: object) -> None:
    """Refuse options that speak of a specification where there is none.

    Raises
    ------
    UsageError
        Where one was given.
    """
    came = [f"--{name}" for name, value in given.items() if value]
    if came and not any(text.endswith(SUFFIX) for text in texts):
        raise UsageError(
            f"expected a specification{SUFFIX} with {', '.join(came)}, but only formulas came: leave it out"
        )


def keep(verdicts: Sequence[Verdict], target: Path) -> None:
    """Write the counterexamples of k-safety verdicts, to be tried first next time.

    Earlier ones stay behind the new ones, also where they violate no longer: a model that is mended may break again.
    """
    from isonomia.report.files import write_file

    found = _stored(target)
    for verdict in verdicts:
        if verdict.details.get("audit") == SAFETY and verdict.name:
            items = [*map(dict, verdict.counterexamples), *found.get(verdict.name, [])]
            unique = {json.dumps([item.get("inputs"), item.get("choices")]): item for item in reversed(items)}
            found[verdict.name] = list(reversed(unique.values()))[:MOST_KEPT]
    write_file(json.dumps(found, indent=2, allow_nan=False) + "\n", target, "--keep")


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
