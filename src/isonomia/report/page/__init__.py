"""The report for people: one HTML file that works offline.

The page says first what came of every property, in words; then, for each, what was claimed, what is known, what breaks
it, what the answer rests on and how to repeat it. It renders records and computes nothing.

Whatever comes from outside, such as the name of a column or the text of a review, is shown and never run: it is
escaped, cut to a length that people read, and the page forbids the browser every script but its own two and every
connection.
"""

from isonomia.report.page.page import page, write_page

__all__ = ["page", "write_page"]
