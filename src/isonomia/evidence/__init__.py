"""What samples prove.

Terms used throughout this room:

leaf
    An unknown mean: a rate ``P[event | condition]`` or the mean of a number in a known range.
channel
    The draws that inform a set of leaves together: one condition, one stream, one fold.
tally
    How often each cell of a channel was seen; nothing else is kept of the samples.
half-space, polytope, hypothesis
    Sets of leaf values: one linear inequality, several at once, and a union of polytopes.
bet
    A factor fixed before a batch is seen whose expected value is at most 1 wherever the hypothesis is true.
wealth, e-process
    The product of the factors so far, a non-negative supermartingale that starts at 1 while the hypothesis is true; at
    ``1/delta`` the hypothesis is refuted at risk ``delta`` (Ville's inequality).
evidence function, region
    ``L(theta)``, the logarithm of a wealth for each possible mean, and the means for which it stays below
    ``log(1/delta)``: a confidence sequence.
identified set
    The distributions of the observables that a hypothesis about unobservable quantities allows.
"""
