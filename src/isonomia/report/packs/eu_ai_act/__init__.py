"""Verdicts under the headings of Articles 9, 10 and 15 of the EU AI Act (Regulation (EU) 2024/1689)."""
