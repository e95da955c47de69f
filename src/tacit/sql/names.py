"""Which names a SELECT can see: those of its tables, and of the queries below it."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from tacit.errors import UnknownName
from tacit.plan.expression import Expression

Columns = Mapping[str, Expression]
"""What each column of a table, or of a query below, stands for."""


@dataclass(frozen=True, slots=True)
class Names:
    """The columns that can be named, by the name of their table."""

    tables: Mapping[str, Columns]

    def __call__(self, node: exp.Expr) -> Expression | None:
        """What a column stands for; None for any other node."""
        if not isinstance(node, exp.Column):
            return None
        if node.table:
            return self._in(node.table, node.name)
        found = [columns for columns in self.tables.values() if node.name in columns]
        if len(found) > 1:
            places = ", ".join(name for name, cols in self.tables.items() if node.name in cols)
            raise UnknownName(f"{node.name!r} is in each of {places}; write which.")
        if not found:
            known = ", ".join(name for columns in self.tables.values() for name in columns)
            raise UnknownName(f"There is no column {node.name!r}; there are {known}.")
        return found[0][node.name]

    def beside(self, name: str, columns: Columns) -> "Names":
        """These names, and those of one more table."""
        if name in self.tables:
            raise UnknownName(
                f"Two tables of a question are called {name!r}; name one with AS."
            )
        return Names({**self.tables, name: columns})

    def _in(self, table: str, name: str) -> Expression:
        if table not in self.tables:
            known = ", ".join(self.tables)
            raise UnknownName(
                f"There is no table {table!r} in this question; there are {known}."
            )
        if name not in self.tables[table]:
            known = ", ".join(self.tables[table])
            raise UnknownName(f"{table!r} has no column {name!r}; it has {known}.")
        return self.tables[table][name]
