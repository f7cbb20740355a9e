"""Short English messages with a gap for a name: ``we met ... today``."""

from __future__ import annotations

import isonomia as iso

MESSAGES = [
    ("", "is my friend"),
    ("we met", "today"),
    ("", "will call you"),
    ("I saw", "there"),
    ("this is", "from next door"),
    ("thank you", ""),
    ("", "wrote this"),
    ("where is", "?"),
    ("", "likes tea"),
    ("ask", "about it"),
    ("", "went home early"),
    ("have you seen", "?"),
    ("", "is at the station"),
    ("give it to", "please"),
    ("", "has the keys"),
    ("I work with", ""),
    ("", "cooks very well"),
    ("we all like", ""),
    ("", "was born here"),
    ("dinner with", "tonight"),
]

sentences = iso.Texts(
    {
        "before": [before for before, _ in MESSAGES],
        "name": ["Emma"] * len(MESSAGES),
        "after": [after for _, after in MESSAGES],
    }
)
