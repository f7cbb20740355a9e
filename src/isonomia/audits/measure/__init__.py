"""A table by group: how often each group gets which decision, and how often it is right, each with its interval.

:mod:`~isonomia.audits.measure.measure` reads the arguments, goes through the rows and makes the table,
:mod:`~isonomia.audits.measure.counts` counts, and :mod:`~isonomia.audits.measure.limits` has the intervals.
"""
