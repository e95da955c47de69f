"""Which tables may be read where they are: in a server, and in a session of one's own.

A server reads a table in place only where its owner declares so, and only a plain one, whose
storage holds values and computes nothing. A session of one's own reads tables in place, since
whoever opens it holds the data. But no session reads what computes when it is read: a view, a
foreign table, a policy or a generated column may fail by one person's row, and then a paid
question tells that this person is there. All of it can be copied.
"""

import re
from dataclasses import replace

from tacit.core.catalog import Catalog
from tacit.core.dataset import Dataset, UnitColumn
from tacit.core.public_table import PublicTable
from tacit.errors import InvalidValue
from tacit.session.engines import Engines

COMPUTES = re.compile(
    r" is (no base table|a view|a foreign table)| has (row-level security|a generated column)"
)
"""Reasons of `tacit.engines.plain_storage` that concern every session."""


def check_declared(catalog: Catalog, engines: Engines) -> None:
    """Refuse tables that are declared to be served in place, and are no plain tables."""
    in_place = tuple(each.name for each in catalog.datasets if each.in_place)
    reasons = _reasons(catalog, in_place, engines)
    if reasons:
        raise InvalidValue("\n".join(reasons))


def check_computed(catalog: Catalog, engines: Engines) -> None:
    """Refuse tables of these databases that compute when they are read, and have no copy."""
    found = tuple(each.name for each in catalog.tables if each.copy is None)
    reasons = [each for each in _reasons(catalog, found, engines) if COMPUTES.search(each)]
    if reasons:
        raise InvalidValue("\n".join(reasons))


def _reasons(catalog: Catalog, names: tuple[str, ...], engines: Engines) -> list[str]:
    """Why tables of these names are not plain, a sentence each."""
    reasons: list[str] = []
    for table in catalog.tables:
        if table.name in names and table.location.engine in engines:
            engine = engines[table.location.engine]
            reasons += engine.plain(_alone(catalog, table))
    return list(dict.fromkeys(reasons))


def _alone(catalog: Catalog, table: Dataset | PublicTable) -> Catalog:
    """A catalogue of one table, whose link leads nowhere: that is no part of its storage."""
    if not isinstance(table, Dataset):
        return Catalog(catalog.populations, (), (table,))
    named = replace(table, unit=UnitColumn(table.unit.column))
    return Catalog(catalog.populations, (named,))
