"""Verdicts under the headings of Articles 9, 10 and 15 of the EU AI Act (Regulation (EU) 2024/1689).

Verdicts, data, assumptions and sealed evidence under the headings of Articles 9, 10 and 15.
"""

from __future__ import annotations

from isonomia.report.packs.audit_tables import audit_content
from isonomia.report.packs.protocol import Pack, RequiredFact

FACTS = (
    RequiredFact("system", "the AI system, its version, and its provider", "Annex IV (1) (a)"),
    RequiredFact("purpose", "the intended purpose, and reasonably foreseeable misuse", "Article 9 (2) (a) and (b)"),
    RequiredFact(
        "risks", "the known and foreseeable risks to health, safety and fundamental rights", "Article 9 (2) (a)"
    ),
    RequiredFact(
        "measures",
        "the measures that were adopted, and why the residual risk is acceptable",
        "Article 9 (2) (d), (5)",
    ),
    RequiredFact(
        "data_origin",
        "where training, validation and testing data come from, and how they were prepared",
        "Article 10 (2) (b) and (c)",
    ),
    RequiredFact("setting", "the geographical, contextual, behavioural or functional setting of use", "Article 10 (4)"),
    RequiredFact(
        "metrics", "why these metrics and thresholds fit the purpose; they were fixed beforehand", "Article 9 (8)"
    ),
    RequiredFact("monitoring", "how results from use flow back into the risk management", "Article 9 (2) (c)"),
)

PACK = Pack("eu-ai-act", "audit", FACTS, audit_content)
