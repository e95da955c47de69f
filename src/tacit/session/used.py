"""The declarations that a stream uses: what its charge, its key and its releases rest on.

A stream lives for months, and meanwhile owners declare other tables and columns. A change that
the stream does not use must neither charge it again nor draw it again; a change that it does
use must not pass unnoticed, because its price and its noise rest on the old declaration. So a
stream is known by the facts that it uses: the protected unit, and for each table that it reads
the way to the unit, the limits, and what is declared of the columns that occur in it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from hashlib import sha256

from tacit.core.catalog import Catalog
from tacit.core.dataset import Dataset, Link
from tacit.core.population import Population
from tacit.project.facts import Fact, facts_by_subject


def used_facts(
    asked: object, catalog: Catalog, population: Population, tables: Iterable[str]
) -> tuple[str, ...]:
    """Return what is declared of ``tables`` and used by ``asked``, a plan or a stream.

    Guarantee: whoever changes the unit, the way to it, the limits of one of the tables, or
    anything that is declared of a column that ``asked`` names, changes these facts.
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
            or _named(column, words)
            or column in _on_the_way(fact, names, catalog)
        ):
            found.append(fact.text)
    return (found[0], *sorted(found[1:]))


def used_policy(facts: tuple[str, ...]) -> str:
    """Return the version of the declarations that are used, as one short text."""
    return sha256("\n".join(("tacit policy 2", *facts)).encode()).hexdigest()


def _named(column: str, words: Iterable[str]) -> bool:
    """Whether a word names the column, by itself or behind its table; names may hold dots."""
    return any(word == column or word.endswith(f".{column}") for word in words)


def _on_the_way(fact: Fact, names: frozenset[str], catalog: Catalog) -> set[str]:
    """Return the columns of a fact's table that lead to the unit, or order a unit's rows."""
    found, name = set[str](), fact.table
    for other in names:
        table = catalog.table(other)
        if not isinstance(table, Dataset):
            continue
        if other == name:
            found |= {table.unit.column, *([table.row_key] if table.row_key else [])}
        if isinstance(table.unit, Link) and table.unit.parent == name:
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
