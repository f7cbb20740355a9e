"""The report for people: one HTML file that works offline.

The page first gives the result of every property, in words; then, for each, the claim, the findings, what
violates it, the assumptions and how to repeat it. It renders records and computes nothing.

Whatever comes from outside, such as the name of a column or the text of a review, is shown and never run: it is escaped
and cut to a length that people read, and the page allows the browser no script but its own two, and no connection.
"""

from isonomia.report.page.page import page, write_page

__all__ = ["page", "write_page"]
