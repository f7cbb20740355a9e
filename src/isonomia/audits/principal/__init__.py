"""Principal fairness: is anyone treated differently whose outcome the attribute does not affect, and the repair."""

from isonomia.audits.principal.check import check_principal
from isonomia.audits.principal.wrapper import PrincipalRepair

__all__ = ["PrincipalRepair", "check_principal"]
