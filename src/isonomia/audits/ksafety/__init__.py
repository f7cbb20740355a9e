"""The audit of k-safety properties: relations between several runs of a model."""

from isonomia.audits.ksafety.check import check_safety
from isonomia.audits.ksafety.subject import is_domain

__all__ = ["check_safety", "is_domain"]
