"""F-P12: a table is recorded where one of its identities is, although another one is new."""

from collections.abc import Callable
from typing import Any

PLACE = "tacit.session.changes:is_recorded"
CAUGHT_BY = (
    "tests/edges/test_declared_tables.py::"
    "test_rows_that_come_from_another_table_bring_their_charges"
)
SHOWN = "epsilon spent on rows that another population had: 0 (wanted 2.5) short"

Rule = Callable[..., bool]


def bug(_: Rule) -> Rule:
    def is_recorded(catalog: Any, population: str, tables: Any, declared: Any) -> bool:
        mine = [each.name for each in catalog.datasets if each.population == population]
        return all(set(declared.tables).intersection(tables[name].all) for name in mine)

    return is_recorded
