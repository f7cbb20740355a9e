"""The words of a column's name, in whatever script and spelling."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["has_word", "plain", "vocabulary", "words_in"]

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BETWEEN = re.compile(r"[\W_]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts that put no blank between words."""


def plain(text: str) -> str:
    """A text without case and accents: ``Género`` and ``GENERO`` are the same."""
    return _bare(text.casefold())


def _bare(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", "".join(sign for sign in parts if unicodedata.category(sign) != "Mn"))


def words_in(name: str) -> tuple[str, ...]:
    """The words of a name: ``maritalStatus``, ``marital_status`` and ``Marital-Status`` have the same two."""
    return tuple(plain(word) for word in _BETWEEN.split(_CAMEL.sub(" ", _bare(name))) if word)


def vocabulary(words: str) -> frozenset[str]:
    """Words with blanks between them, without case and accents."""
    return frozenset(map(plain, words.split()))


def has_word(name: str, words: frozenset[str]) -> bool:
    """Whether a name has one of some words; in scripts without blanks, anywhere in it."""
    if not words.isdisjoint(words_in(name)):
        return True
    whole = plain(name)
    return bool(_UNSPACED.search(whole)) and any(word in whole for word in words if _UNSPACED.search(word))
