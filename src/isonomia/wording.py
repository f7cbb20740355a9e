"""Words and numbers for people, written the same way everywhere: plurals, lists, shortened and safe text, rounding.

Computed values have four digits (:func:`number`), given ones six (:func:`brief`), and risks three, rounded up
(:func:`chance`). The record has every digit.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Sequence
from math import ceil, floor, log10
from typing import Any

# ------------------------------------------------------------------------------------------------------------- numbers


def number(value: float | None, digits: int = 4) -> str:
    """A number as people write it: a few significant digits, or a dash for ``None``."""
    if value is None:
        return "-"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    if abs(value) < 1e-300:
        return "0"
    return f"{value:,.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"


def chance(value: float) -> str:
    """A probability of error, short and never too small: three digits, rounded up."""
    if not 0 < value < 1:
        return f"{value:g}"
    unit = 10.0 ** (floor(log10(value)) - 2)
    return f"{ceil(value / unit - 1e-9) * unit:.3g}" if unit > 0 else f"{value:g}"


def brief(value: Any) -> str:
    """A value of a record as people read it: six digits of a number, anything else as Python writes it."""
    if not isinstance(value, float):
        return repr(value)
    return f"{value:.6g}" if not 1e6 <= abs(value) < 1e15 else f"{value:.0f}"


def alongside(values: Sequence[Any]) -> list[str]:
    """Values to compare, as :func:`brief` writes them; exact where two that differ would look the same."""
    short, exact = [brief(value) for value in values], [repr(value) for value in values]
    return short if len(set(short)) == len(set(exact)) else exact


def change(before: Any, after: Any) -> str:
    """A value before and after a change."""
    return " -> ".join(alongside((before, after)))


def value_text(value: Any, limit: int) -> str:
    """A value without quotation marks: text as it is, a short number, the beginning of a list; a cut is noted."""
    return visible(excerpt(_unquoted(value, limit), limit))


def _unquoted(value: Any, limit: int) -> str:
    match value:
        case str():
            return value
        case bool() | None:
            return {True: "yes", False: "no", None: "missing"}[value]
        case float():
            return brief(value)
        case int():
            return str(value) if value.bit_length() < 1_000 else f"a whole number of {value.bit_length():,} bits"
        case _:
            short = reprlib.Repr()
            short.maxlist = short.maxtuple = short.maxdict = short.maxset = 12
            short.maxstring = short.maxother = limit
            return short.repr(value)


# --------------------------------------------------------------------------------------------------- plurals and lists


def plural(count: int, noun: str, several: str | None = None) -> str:
    """How many there are: ``1 case``, ``1,234 cases``; ``several`` where the plural is not the noun with an s."""
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"


def listed(items: Iterable[object], last: str = "and") -> str:
    """Items one after the other: ``a``, ``a and b``, ``a, b and c``."""
    *head, end = [str(item) for item in items] or [""]
    return f"{', '.join(head)} {last} {end}" if head else end


def first_few(items: Sequence[object], limit: int = 8) -> str:
    """The first items, and the number of the others: ``a, b and 3 more``."""
    shown = ", ".join(map(str, items[:limit]))
    return shown if len(items) <= limit else f"{shown} and {len(items) - limit} more"


# ---------------------------------------------------------------------------------------------------------------- text


def capitalised(text: str) -> str:
    """The text with a capital at its beginning; the rest as it is."""
    return text[:1].upper() + text[1:]


def ended(text: str) -> str:
    """A sentence with its full stop."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def shortened(text: str, limit: int) -> str:
    """The text, or its beginning and three dots: never longer than ``limit``."""
    return text if len(text) <= limit else f"{text[: max(limit - 3, 0)]}..."


def printable(text: str) -> str:
    """The text with a blank for every character that cannot be printed, including line ends."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def words_of(error: BaseException) -> str:
    """An error's message, or only its type where even ``str`` of it fails."""
    try:
        return str(error)
    except Exception:
        return f"a {type(error).__name__} that does not say what it is"


def excerpt(text: str, limit: int) -> str:
    """The text, or its beginning and a note of its length."""
    if len(text) <= limit:
        return text
    return f"{text[:limit].rstrip()} … (cut: {len(text):,} characters in total)"


# Control characters, lone surrogates, characters without width, and those that change the direction of the text around
# them. The two joiners U+200C and U+200D stay: Persian, Hindi and emoji are written with them.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufff9-\ufffb]"
)
_PICTURES = 0x2400
"""Where the pictures of the control characters begin."""


def visible(text: str) -> str:
    """The text with every control character replaced by something that can be seen; tabs and line ends stay.

    A character that changes the direction of writing would let a name change how the words around it read, so its
    number is shown. Letters of scripts that run from right to left stay as they are.
    """
    return _INVISIBLE.sub(_picture, text.replace("\r\n", "\n"))


def on_one_line(text: str) -> str:
    """The text without line ends, tabs and whatever cannot be seen."""
    return visible(" ".join(text.split()))


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    if code == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    return "\N{REPLACEMENT CHARACTER}" if 0xD800 <= code <= 0xDFFF else f"[U+{code:04X}]"
