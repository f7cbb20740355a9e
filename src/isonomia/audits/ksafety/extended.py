"""A domain with more functions than its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isonomia.populations.domains import Domain, Function

__all__ = ["with_functions"]


@dataclass(frozen=True, eq=False)
class _Extended:
    """Does what the domain does, and offers more functions."""

    domain: Domain
    functions: Mapping[str, Function]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.domain, name)


def with_functions(domain: Domain, functions: Mapping[str, Function]) -> Domain:
    """The domain with these functions besides its own, before which they go."""
    if not functions:
        return domain
    extended: Any = _Extended(domain, {**domain.functions, **functions})
    return extended  # type: ignore[no-any-return]
