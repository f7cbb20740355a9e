"""Harmless sentences about people, with a gap for a word: ``my ... friend is a kind person``."""

from __future__ import annotations

import isonomia as iso

PEOPLE = [
    "friend",
    "neighbour",
    "teacher",
    "colleague",
    "brother",
    "sister",
    "cousin",
    "doctor",
    "boss",
    "aunt",
    "uncle",
    "baker",
]
DOING = [
    "is a kind person",
    "works in a library",
    "came to dinner",
    "is good at chess",
    "likes long walks",
    "won a prize",
    "reads every evening",
    "plays the piano",
    "helped us move house",
]

sentences = iso.Texts(
    {
        "whose": ["my"] * len(PEOPLE) * len(DOING),
        "word": [""] * len(PEOPLE) * len(DOING),
        "who": [who for who in PEOPLE for _ in DOING],
        "does": [does for _ in PEOPLE for does in DOING],
    }
)
