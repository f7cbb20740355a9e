"""Verdicts under the headings of SR 11-7 and SR 26-2, guidance on model risk management."""
