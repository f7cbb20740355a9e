"""Adverse action under Regulation B (12 CFR 1002.9): reasons, and what refused applicants can do."""
