"""Verdicts under the headings of SR 11-7, guidance on model risk management."""
