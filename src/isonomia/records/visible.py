"""Text from outside, made safe to look at: nothing invisible in it, and not longer than a reader can take."""

from __future__ import annotations

import re

__all__ = ["cut", "cut_short", "on_one_line", "visible"]

# Controls, lone surrogates, what has no width, and what turns the direction of the text around it. The two joiners
# U+200C and U+200D stay: Persian, Hindi and emoji are written with them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufff9-\ufffb]"
)
_PICTURES = 0x2400
"""Where the pictures of the control characters begin."""


def visible(text: str) -> str:
    """The text with every control character replaced by something that is seen; tabs and line ends stay.

    A character that turns the direction of writing would let a name change how the words around it read, so it is
    named by its number. Letters of scripts that run from right to left stay as they are.
    """
    return _UNSEEN.sub(_seen, text.replace("\r\n", "\n"))


def on_one_line(text: str) -> str:
    """The text without line ends, tabs and whatever cannot be seen."""
    return visible(" ".join(text.split()))


def cut(text: str, most: int) -> str:
    """The text, or its beginning and a word on how much there is."""
    if len(text) <= most:
        return text
    return f"{text[:most].rstrip()} … (cut: {len(text):,} characters in all)"


def cut_short(text: str, most: int) -> str:
    """The text, or its beginning and three dots: never longer than ``most``."""
    return text if len(text) <= most else f"{text[: max(most - 3, 0)]}..."


def _seen(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    if code == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    return "\N{REPLACEMENT CHARACTER}" if 0xD800 <= code <= 0xDFFF else f"[U+{code:04X}]"
