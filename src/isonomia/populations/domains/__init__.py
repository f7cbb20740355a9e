"""Domains: what a k-safety property is about, such as the rows of a table.

A domain offers inputs, their features, and functions on them. It works on whole batches of records.
"""

from isonomia.populations.domains.arrays import ArrayDomain
from isonomia.populations.domains.changes import Change, Parameter
from isonomia.populations.domains.games import Ending, Environment, Game, Games, StateChange
from isonomia.populations.domains.images import Images
from isonomia.populations.domains.items import ItemRecords, Items
from isonomia.populations.domains.lunar import LunarLander
from isonomia.populations.domains.protocol import Ask, Domain, Function, Kind, Records
from isonomia.populations.domains.sounds import Sounds
from isonomia.populations.domains.tables import TableDomain, TableRecords
from isonomia.populations.domains.texts import Texts

__all__ = [
    "ArrayDomain",
    "Ask",
    "Change",
    "Domain",
    "Ending",
    "Environment",
    "Function",
    "Game",
    "Games",
    "Images",
    "ItemRecords",
    "Items",
    "Kind",
    "LunarLander",
    "Parameter",
    "Records",
    "Sounds",
    "StateChange",
    "TableDomain",
    "TableRecords",
    "Texts",
]
