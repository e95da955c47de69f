"""What the owner declared of the tables that a question reads, as one short text."""

from collections.abc import Iterable
from hashlib import sha256

from tacit.core.bounds import Bounds, Provenance
from tacit.core.catalog import Catalog
from tacit.core.column import Column, Kind
from tacit.core.dataset import Dataset, Limits, Link, UnitColumn
from tacit.core.keys import Keys
from tacit.core.population import Population
from tacit.core.public_table import PublicTable
from tacit.core.schema import Schema
from tacit.core.unit import Neighbours, PrivacyUnit
from tacit.plan.canonical import StoredForm, Vocabulary, text

Table = Dataset | PublicTable

DECLARATIONS = Vocabulary(
    {
        Population: StoredForm("Population", ("name", "unit")),
        PrivacyUnit: StoredForm("PrivacyUnit", ("name", "neighbours")),
        Schema: StoredForm("Schema", ("columns",)),
        Column: StoredForm("Column", ("name", "kind", "bounds", "keys", "step")),
        Bounds: StoredForm("Bounds", ("lower", "upper", "provenance")),
        Keys: StoredForm("Keys", ("values", "provenance")),
        UnitColumn: StoredForm("UnitColumn", ("column", "one_row", "unique_by_constraint")),
        Link: StoredForm("Link", ("column", "parent", "parent_column", "unique_by_constraint")),
        Limits: StoredForm("Limits", ("max_groups", "max_rows", "max_rows_in_all")),
    },
    {
        Neighbours.ADD_REMOVE: "ADD_REMOVE",
        Neighbours.REPLACE_ONE: "REPLACE_ONE",
        Provenance.PUBLIC: "PUBLIC",
        Provenance.POLICY: "POLICY",
        Provenance.ESTIMATED: "ESTIMATED",
        Kind.BOOLEAN: "BOOLEAN",
        Kind.INTEGER: "INTEGER",
        Kind.DECIMAL: "DECIMAL",
        Kind.FLOAT: "FLOAT",
        Kind.TEXT: "TEXT",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMP",
    },
)
"""The stored forms of what an owner declares of a table; see `tacit.plan.canonical`."""


def policy_of(population: Population, tables: Iterable[Table]) -> str:
    """The version of what is declared: another bound, key or limit gives another.

    Where a table or its copy lives is no part of it, nor which state it is in, which epochs
    tell.
    """
    facts = (population, *(_declared(table) for table in tables))
    return sha256(f"tacit policy 1\n{text(facts, DECLARATIONS)}".encode()).hexdigest()


def epochs_of(tables: Iterable[Table]) -> tuple[str, ...]:
    """The public states of all tables that a question reads, public tables among them."""
    return tuple(f"{table.name} {table.epoch.label}" for table in tables)


def tables_of(catalog: Catalog, names: Iterable[str]) -> tuple[Table, ...]:
    """The tables of those names, each once, in the order of their names."""
    return tuple(catalog.table(name) for name in sorted(set(names)))


def _declared(table: Table) -> tuple[object, ...]:
    """The declared facts of a table; whether it has a copy is none of them.

    Chains of version 0.1.0 hold digests of what is made here, so that its form stays: a copy
    stands as None for private tables, and what has come since is there only where it is said.
    """
    if isinstance(table, PublicTable):
        return (table.name, table.schema, *_plugin(table))
    facts = (table.name, table.population, table.schema, table.unit, table.limits)
    later = ("in place",) if table.in_place else ()
    return (*facts, table.row_key, None, *later, *_plugin(table))


def _plugin(table: Table) -> tuple[str, ...]:
    """The plug-in that reads a table, where there is one."""
    return () if table.location.plugin is None else (f"plug-in {table.location.plugin}",)
