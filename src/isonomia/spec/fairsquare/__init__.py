"""Programs that draw people: the language of FairSquare's ``.fr`` files and of causal equations.

A program is read into the tree of :mod:`~isonomia.spec.fairsquare.tree`; running one on whole columns is the business
of :mod:`isonomia.populations.worlds`.
"""

from __future__ import annotations

from isonomia.spec.fairsquare.reader import read_equation, read_program
from isonomia.spec.fairsquare.tree import FairSquareProgram

__all__ = ["FairSquareProgram", "read_equation", "read_program"]
