"""Hypotheses about distributions that samples identify only in part: e-processes and regions for identified sets.

Terms of this part of the room:

world
    One way a person can be, of which a draw shows only a part: through channel ``a`` a person of world ``u`` always
    falls into the same cell.
mixture
    A distribution over worlds. A hypothesis admits the mixtures that satisfy linear equations and inequalities.
identified set
    The cell probabilities, channel by channel, that the admitted mixtures produce: all that data can tell us about.
cell bet
    A factor for each cell of each channel, with a multiplier for each equation and inequality.

An identified set is a polytope, but with more than two categories it has too many facets to list. Nothing here lists
them: a bet is valid because of a maximum over the *worlds*, which are known.
"""
