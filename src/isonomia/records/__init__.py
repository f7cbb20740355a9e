"""What is kept of an audit: verdicts with everything that they rest on.

A verdict is one of *holds*, *violated* and *undecided*. The first two are wrong with probability at most the ``risk``
that the verdict states; the third says that the draws so far allow either.
"""

from isonomia.records.display.html import as_html
from isonomia.records.display.text import as_text
from isonomia.records.verdict import Expression, GroupRecord, LeafRecord, Verdict, render_with
from isonomia.records.violations import ViolationSet

__all__ = ["Expression", "GroupRecord", "LeafRecord", "Verdict", "ViolationSet"]

render_with(text=as_text, html=as_html)
