"""Responsiveness: what share of the changes open to each person reaches a target prediction."""

from isonomia.audits.responsiveness.check import check_responsiveness

__all__ = ["check_responsiveness"]
