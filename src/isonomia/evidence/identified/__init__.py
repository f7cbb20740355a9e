"""Hypotheses about what cannot be seen: bets and regions for the shadows that worlds cast on the data.

Terms of this part of the room:

world
    One way a person can be, of which a draw shows only a part: through channel ``a`` a person of world ``u`` always
    falls into one and the same cell.
mixture
    A distribution over worlds. A hypothesis admits the mixtures that satisfy linear equations and inequalities.
shadow
    The cell probabilities, channel by channel, that the admitted mixtures produce: all that data can speak about.
price
    What a bet pays for a cell of a channel, together with a price for each equation and inequality. No world may be
    worth more than what it costs to enter.

A shadow is a polytope, but one with too many sides to list once there are more than two categories. Nothing here lists
them: a bet is sound because of its prices on the *worlds*, which are known.
"""
