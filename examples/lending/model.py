"""The lender's scorecard: points for each answer, a sum, and a cut-off."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

CARD = json.loads((Path(__file__).parent / "data" / "scorecard.json").read_text(encoding="utf-8"))


def total(people: Mapping[str, Any]) -> np.ndarray:
    """Add up the points of each of a batch of people."""
    points = np.zeros(len(people["purpose"]))
    for answer, worth in CARD["points"].items():
        name, _, option = answer.partition(" ")
        column = np.asarray(people[name])
        points += worth * (column == option if option else column)
    return points


def decide(people: Mapping[str, Any]) -> np.ndarray:
    """Say "granted" or "refused" for each of a batch of people."""
    return np.where(total(people) >= CARD["cut_off"], "granted", "refused")
