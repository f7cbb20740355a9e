"""The tables of the store."""

__all__ = ["KNOWN", "SCHEMA", "VERSION"]

VERSION = 1
"""The version of the tables."""

KNOWN = """
CREATE TABLE IF NOT EXISTS known (
    property TEXT NOT NULL,
    place INTEGER NOT NULL,
    counterexample TEXT NOT NULL,
    PRIMARY KEY (property, place)
) WITHOUT ROWID;
"""
"""Counterexamples of earlier verdicts, by the digest of their property; the latest has the highest place."""

SCHEMA = f"""
CREATE TABLE IF NOT EXISTS format (version INTEGER PRIMARY KEY) WITHOUT ROWID;
INSERT OR IGNORE INTO format SELECT {VERSION} WHERE NOT EXISTS (SELECT 1 FROM format);
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY,
    begun TEXT NOT NULL,
    ended TEXT,
    title TEXT NOT NULL,
    request TEXT NOT NULL,
    versions TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS checks (
    run TEXT NOT NULL REFERENCES runs (id),
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    definition TEXT NOT NULL,
    options TEXT NOT NULL,
    verdict TEXT,
    error TEXT,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries (
    run TEXT NOT NULL,
    number INTEGER NOT NULL,
    place INTEGER NOT NULL,
    key TEXT NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (run, number, place),
    UNIQUE (run, number, key)
) WITHOUT ROWID;
{KNOWN}"""
