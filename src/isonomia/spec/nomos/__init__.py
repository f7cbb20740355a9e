"""Nomos: the language of ``.nom`` files, in which k-safety properties are written.

:func:`parse_nomos` reads a text, :func:`spec_text` writes it back, and
:func:`read_block` says what the Python between the braces does.
"""

from isonomia.spec.nomos.parser import parse_nomos
from isonomia.spec.nomos.tree import CodeBlock, PlainBlock, Spec, expression_text, read_block, spec_text, step_text

__all__ = ["CodeBlock", "PlainBlock", "Spec", "expression_text", "parse_nomos", "read_block", "spec_text", "step_text"]
