"""A first draft of an audit file, guessed from a model and a table, with the reason for every guess.

Guesses that could mislead are commented out; what is active was tried, so that the draft runs as it is.
"""

from isonomia.audits.audit_file.drafting.draft import AuditDraft, DraftFiles, DraftRequest, draft_audit

__all__ = ["AuditDraft", "DraftFiles", "DraftRequest", "draft_audit"]
