"""Runnable measurements: each prints a table and writes JSON."""
