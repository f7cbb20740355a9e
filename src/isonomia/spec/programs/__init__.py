"""Programs that draw people: the language of FairSquare's ``.fr`` files and of causal equations.

A program is read into the tree of :mod:`~isonomia.spec.programs.tree`; running one on whole columns is the business of
:mod:`isonomia.populations.programs`.
"""

from __future__ import annotations

from isonomia.spec.programs.read import read_equation, read_program
from isonomia.spec.programs.tree import Program

__all__ = ["Program", "read_equation", "read_program"]
