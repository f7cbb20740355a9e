"""The audit of k-safety properties: relations between several runs of a model."""
