"""DuckDB over synthetic tables, in memory or in a file, for audits and tests."""

from decimal import Decimal

import duckdb

from tacit.core import Catalog, Kind
from tacit.engines.duckdb import DuckDB, quoted_name
from tacit.engines.reference import Cell, Tables

WRITTEN = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INTEGER: "BIGINT",
    Kind.DECIMAL: "DECIMAL(18,2)",
    Kind.FLOAT: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}


class SyntheticDuckDB:
    """A database in memory, or in the file at ``path``, reused for many sets of tables.

    To open a new database takes longer than to answer a question. The name of a table is the
    last part of its location.
    """

    def __init__(self, path: str = ":memory:") -> None:
        self.connection = duckdb.connect(path, config={"threads": 1})
        self.engine = DuckDB(self.connection)

    def over(self, catalog: Catalog, tables: Tables) -> DuckDB:
        """Return the engine over ``tables``, which replace the tables of the previous call."""
        for dataset in catalog.tables:
            table = quoted_name(dataset.location.table[-1])
            columns = [
                f"{quoted_name(c.name)} {WRITTEN[c.kind]}" for c in dataset.schema.columns
            ]
            self.connection.execute(f"CREATE OR REPLACE TABLE {table} ({', '.join(columns)})")
            rows = tables[dataset.location.table]
            if rows:
                one = f"({', '.join('?' for _ in columns)})"
                cells = [
                    _as_parameter(row[name]) for row in rows for name in dataset.schema.names
                ]
                many = ", ".join([one] * len(rows))
                self.connection.execute(f"INSERT INTO {table} VALUES {many}", cells)  # noqa: S608
        return self.engine

    def close(self) -> None:
        """Close the database."""
        self.connection.close()


def _as_parameter(cell: Cell) -> Cell:
    """Return a cell as a parameter; a decimal is passed as text, with all its digits."""
    return format(cell, "f") if isinstance(cell, Decimal) else cell
