"""Named fairness properties.

Every function here makes an ordinary property: it prints as a formula, explains itself, joins with others by ``&``,
``|`` and ``~``, and is checked by ``isonomia.check``. None of them makes a model fair. Each names one thing that can be
measured, and says what it does not imply. The parameters that they share:

**Who is compared**

* ``attribute``: the column that makes the groups. With a list of columns, such as ``["sex", "race"]``, a group is a
  combination of their values, and is named by a tuple, such as ``("F", "Black")``.
* ``minority``, ``majority``: with both, the minority is compared with the majority. With ``majority`` alone, every
  other group is.
* ``groups``: the groups to compare, if not all that occur: each with the majority, or without one, each with every
  other. Without ``minority``, ``majority`` and ``groups``, every group that occurs is compared with every other. A
  combination of several attributes that does not occur leaves the verdict undecided; list those that do.
* ``given``: a condition, such as ``col("age") >= 18`` or its text. The whole property is about the people who meet it.

**How far apart they may be**

* ``ratio``: above 0 and at most 1. With a majority, a group's rate divided by the majority's is at least ``ratio``:
  one-sided, the group may do better. Where the majority's rate is zero there is no ratio, and the check says so. Among
  groups that are compared with each other, each one's rate is at least ``ratio`` times every other's, and so times the
  highest.
* ``difference``: from 0 to 1. Two rates differ by at most ``difference``, in either direction.

**What is counted**

* ``favourable``: the favourable decision, a value of the decision, or a condition such as ``score >= 0.7``. Text is a
  value.
* ``decision``: what is decided about a person: the model's ``prediction``, or the name of a column where the table
  holds decisions.

A person whose attribute is missing belongs to no group.
"""

from isonomia.spec.fairness.calibration import calibration
from isonomia.spec.fairness.group import (
    accuracy_parity,
    conditional_parity,
    demographic_parity,
    equal_opportunity,
    equalized_odds,
    four_fifths,
    predictive_equality,
    predictive_parity,
    regression_parity,
)
from isonomia.spec.fairness.individual import (
    causal,
    counterfactual,
    counterfactual_effect,
    individual,
    no_causal_discrimination,
    path_specific,
)

__all__ = [
    "accuracy_parity",
    "calibration",
    "causal",
    "conditional_parity",
    "counterfactual",
    "counterfactual_effect",
    "demographic_parity",
    "equal_opportunity",
    "equalized_odds",
    "four_fifths",
    "individual",
    "no_causal_discrimination",
    "path_specific",
    "predictive_equality",
    "predictive_parity",
    "regression_parity",
]
