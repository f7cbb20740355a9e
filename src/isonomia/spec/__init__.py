"""Saying what must hold.

A **property** is a claim about a model and a population. Its **formula** compares **quantities**, numbers about the
population, and joins the comparisons by ``and``, ``or``, ``not``, ``==>`` and ``for``. The quantities are built from
**leaves**: a **rate** ``P[event | condition]`` is the share of a group for whom an event is true, and a **mean**
``E[term | condition]`` is the mean of a number over a group. Events, conditions and terms are **row expressions**:
they speak about one person, by the columns of a table and by the model's ``prediction`` and ``score``; and about other
**versions** of that person: a second one drawn at random, or the same one had things been otherwise.

There are two ways in, text and Python operators, and both make the same tree::

    parse("P[prediction == 1 | sex == 'F'] >= 0.8")
    P(prediction == 1, given=col("sex") == "F") >= 0.8

A property holds no data. What it says about a **batch** of people is computed by :func:`truth` and :func:`numbers`.
"""

from isonomia.spec.analysis import conjuncts, disjoint, implies, range_of
from isonomia.spec.english import explain
from isonomia.spec.evaluate import Batch, evaluate, numbers, truth
from isonomia.spec.operators import (
    E,
    P,
    PersonVersion,
    as_if,
    col,
    do,
    each,
    maximum,
    minimum,
    other,
    pair_function,
    prediction,
    score,
)
from isonomia.spec.parser import parse_formula
from isonomia.spec.property import Measure, Property, Term, expand, parse
from isonomia.spec.text import to_text
from isonomia.spec.tree import check_names, columns_of, leaves_of, outputs_of, versions_of

__all__ = [
    "Batch",
    "E",
    "Measure",
    "P",
    "PersonVersion",
    "Property",
    "Term",
    "as_if",
    "check_names",
    "col",
    "columns_of",
    "conjuncts",
    "disjoint",
    "do",
    "each",
    "evaluate",
    "expand",
    "explain",
    "implies",
    "leaves_of",
    "maximum",
    "minimum",
    "numbers",
    "other",
    "outputs_of",
    "pair_function",
    "parse",
    "parse_formula",
    "prediction",
    "range_of",
    "score",
    "to_text",
    "truth",
    "versions_of",
]
