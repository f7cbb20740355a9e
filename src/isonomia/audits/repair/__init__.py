"""Repairs: a model trained again on its violations, with a certificate; decisions changed until they are fair.

>>> from isonomia import repair
>>> sorted(repair.__all__)
['Augmentation', 'PrincipalRepair', 'RepairRound', 'augment']
"""

from isonomia.audits.principal.repair import PrincipalRepair
from isonomia.audits.repair.augmentation import Augmentation, augment
from isonomia.audits.repair.training import RepairRound

__all__ = ["Augmentation", "PrincipalRepair", "RepairRound", "augment"]
