"""Principal fairness at the level of distributions: what an observed table allows, proves and forbids.

Terms of this part of the room:

world
    One way a person can be: the prediction ``S(a)`` and the outcome ``Y(a)`` under every value ``a`` of the attribute.
observed table
    ``P(S = s, Y = y | A = a)``. It shows one attribute value of each person, so many distributions over worlds
    produce the same table.
stratum
    The people whose outcomes ``(Y(0), Y(1), ...)`` form one of a set of patterns. No one's stratum can be observed.
effect
    Within a stratum, how much more probable a prediction is under one attribute value than under another: ``tau'``
    unnormalised, ``tau`` divided by the probability of the stratum.
bounds
    The least and the greatest effect over all distributions over worlds that produce the table.

Everything here is about a known table. What a finite sample proves about an unknown one is decided elsewhere. Every
statement rests on two assumptions that no table can check: a person's observed values are the potential ones under the
person's own attribute value (consistency), and the attribute is independent of the potential values within the table's
subgroup (Assumption 1 of the paper).

Source: "Counterfactual Fairness Using Principal Stratification", with its misprints corrected.
"""
