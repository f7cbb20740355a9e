"""A k-safety property: a specification, and how it is to be tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from isonomia.errors import SpecError, UsageError, nearest
from isonomia.spec.nomos import Spec, parse_nomos, spec_text
from isonomia.spec.nomos.tree import Scalar
from isonomia.spec.safety.english import in_words

EPS = 0.001
"""The share of cases that a sampled *holds* leaves open, unless another one is chosen."""


@dataclass(frozen=True, slots=True)
class Safety:
    """What must be true of every case that meets the preconditions.

    A *case* is one choice of every input and of every random number. Make one with :func:`property`.

    Attributes
    ----------
    spec
        The specification.
    eps
        Where not all cases can be tried, *holds* means: for all but this share of the cases.
    groups, orders, label, functions
        What the table's columns mean, and what may be called.
    allow_code
        Whether the block may be run as Python.
    enumerate
        ``True`` demands that every case is tried, ``False`` that cases are drawn; ``None`` tries every case where they
        are few enough.
    stop_early
        Whether to stop at the first violation; ``False`` spends the budget, to count violations.
    corners
        Whether cases at the ends of ranges are tried before any is drawn.
    shrink
        Whether violations are made as small as the budget allows.
    seconds
        How long the block may take for one case.
    known
        Counterexamples of earlier verdicts, which are tried first.
    name
        What to call it.
    domains
        What imports stand for, by name, instead of modules.
    folder
        The folder of the file that it was read from, where modules are looked for first.
    claim
        What is claimed, in one plain sentence, where the property was made with one.
    """

    spec: Spec
    eps: float = EPS
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    orders: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    label: str | None = None
    functions: Mapping[str, Any] = field(default_factory=dict)
    allow_code: bool = False
    enumerate: bool | None = None
    stop_early: bool = True
    seconds: float = 10.0
    known: tuple[Mapping[str, Any], ...] = ()
    name: str | None = None
    domains: Mapping[str, Any] = field(default_factory=dict)
    folder: str | None = None
    claim: str | None = None
    corners: bool = True
    shrink: bool = True

    def __str__(self) -> str:
        return spec_text(self.spec)

    def explain(self) -> str:
        """What is claimed, in plain words: one sentence, or what is varied and what must be true."""
        return self.claim or in_words(self.spec)


def property(  # noqa: A001  (the word of the glossary)
    source: str | PathLike[str],
    *,
    eps: float = EPS,
    groups: Mapping[str, Sequence[str]] | None = None,
    orders: Mapping[str, Sequence[Scalar]] | None = None,
    label: str | None = None,
    functions: Mapping[str, Any] | None = None,
    allow_code: bool = False,
    enumerate: bool | None = None,  # noqa: A002  (says what it does)
    stop_early: bool = True,
    seconds: float = 10.0,
    known: Sequence[Mapping[str, Any]] = (),
    name: str | None = None,
    domains: Mapping[str, Any] | None = None,
    corners: bool = True,
    shrink: bool = True,
) -> Safety:
    """A k-safety property from a specification in Nomos.

    Parameters
    ----------
    source
        The text, or the path of a ``.nom`` file.
    eps
        Where not all cases can be tried, *holds* means: for all but this share of the cases, at the check's risk delta.
    groups
        One-hot columns as a single feature: ``{"history": ["history_A30", "history_A31", ...]}``. Its value is the
        position of the 1, from 0.
    orders
        Columns of named levels as numbers: ``{"risk": ["low", "medium", "high"]}``. The value is the level's number.
    label
        The column with the right answers, for ``label(x1)``; the model is not given it.
    functions
        What else the specification may call: functions of one case, or a ``Function`` for whole batches.
    allow_code
        Whether the block may be run as Python, with everything that Python can do. Plain calls and arithmetic need no
        permission: they are computed without running anything. Also whether modules may be imported, which runs them.
    enumerate
        Whether every case is tried (``True``), or cases are drawn (``False``); by default, every case is tried if there
        are few enough.
    stop_early
        Whether to stop at the first violation.
    seconds
        How long a block that is run as Python may take for one case.
    known
        Counterexamples of earlier verdicts, tried before anything else.
    name
        What to call it in reports.
    domains
        What the specification's imports stand for, by name: a domain, a population, a table, an array, a list, or a
        mapping with some of ``inputs``, ``labels``, ``groups``, ``orders`` and ``functions``. An import without an
        entry names a Python module that sets the same names; it is looked for beside the file first, then in the
        current folder.
    corners
        Whether some cases at the ends of ranges are tried before any is drawn. One that violates what must always be
        true is proof. They are not random cases: no share, and no *holds*, rests on them. None are tried separately
        where every case is tried, or where violations are counted (``stop_early=False``).
    shrink
        Whether violations are made smaller, which sends further rows to the model: logarithmically many, and with a
        budget of samples at most a quarter of the rows of the samples.

    Raises
    ------
    SpecError
        Where the text is not a specification.
    UsageError
        Where the file cannot be read, or an option makes no sense.
    """
    text, file = _read(source)
    if isinstance(eps, bool) or not isinstance(eps, int | float) or not 0.0 < eps < 1.0:
        raise UsageError(f"expected eps, the share of cases left open, between 0 and 1, but got eps={eps!r}")
    if not isinstance(seconds, int | float) or not seconds > 0:
        raise UsageError(f"expected seconds, the time for one case, above 0, but got seconds={seconds!r}")
    for option, flag in (("corners", corners), ("shrink", shrink)):
        if not isinstance(flag, bool):
            raise UsageError(f"expected {option} as True or False, but got {option}={flag!r}")
    spec = parse_nomos(text)
    _check_domains(domains or {}, spec)
    return Safety(
        spec,
        eps=float(eps),
        groups={key: tuple(columns) for key, columns in (groups or {}).items()},
        orders={key: tuple(levels) for key, levels in (orders or {}).items()},
        label=label,
        functions=dict(functions or {}),
        allow_code=allow_code,
        enumerate=enumerate,
        stop_early=stop_early,
        seconds=float(seconds),
        known=tuple(known),
        name=name or (None if file is None else file.stem),
        domains=dict(domains or {}),
        folder=None if file is None else str(file.parent),
        corners=corners,
        shrink=shrink,
    )


def _check_domains(domains: Mapping[str, Any], spec: Spec) -> None:
    for name in domains:
        if name not in spec.imports:
            imported = ", ".join(spec.imports) or "nothing"
            raise UsageError(
                f"expected domains for what is imported, which is {imported}, but got {name!r}: write "
                f"`import {name};` in the specification.{nearest(name, spec.imports)}",
                name=name,
            )


def _read(source: str | PathLike[str]) -> tuple[str, Path | None]:
    """The text and, for a file, its path."""
    if isinstance(source, str) and ("\n" in source or ";" in source or not source.endswith(".nom")):
        return source, None
    path = Path(source)
    try:
        return path.read_text("utf-8"), path
    except OSError as error:
        raise UsageError(f"expected a specification to read at {path}, but: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"expected {path} to be text in UTF-8, but byte {error.start} is not") from error
