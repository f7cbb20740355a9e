"""What a watch answers: alarms, and how things stand for the last samples."""

from __future__ import annotations

from dataclasses import dataclass

from isonomia.evidence.detectors import Onset
from isonomia.records.verdict import Expression, LeafRecord
from isonomia.wording import plural

__all__ = ["Alarm", "Standing"]


@dataclass(frozen=True, slots=True)
class Alarm:
    """A property has stopped holding.

    Attributes
    ----------
    property
        Its name, or its text where it has none.
    group
        Whom it is about, where the property claims something for every group.
    text
        The comparison that no longer holds.
    sample
        After how many samples of the stream the alarm came.
    onset
        After how many samples it probably began, with the earliest and the latest that the samples allow.
    estimate
        What was compared, over the samples since the estimated onset; ``None`` where a group had none since.
    relation, threshold
        What it must be.
    """

    property: str
    group: str | None
    text: str
    sample: int
    onset: Onset
    estimate: float | None
    relation: str
    threshold: float

    def __str__(self) -> str:
        who = f" for {self.group}" if self.group else ""
        value = "" if self.estimate is None else f" (since then {self.estimate:.4g})"
        return (
            f"ALARM after {plural(self.sample, 'sample')}: {self.text} has stopped holding{who}; it probably began "
            f"after {plural(self.onset.estimate, 'sample')}, between {self.onset.low:,} and {self.onset.high:,}{value}"
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a comparison holds for the last samples: ``answer`` is the side of the threshold that the interval is on.

    ``samples`` says how many samples of the stream it is about, and ``leaves`` what is known of each rate.
    """

    property: str
    group: str | None
    answer: str
    expression: Expression
    leaves: tuple[LeafRecord, ...]
    samples: int
    first: int
