"""Named properties of evals, and which rows to label next.

The properties are about two models, or two versions of one, on the same rows. Each is an ordinary property, for
``isonomia.check(property, {"new": a, "old": b}, population)``; ``a`` and ``b`` are models, or the names of columns with
stored answers. Each row counts as a pair: that both models find the same rows easy or hard costs nothing, as it would
if their rates were compared as those of two groups. The parameters that they share:

* ``outcome``: the column with the right answer. Without it, answers are right where they are 1, as for stored results
  that say so.
* ``score``: the range of a score, such as ``(0, 1)``, in place of right and wrong: then means are compared.
* ``by``: a column whose values make groups, such as topics; the property is claimed for each of them.
* ``given``: a condition, such as ``topic == 'law'``. The property is about the rows that meet it.
* ``new``, ``old``: the names of the models.
"""

from isonomia.populations.design import NextLabels, label_next
from isonomia.spec.evals import better, not_worse

__all__ = ["NextLabels", "better", "label_next", "not_worse"]
