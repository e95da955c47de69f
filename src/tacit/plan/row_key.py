"""What tells the rows of a unit apart, where every table says so."""

from tacit.core.catalog import Catalog
from tacit.core.column import Kind
from tacit.plan.source import Source


def row_keys(source: Source, catalog: Catalog) -> tuple[tuple[str, Kind], ...]:
    """The columns that tell joined rows of a unit apart; none where a table has no such one.

    Rows beside public ones, and rows that were gathered, have none.
    """
    if source.gathered is not None or any(map(catalog.is_public, source.datasets)):
        return ()
    found = []
    for name in source.datasets:
        dataset = catalog.dataset(name)
        if dataset.row_key is None:
            return ()
        found.append((f"{name}.{dataset.row_key}", dataset.schema[dataset.row_key].kind))
    return tuple(found)
