"""What a catalogue says about one population, a line a fact: what owners declare, in words."""

from collections.abc import Iterator
from dataclasses import dataclass

from tacit.core.catalog import Catalog
from tacit.core.column import Column
from tacit.core.dataset import Dataset, UnitColumn
from tacit.core.public_table import PublicTable
from tacit.numeric.exact import plain


def facts_of(catalog: Catalog, population: str) -> tuple[str, ...]:
    """All that is declared of the population's tables and of the public ones, in order.

    Guarantee: catalogues with other bounds, keys, limits, ways to the unit or epochs have other
    facts; where a table or its copy lives is none.
    """
    return tuple(sorted(fact.text for fact in facts_by_subject(catalog, population)))


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is declared: of which table, of which of its columns if any, in words.

    Names may hold dots and colons, so that a subject is never read out of the words.
    """

    table: str
    column: str | None
    text: str
    is_state: bool = False
    """Whether it says which state of the table is read, or where, and nothing of what it is."""


def facts_by_subject(catalog: Catalog, population: str) -> tuple[Fact, ...]:
    """The facts of `facts_of`, each with what it is about."""
    private = [each for each in catalog.datasets if each.population == population]
    tables: list[Dataset | PublicTable] = [*private, *catalog.public]
    found: list[Fact] = []
    for table in tables:
        found += [Fact(table.name, None, text) for text in _table(table)]
        found += [Fact(table.name, None, text, is_state=True) for text in _state(table)]
        for column in table.schema.columns:
            said = f"{table.name}.{column.name}: {_column(column)}"
            found.append(Fact(table.name, column.name, said))
    return tuple(found)


def _state(table: Dataset | PublicTable) -> Iterator[str]:
    if isinstance(table, Dataset) and table.in_place:
        yield f"{table.name}: served in place"
    yield f"{table.name}: epoch {table.epoch.label!r}"


def _table(table: Dataset | PublicTable) -> Iterator[str]:
    if table.location.plugin is not None:
        yield f"{table.name}: read by the plug-in {table.location.plugin}"
    if isinstance(table, Dataset):
        way = table.unit
        if isinstance(way, UnitColumn):
            yield f"{table.name}: {way.column} names the unit{_one_row(way)}"
        else:
            kept = "kept unique" if way.unique_by_constraint else "said to be unique"
            yield (
                f"{table.name}: {way.column} leads to {way.parent}.{way.parent_column}, {kept}"
            )
        limits = table.limits
        yield f"{table.name}: at most {limits.max_groups} groups of {limits.max_rows} rows"
        if limits.max_rows_in_all is not None:
            yield f"{table.name}: at most {limits.max_rows_in_all} rows of a unit in all"
        if table.row_key is not None:
            yield f"{table.name}: {table.row_key} tells the rows of a unit apart"
    else:
        yield f"{table.name}: about nobody"
        if table.lookup:
            rows = f"at most {table.fan_out} rows for a value"
            yield f"{table.name}: joined by {', '.join(table.lookup)}, {rows}"


def _one_row(way: UnitColumn) -> str:
    if not way.one_row:
        return ""
    return f", once each, {'kept' if way.unique_by_constraint else 'said to be'} unique"


def _column(column: Column) -> str:
    said = [column.kind.value]
    if column.step is not None:
        said.append(f"steps of {plain(column.step)}")
    if column.bounds is not None:
        ends = f"{plain(column.bounds.lower)} to {plain(column.bounds.upper)}"
        said.append(f"from {ends} ({column.bounds.provenance.name.lower()})")
    if column.keys is not None:
        keys = ", ".join(map(repr, column.keys.values))
        said.append(f"one of {keys} ({column.keys.provenance.name.lower()})")
    return ", ".join(said)
