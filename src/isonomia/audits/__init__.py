"""The audits: each composes the other rooms into one answer."""
