"""The rows of joined tables, by their meaning: every pair whose columns are equal."""

from collections.abc import Mapping, Sequence

from tacit.core.catalog import Catalog
from tacit.engines.gathered import gathered
from tacit.engines.meaning import Row
from tacit.plan.source import Source

Tables = Mapping[tuple[str, ...], Sequence[Row]]
"""Rows by the place of their table."""


def joined(source: Source, catalog: Catalog, tables: Tables) -> list[Row]:
    """The rows of ``source``, with their columns called dataset.column."""

    def rows_of(name: str) -> list[Row]:
        rows = tables[catalog.dataset(name).location.table]
        return [{f"{name}.{column}": cell for column, cell in row.items()} for row in rows]

    if source.gathered is None:
        found = rows_of(source.dataset)
    else:
        found = gathered(source.gathered, joined(source.gathered.source, catalog, tables))
    for beside in source.beside:
        others = rows_of(beside.dataset)
        found = [
            {**row, **other}
            for row in found
            for other in others
            if row[beside.left] is not None and row[beside.left] == other[beside.right]
        ]
    return found
