"""Whom a property is about.

The same formula means different things over different populations, so a population says what it is. A
:class:`Sample`'s rows are independent draws from the real population; a :class:`Census`'s rows are the
population; a :class:`Generator` draws as many people as are needed, for example from declared :class:`Ranges`, and so
do a :class:`~isonomia.populations.program.Program` and a :class:`~isonomia.populations.causal.Causal` model, which are
imported when they are used. Each gives numbered batches of a :class:`Table`.
"""

from isonomia.populations.files import read_table
from isonomia.populations.finite import Census, Sample
from isonomia.populations.generator import Generator, Weighted
from isonomia.populations.protocol import Labels, Population, Source
from isonomia.populations.ranges import Ranges
from isonomia.populations.table import Table

__all__ = [
    "Census",
    "Generator",
    "Labels",
    "Population",
    "Ranges",
    "Sample",
    "Source",
    "Table",
    "Weighted",
    "read_table",
]
