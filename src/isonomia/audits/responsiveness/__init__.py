"""Responsiveness: what share of the changes open to each person reaches a target prediction."""
