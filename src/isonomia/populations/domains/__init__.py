"""Domains: what a k-safety property speaks about, such as the rows of a table.

A domain offers inputs, their features, and functions on them. It works on whole batches of records.
"""

from isonomia.populations.domains.protocol import Domain, Function, Kind, Records
from isonomia.populations.domains.tables import TableDomain, TableRecords

__all__ = ["Domain", "Function", "Kind", "Records", "TableDomain", "TableRecords"]
