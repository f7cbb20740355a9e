"""Constraints as linear rows, for a mixed-integer program and for polytopes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Literal, TypeAlias

from isonomia.interventions.constraints.moves import Floats

__all__ = ["Form", "FormRow", "Interval", "Scope", "one_of_boxes", "one_of_codes"]

Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Scope:
    """One person, in a constraint's features.

    Attributes
    ----------
    start
        Where the person is.
    least, most
        The range of the acted values.
    end_low, end_high
        A range that holds the ended values.
    whole, end_whole
        Whether the acted values, and the ended ones, are whole numbers.
    """

    start: Floats
    least: Floats
    most: Floats
    end_low: Floats
    end_high: Floats
    whole: tuple[bool, ...]
    end_whole: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class FormRow:
    """``low <= sum of coefficients times values <= high``.

    ``acted`` and ``ended`` give the coefficients of a feature's acted and ended value, by the feature's place among the
    constraint's names; ``binaries`` those of auxiliary binaries, by number.
    """

    acted: Mapping[int, float] = field(default_factory=dict)
    ended: Mapping[int, float] = field(default_factory=dict)
    binaries: Mapping[int, float] = field(default_factory=dict)
    low: float = -inf
    high: float = inf


@dataclass(frozen=True, slots=True)
class Form:
    """Rows that must all be satisfied, with so many binaries of the constraint's own.

    ``exact`` says that a move satisfies the rows, for some choice of the binaries, only if the constraint allows it,
    but for moves on the boundary: a strict inequality over a real feature becomes one that is not strict.
    """

    rows: tuple[FormRow, ...]
    binaries: int = 0
    exact: bool = True


def one_of_codes(codes: Sequence[Sequence[float]]) -> Form:
    """The acted values are one of the listed codes: one binary a code, of which exactly one is on."""
    on = FormRow(binaries=dict.fromkeys(range(len(codes)), 1.0), low=1.0, high=1.0)
    width = len(codes[0]) if codes else 0
    rows = [
        FormRow({j: -1.0}, binaries={i: float(code[j]) for i, code in enumerate(codes)}, low=0.0, high=0.0)
        for j in range(width)
    ]
    return Form((on, *rows), len(codes))


def one_of_boxes(
    boxes: Sequence[Mapping[int, Interval]], ranges: Mapping[int, Interval], of: Literal["acted", "ended"]
) -> Form:
    """The values lie in one of some boxes: one binary a box, of which exactly one is on.

    A feature that a box does not mention has its whole range there. Boxes that share no inner point make the binaries a
    function of the values, but for the boundary.
    """
    rows = [FormRow(binaries=dict.fromkeys(range(len(boxes)), 1.0), low=1.0, high=1.0)]
    for place, whole in ranges.items():
        spans = [box.get(place, whole) for box in boxes]
        lows, highs = ({i: -span[end] for i, span in enumerate(spans)} for end in (0, 1))
        one = {place: 1.0}
        acted, ended = (one, {}) if of == "acted" else ({}, one)
        rows += [FormRow(acted, ended, lows, low=0.0), FormRow(acted, ended, highs, high=0.0)]
    return Form(tuple(rows), len(boxes))
