"""Adverse impact under the Uniform Guidelines on Employee Selection Procedures (29 CFR 1607.4)."""
