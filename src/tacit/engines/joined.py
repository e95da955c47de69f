"""The rows of joined tables, by their meaning: every pair whose columns are equal."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tacit.core.catalog import Catalog
from tacit.core.public_table import PublicTable
from tacit.engines.gathered import gathered
from tacit.engines.meaning import Row
from tacit.plan.source import Beside, Source

Tables = Mapping[tuple[str, ...], Sequence[Row]]
"""Rows by the place of their table."""


def joined(source: Source, catalog: Catalog, tables: Tables) -> list[Row]:
    """The rows of ``source``, with their columns called dataset.column."""

    def rows_of(name: str) -> list[Row]:
        rows = tables[catalog.table(name).location.table]
        return [{f"{name}.{column}": cell for column, cell in row.items()} for row in rows]

    if source.gathered is None:
        found = rows_of(source.dataset)
    else:
        found = gathered(source.gathered, joined(source.gathered.source, catalog, tables))
    for beside in source.beside:
        others = _looked_up(beside, rows_of(beside.dataset), catalog)
        names = catalog.table(beside.dataset).schema.names
        nothing: Row = dict.fromkeys(f"{beside.dataset}.{name}" for name in names)
        found = [
            {**row, **other}
            for row in found
            for other in _partners(row, beside, others) or ([nothing] if beside.outer else [])
        ]
    return found


def _partners(row: Row, beside: Beside, others: Sequence[Row]) -> list[Row]:
    """The rows that belong beside ``row``."""
    wanted = row[beside.left]
    return [other for other in others if wanted is not None and wanted == other[beside.right]]


def _looked_up(beside: Beside, rows: list[Row], catalog: Catalog) -> list[Row]:
    """Of a public table, no more rows for a value of the column than are declared."""
    table = catalog.table(beside.dataset)
    if not isinstance(table, PublicTable):
        return rows
    seen: Counter[object] = Counter()
    kept = []
    for row in rows:
        seen[row[beside.right]] += 1
        if seen[row[beside.right]] <= table.fan_out:
            kept.append(row)
    return kept
