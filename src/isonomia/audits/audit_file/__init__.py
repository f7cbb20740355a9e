"""Audit files: a model, a population and many properties in one TOML file."""
