"""Which population each physical table of a catalogue belongs to: one, and no other."""

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


class Physical(NamedTuple):
    """The identities of one physical table: its ``own``, and those of its prepared copies."""

    own: tuple[str, ...]
    copies: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Those of the table and of its copies."""
        return merge_identities((self.own, self.copies))


Tables = Mapping[str, Physical]
"""The physical table of each dataset and public table, by its name."""


def tables_of(catalog: Catalog, engines: Mapping[str, CheckedEngine]) -> Tables:
    """The identities of every table, those of its prepared copy among them; no row is read.

    Two tables of a catalogue that are one physical table share a population, or are refused.
    """
    found = {}
    for table in catalog.tables:
        if is_copy(table.location.table[-1]):
            raise InvalidValue(
                f"{table.name!r} is the prepared copy of another table; declare the table that "
                "it was made from."
            )
        engine = engines[table.location.engine]
        own = engine.identities(table.location.table)
        found[table.name] = Physical(own, merge_identities(_of_copy(table, engine)))
    _check_apart(catalog, found)
    return found


def _of_copy(table: Dataset | PublicTable, engine: CheckedEngine) -> Iterator[tuple[str, ...]]:
    """The identities of each table of a copy; one that is gone is the owner's to make anew."""
    for part in table.copy.tables if table.copy else ():
        try:
            yield engine.identities(part)
        except InvalidValue as error:
            raise InvalidValue(
                f"The copy of {table.name!r} is not here, or its role may not read it; make it "
                f"anew: tacit prepare {table.name}"
            ) from error


def _check_apart(catalog: Catalog, tables: Tables) -> None:
    """Refuse one physical table that is declared about two populations, or about nobody too."""
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
                    "table belongs to one population: declare both about the same people, or "
                    "take one of them out."
                )


def _check_units(catalog: Catalog, tables: Tables) -> None:
    """Refuse one physical table whose rows are declared to be of two different units."""
    ways: dict[str, tuple[str, str]] = {}
    for dataset in catalog.datasets:
        said = f"{type(dataset.unit).__name__} {dataset.unit.column}"
        for identity in _lasting(tables[dataset.name].own):
            other, before = ways.setdefault(identity, (dataset.name, said))
            if before != said:
                raise InvalidValue(
                    f"{other!r} and {dataset.name!r} are the same table, or share rows, and "
                    "say in two ways whose a row is. A person has one budget: declare one "
                    "unit for both."
                )


def _belongs(name: str, population: str | None) -> str:
    if population is None:
        return f"{name!r} is declared to be about nobody"
    return f"{name!r} is declared about {population!r}"


def declaration_of(
    catalog: Catalog, population: str, tables: Tables, before: Declaration
) -> Declaration:
    """What a catalogue declares of a population, after what was declared ``before``.

    Where its datasets are still those of before, the identities that were recorded stay as
    well: the same tables may be called otherwise on another machine that shares the ledger.
    """
    facts = facts_of(catalog, population)
    mine = [each.name for each in catalog.datasets if each.population == population]
    known = merge_identities(tables[name].all for name in mine)
    if datasets_in(facts) == datasets_in(before.facts):
        known = merge_identities((known, _lasting(before.tables)))
    return Declaration(facts, known)


def _lasting(tables: Iterable[str]) -> tuple[str, ...]:
    """The identities that stay a table's when its file is written anew."""
    return tuple(each for each in tables if not each.startswith(MOMENTARY))


def is_recorded(
    catalog: Catalog, population: str, tables: Tables, declared: Declaration
) -> bool:
    """Whether a declaration tells of all that the physical table of each dataset is made of.

    A table that is known by one of its names and not by another has moved, or has got rows of
    another table as a partition: whoever had those before is found by the name that is new.
    """
    mine = [each.name for each in catalog.datasets if each.population == population]
    recorded = set(declared.tables)
    return all(recorded.issuperset(_lasting(tables[name].own)) for name in mine)


def datasets_in(facts: tuple[str, ...]) -> set[str]:
    """The names of the tables that ``facts`` are about.

    Example:
        >>> datasets_in(("visits: epoch '1'", "visits.age: integer"))
        {'visits'}
    """
    return {fact.partition(":")[0].partition(".")[0] for fact in facts}


def facts_about(name: str, facts: tuple[str, ...]) -> tuple[str, ...]:
    """The facts about one table."""
    return tuple(fact for fact in facts if fact.startswith((f"{name}:", f"{name}.")))


def unit_in(name: str, facts: tuple[str, ...]) -> str | None:
    """The fact that says whose a row of a table is, without what is said of its uniqueness."""
    for fact in facts_about(name, facts):
        said = fact.removeprefix(f"{name}: ")
        if said == fact:
            continue
        # cut from the end: the names of columns may hold commas
        way, names, more = said.rpartition(" names the unit")
        if names and (not more or more.startswith(", once each, ")):
            return f"{name}: {way}{names}"
        for unique in (", kept unique", ", said to be unique"):
            if " leads to " in said and said.endswith(unique):
                return f"{name}: {said.removesuffix(unique)}"
    return None


# ------------------------------------------------------------------ in place
# Which tables may be read where they are: in a server, and in a session of one's own.
#
# A server reads a table in place only where its owner declares so, and only a plain one,
# whose storage holds values and computes nothing. A session of one's own reads tables in
# place, since whoever opens it holds the data. But no session reads what computes when it is
# read: a view, a foreign table, a policy or a generated column may fail by one person's row,
# and then a paid question tells that this person is there. All of it can be copied.

COMPUTES = re.compile(
    r" is (not a base table|a view|a foreign table)"
    r"| has (row-level security|a generated column)"
)
"""Reasons of `tacit.engines.storage_rules` that concern every session."""


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
