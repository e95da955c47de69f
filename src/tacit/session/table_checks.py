"""Checks of physical tables: each belongs to one population, and may be read in place or not.

A physical table is known by its identities, which an engine reports: for example the names of
a table and of its partitions, or the inode of a file.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from tacit.core import Catalog, Dataset, PublicTable, UnitColumn, is_copy
from tacit.engines import CheckedEngine, merge_identities
from tacit.errors import InvalidValue
from tacit.ledger import MOMENTARY, Declaration
from tacit.project import facts_of
from tacit.session.engines import Engines


class PhysicalTable(NamedTuple):
    """The identities of one physical table: its ``own``, and those of its prepared copies."""

    own: tuple[str, ...]
    copies: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """The identities of the table and of its copies."""
        return merge_identities((self.own, self.copies))


Tables = Mapping[str, PhysicalTable]
"""The physical table of each dataset and public table, by its name."""


def tables_of(catalog: Catalog, engines: Mapping[str, CheckedEngine]) -> Tables:
    """Return the identities of every table and of its prepared copies; no row is read.

    If two tables of a catalogue are one physical table, they must share a population.
    """
    found = {}
    for table in catalog.tables:
        if is_copy(table.location.table[-1]):
            raise InvalidValue(
                f"{table.name!r} is the prepared copy of another table. Declare the table from "
                "which it was made."
            )
        engine = engines[table.location.engine]
        own = engine.identities(table.location.table)
        found[table.name] = PhysicalTable(own, merge_identities(_of_copy(table, engine)))
    _check_apart(catalog, found)
    return found


def _of_copy(table: Dataset | PublicTable, engine: CheckedEngine) -> Iterator[tuple[str, ...]]:
    """Yield the identities of each table of a copy; refuse a copy that is not found."""
    for part in table.copy.tables if table.copy else ():
        try:
            yield engine.identities(part)
        except InvalidValue as error:
            raise InvalidValue(
                f"The copy of {table.name!r} was not found, or the engine's role may not read "
                f"it. Make the copy again: tacit prepare {table.name}"
            ) from error


def _check_apart(catalog: Catalog, tables: Tables) -> None:
    """Refuse a physical table that is declared for two populations, or also as public."""
    owner: dict[str, tuple[str, str | None]] = {}
    _check_units(catalog, tables)
    for table in catalog.tables:
        population = None if isinstance(table, PublicTable) else table.population
        for identity in tables[table.name].all:
            other, before = owner.setdefault(identity, (table.name, population))
            if before != population:
                raise InvalidValue(
                    f"{other!r} and {table.name!r} are the same table, or share rows, and "
                    f"{_belongs(other, before)} while {_belongs(table.name, population)}. One "
                    "table belongs to one population: declare the same population for both, "
                    "or remove one of them."
                )


def _check_units(catalog: Catalog, tables: Tables) -> None:
    """Refuse a physical table whose rows are declared with two different unit columns."""
    ways: dict[str, tuple[str, str]] = {}
    for dataset in catalog.datasets:
        said = f"{type(dataset.unit).__name__} {dataset.unit.column}"
        for identity in _lasting(tables[dataset.name].own):
            other, before = ways.setdefault(identity, (dataset.name, said))
            if before != said:
                raise InvalidValue(
                    f"{other!r} and {dataset.name!r} are the same table, or share rows, and "
                    "their units are declared differently. A person has one budget: declare "
                    "the same unit for both."
                )


def _belongs(name: str, population: str | None) -> str:
    if population is None:
        return f"{name!r} is declared as a public table"
    return f"{name!r} is declared for {population!r}"


def declaration_of(
    catalog: Catalog, population: str, tables: Tables, before: Declaration
) -> Declaration:
    """Return the declaration of a population by a catalogue, given the one ``before``.

    If its datasets are still the same, the recorded identities are kept as well: the same
    tables may have other identities on another machine that shares the ledger.
    """
    facts = facts_of(catalog, population)
    mine = [each.name for each in catalog.datasets if each.population == population]
    known = merge_identities(tables[name].all for name in mine)
    if datasets_in(facts) == datasets_in(before.facts):
        known = merge_identities((known, _lasting(before.tables)))
    return Declaration(facts, known)


def _lasting(tables: Iterable[str]) -> tuple[str, ...]:
    """Return the identities that a table keeps when its file is written again."""
    return tuple(each for each in tables if not each.startswith(MOMENTARY))


def is_recorded(
    catalog: Catalog, population: str, tables: Tables, declared: Declaration
) -> bool:
    """Return whether a declaration has all lasting identities of each dataset's table.

    A table of which only some identities are recorded has moved, or has rows of another table
    as a new partition. The population that had these rows is found by the new identity.
    """
    mine = [each.name for each in catalog.datasets if each.population == population]
    recorded = set(declared.tables)
    return all(recorded.issuperset(_lasting(tables[name].own)) for name in mine)


def datasets_in(facts: tuple[str, ...]) -> set[str]:
    """Return the names of the tables that ``facts`` are about.

    Example:
        >>> datasets_in(("visits: epoch '1'", "visits.age: integer"))
        {'visits'}
    """
    return {fact.partition(":")[0].partition(".")[0] for fact in facts}


def facts_about(name: str, facts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the facts about one table."""
    return tuple(fact for fact in facts if fact.startswith((f"{name}:", f"{name}.")))


def unit_in(name: str, facts: tuple[str, ...]) -> str | None:
    """Return the fact about the unit of a table, without its claim of uniqueness."""
    for fact in facts_about(name, facts):
        said = fact.removeprefix(f"{name}: ")
        if said == fact:
            continue
        # search from the end, because the names of columns may contain commas
        way, names, more = said.rpartition(" names the unit")
        if names and (not more or more.startswith(", once each, ")):
            return f"{name}: {way}{names}"
        for unique in (", kept unique", ", said to be unique"):
            if " leads to " in said and said.endswith(unique):
                return f"{name}: {said.removesuffix(unique)}"
    return None


# ------------------------------------------------------------------ in place
# The tables that may be read in place, without a copy: in a server and in a local session.
#
# A server reads a table in place only if its owner has declared that, and only if it is a plain
# table, which stores values and computes nothing. A local session reads tables in place,
# because the person who opens it has access to the data anyway. But no session reads a table
# that computes something when it is read: a view, a foreign table, a policy or a generated
# column may fail because of one person's row, and then the failure of a paid question reveals
# that this person is in the data. Such tables can be copied.

COMPUTES = re.compile(
    r" is (not a base table|a view|a foreign table)"
    r"| has (row-level security|a generated column)"
)
"""The reasons of `tacit.engines.storage_rules` that apply to every session."""


def check_declared(catalog: Catalog, engines: Engines) -> None:
    """Refuse tables that are declared to be served in place, but are not plain tables."""
    in_place = tuple(each.name for each in catalog.datasets if each.in_place)
    reasons = _reasons(catalog, in_place, engines)
    if reasons:
        raise InvalidValue("\n".join(reasons))


def check_computed(catalog: Catalog, engines: Engines) -> None:
    """Refuse tables of these engines that compute when they are read and have no copy."""
    found = tuple(each.name for each in catalog.tables if each.copy is None)
    reasons = [each for each in _reasons(catalog, found, engines) if COMPUTES.search(each)]
    if reasons:
        raise InvalidValue("\n".join(reasons))


def _reasons(catalog: Catalog, names: tuple[str, ...], engines: Engines) -> list[str]:
    """Return the reasons why these tables are not plain, one sentence for each."""
    reasons: list[str] = []
    for table in catalog.tables:
        if table.name in names and table.location.engine in engines:
            engine = engines[table.location.engine]
            reasons += engine.plain(_alone(catalog, table))
    return list(dict.fromkeys(reasons))


def _alone(catalog: Catalog, table: Dataset | PublicTable) -> Catalog:
    """Return a catalogue of one table, without its link, which storage does not depend on."""
    if not isinstance(table, Dataset):
        return Catalog(catalog.populations, (), (table,))
    named = replace(table, unit=UnitColumn(table.unit.column))
    return Catalog(catalog.populations, (named,))
