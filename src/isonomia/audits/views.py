"""The views of the audits, registered: whoever imports this module can show any verdict."""

from __future__ import annotations

from isonomia.audits.ksafety.view import VIEW as KSAFETY
from isonomia.audits.principal.view import VIEW as PRINCIPAL
from isonomia.audits.rates.view import VIEW as RATES
from isonomia.audits.responsiveness.view import VIEW as RESPONSIVENESS
from isonomia.records.display.view import register
from isonomia.records.verdict import Verdict

__all__ = ["Verdict"]

for _view in (RATES, KSAFETY, PRINCIPAL, RESPONSIVENESS):
    register(_view)
