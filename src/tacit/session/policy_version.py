"""The policy version of a question: a hash of the declarations that its answer depends on.

A charge, its release and its key name the policy version. If an owner changes a bound, a key or
a limit, the version changes, so that the same question is a new one. A question depends on all
declarations of its tables. A stream depends on those that it uses.
"""

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from hashlib import sha256

from tacit import core
from tacit.plan import StoredForm, Vocabulary, text
from tacit.project import Fact, facts_by_subject

Table = core.Dataset | core.PublicTable

DECLARATIONS = Vocabulary(
    {
        core.Population: StoredForm("Population", ("name", "unit")),
        core.PrivacyUnit: StoredForm("PrivacyUnit", ("name", "neighbours")),
        core.Schema: StoredForm("Schema", ("columns",)),
        core.Column: StoredForm(
            "Column",
            ("name", "kind", "bounds", "keys", "step"),
            ("max_total", "total_profile", "stored", "zone"),
        ),
        core.Bounds: StoredForm("Bounds", ("lower", "upper", "provenance")),
        core.Keys: StoredForm("Keys", ("values", "provenance"), ("complete",)),
        core.UnitColumn: StoredForm(
            "UnitColumn", ("column", "one_row", "unique_by_constraint")
        ),
        core.Link: StoredForm(
            "Link", ("column", "parent", "parent_column", "unique_by_constraint")
        ),
        core.Limits: StoredForm(
            "Limits", ("max_groups", "max_rows", "max_rows_in_all"), ("max_length",)
        ),
    },
    {
        core.Neighbours.ADD_REMOVE: "ADD_REMOVE",
        core.Neighbours.REPLACE_ONE: "REPLACE_ONE",
        core.Provenance.PUBLIC: "PUBLIC",
        core.Provenance.POLICY: "POLICY",
        core.Provenance.ESTIMATED: "ESTIMATED",
        core.Kind.BOOLEAN: "BOOLEAN",
        core.Kind.INTEGER: "INTEGER",
        core.Kind.DECIMAL: "DECIMAL",
        core.Kind.FLOAT: "FLOAT",
        core.Kind.TEXT: "TEXT",
        core.Kind.DATE: "DATE",
        core.Kind.TIMESTAMP: "TIMESTAMP",
    },
)
"""The stored forms of the declarations of a table; see `tacit.plan.canonical_form`."""


def policy_of(population: core.Population, tables: Iterable[Table]) -> str:
    """Return the policy version: it changes with every declared bound, key or limit.

    It does not depend on where a table or its copy is stored, nor on the epoch of a table.
    """
    facts = (population, *(_declared_facts(table) for table in tables))
    return sha256(f"tacit policy 1\n{text(facts, DECLARATIONS)}".encode()).hexdigest()


def epochs_of(tables: Iterable[Table]) -> tuple[str, ...]:
    """Return the epoch of each table that a question reads, including public tables."""
    return tuple(f"{table.name} {table.epoch.label}" for table in tables)


def tables_of(catalog: core.Catalog, names: Iterable[str]) -> tuple[Table, ...]:
    """Return the tables with these names, each once, sorted by name."""
    return tuple(catalog.table(name) for name in sorted(set(names)))


def _declared_facts(table: Table) -> tuple[object, ...]:
    """Return the declared facts of a table. They do not say whether the table has a copy.

    Chains of version 0.1.0 contain digests of this tuple, so its form must not change: a
    private table has None in the place of its copy, and a fact that was introduced later is
    present only if an owner has declared it.
    """
    read = _conversions(table)
    if isinstance(table, core.PublicTable):
        return (table.name, table.schema, *read, *_plugin(table))
    facts = (table.name, table.population, table.schema, table.unit, table.limits)
    later = ["in place"] if table.in_place else []
    if table.limits.max_length is not None:
        later.append(f"length {table.limits.max_length}")
    if table.min_people is not None:
        later.append(f"cells of {table.min_people}")
    later += [
        f"totals of {column.name!r} up to {column.max_total}"
        for column in table.schema.columns
        if column.max_total is not None
    ]
    return (*facts, table.row_key, None, *later, *read, *_plugin(table))


def _conversions(table: Table) -> tuple[str, ...]:
    """Return the stored types and zones of columns that are converted when they are read."""
    return tuple(
        f"{column.name!r} stored as {column.stored.value}"
        if column.stored
        else f"{column.name!r} in the zone {column.zone!r}"
        for column in table.schema.columns
        if column.stored is not None or column.zone is not None
    )


def _plugin(table: Table) -> tuple[str, ...]:
    """Return the plug-in that reads a table, as a tuple that is empty without a plug-in."""
    return () if table.location.plugin is None else (f"plug-in {table.location.plugin}",)


# ------------------------------------------------------------------ used declarations
# The declarations that a stream uses: its charge, its key and its releases depend on them.
#
# A stream runs for months, and in that time owners declare other tables and columns. A change
# that the stream does not use must neither charge it again nor draw its noise again. A change
# that it does use must be noticed, because its price and its noise depend on the old
# declaration. So a stream is identified by the facts that it uses: the privacy unit, and for
# each table that it reads the path to the unit, the limits, and the declarations of the
# columns that occur in the stream.


def used_facts(
    asked: object, catalog: core.Catalog, population: core.Population, tables: Iterable[str]
) -> tuple[str, ...]:
    """Return the declarations of ``tables`` that ``asked``, a plan or a stream, uses.

    Guarantee: these facts change with the unit, the path to it, the limits of one of the
    tables, and every declaration of a column that ``asked`` names.
    """
    words, names = tuple(set(_words(asked))), frozenset(tables)
    unit = population.unit
    found = [f"{population.name}: one {unit.name}, {unit.neighbours.value}"]
    for fact in facts_by_subject(catalog, population.name):
        if fact.table not in names or fact.is_state:
            continue
        column = fact.column
        if (
            column is None
            or _is_named(column, words)
            or column in _on_the_way(fact, names, catalog)
        ):
            found.append(fact.text)
    return (found[0], *sorted(found[1:]))


def used_policy(facts: tuple[str, ...]) -> str:
    """Return the policy version of the used declarations: a hash of ``facts``."""
    return sha256("\n".join(("tacit policy 2", *facts)).encode()).hexdigest()


def _is_named(column: str, words: Iterable[str]) -> bool:
    """Return whether a word is the column's name, alone or as ``table.column``.

    A column's name may itself contain dots, so a word is not split at its dots.
    """
    return any(word == column or word.endswith(f".{column}") for word in words)


def _on_the_way(fact: Fact, names: frozenset[str], catalog: core.Catalog) -> set[str]:
    """Return the columns of a fact's table on the path to the unit, and its row key."""
    found, name = set[str](), fact.table
    for other in names:
        table = catalog.table(other)
        if not isinstance(table, core.Dataset):
            continue
        if other == name:
            found |= {table.unit.column, *([table.row_key] if table.row_key else [])}
        if isinstance(table.unit, core.Link) and table.unit.parent == name:
            found.add(table.unit.parent_column)
    return found


def _words(part: object) -> Iterator[str]:
    """Yield every text in a tree of frozen values."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, tuple | list | frozenset | set):
        for each in part:
            yield from _words(each)
    elif isinstance(part, dict):
        yield from _words(tuple(part.items()))
    elif is_dataclass(part) and not isinstance(part, type):
        for field in fields(part):
            yield from _words(getattr(part, field.name))
