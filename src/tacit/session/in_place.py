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
    for name, engine in engines.items():
        here = [
            each
            for each in catalog.tables
            if each.name in names and each.location.engine == name
        ]
        private = tuple(_by_itself(each) for each in here if isinstance(each, Dataset))
        public = tuple(each for each in here if not isinstance(each, Dataset))
        if here:
            reasons += engine.plain(Catalog(catalog.populations, private, public))
    return reasons


def _by_itself(dataset: Dataset) -> Dataset:
    """A dataset whose link leads nowhere: of its storage, the way to the unit is no part."""
    return replace(dataset, unit=UnitColumn(dataset.unit.column))
