"""The names of columns in a question, and subqueries that aggregate the rows of each unit.

`NameScope` finds the definition of a column by its name. `PerUnitQuery` translates a subquery
that aggregates to a `PerUnit` relation; it must group by the unit, or by a column of a link
that leads to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp

from tacit.core import Catalog, Dataset, Link
from tacit.errors import InvalidValue, UnknownName
from tacit.plan import LARGEST_PART, Expression, Field, every, not_too_large, source_of
from tacit.plan import plan as nodes
from tacit.sql.expression import AGGREGATES, aggregate, expression

# Names ---------------------------------------------------------------------------------------

Columns = Mapping[str, Expression]
"""The columns of a table or of a subquery, with their definitions."""


@dataclass(frozen=True, slots=True)
class NameScope:
    """The columns that a SELECT can use, by the name of their table."""

    tables: Mapping[str, Columns]

    def __call__(self, node: exp.Expr) -> Expression | None:
        """Return the definition of a column; None for any other node."""
        if not isinstance(node, exp.Column):
            return None
        if node.table:
            return self._in(node.table, node.name)
        found = [columns for columns in self.tables.values() if node.name in columns]
        if len(found) > 1:
            places = ", ".join(name for name, cols in self.tables.items() if node.name in cols)
            raise UnknownName(
                f"The column {node.name!r} is ambiguous; write the table's name before it, one "
                f"of: {places}."
            )
        if not found:
            known = ", ".join(name for columns in self.tables.values() for name in columns)
            raise UnknownName(f"There is no column {node.name!r}; the columns are: {known}.")
        return found[0][node.name]

    def beside(self, name: str, columns: Columns) -> "NameScope":
        """Return this scope with one more table."""
        if name in self.tables:
            raise UnknownName(
                f"Two tables of this question are called {name!r}; rename one with AS."
            )
        return NameScope({**self.tables, name: columns})

    def _in(self, table: str, name: str) -> Expression:
        if table not in self.tables:
            known = ", ".join(self.tables)
            raise UnknownName(
                f"There is no table {table!r} in this question; the tables are: {known}."
            )
        if name not in self.tables[table]:
            known = ", ".join(self.tables[table])
            raise UnknownName(
                f"The table {table!r} has no column {name!r}; its columns are: {known}."
            )
        return self.tables[table][name]


# Subqueries that aggregate -------------------------------------------------------------------


def aggregates(query: exp.Select) -> bool:
    """Return whether ``query`` has an aggregate, GROUP BY or HAVING."""
    parts = (query.args.get("group"), query.args.get("having"))
    asked = (node.find(*AGGREGATES) is not None for node in query.expressions)
    return any(part is not None for part in parts) or any(asked)


def _columns_of_one_unit(relation: nodes.Relation, catalog: Catalog) -> set[str]:
    """Return the columns of which each value belongs to one unit, by the declared links.

    These are both ends of each link: GROUP BY visits.patient groups the rows of one person. The
    unit is a key of the subquery in any case, so that a link whose values belong to several
    people makes more groups, and never groups of several people. The columns of a table that
    LEFT JOIN adds do not count: they are NULL for everybody without a match.
    """
    found: set[str] = set()
    added = {each.dataset for each in every(relation, nodes.LeftJoin)}
    for name in nodes.tables_in_scope(relation):
        table = catalog.table(name)
        if isinstance(table, Dataset) and isinstance(table.unit, Link) and name not in added:
            found |= {f"{name}.{table.unit.column}"}
            if table.unit.parent not in added:
                found |= {f"{table.unit.parent}.{table.unit.parent_column}"}
    return found


def _joined_to_unit(relation: nodes.Relation, catalog: Catalog) -> nodes.Relation:
    """Return ``relation`` joined along its links to the table that has the unit's column.

    A row without such a parent belongs to nobody, and is not counted in any question.
    """
    tables = nodes.tables_in_scope(relation)
    path = catalog.path_to_unit(tables[0])
    for child, parent in pairwise(path):
        if parent.name not in tables and isinstance(child.unit, Link):
            left = f"{child.name}.{child.unit.column}"
            relation = nodes.Join(relation, parent.name, left, child.unit.parent_column)
    return relation


class PerUnitQuery:
    """A collector of the keys and aggregates of a subquery that aggregates, each once."""

    def __init__(self, relation: nodes.Relation, names: NameScope, catalog: Catalog) -> None:
        self._relation = _joined_to_unit(relation, catalog)
        self._names = names
        self._unit = source_of(relation, catalog).unit
        self._owned = {self._unit, *_columns_of_one_unit(relation, catalog)}
        self._keys: list[str] = []
        self._values: dict[nodes.Aggregate, str] = {}
        self._shown: dict[str, Expression] = {}

    def read(self, query: exp.Select) -> tuple[nodes.Relation, Columns]:
        """Return the relation of the subquery ``query``, and its columns."""
        group = query.args.get("group")
        asked = [] if group is None else [self._key(node, query) for node in group.expressions]
        if not any(field.name in self._owned for field in asked):
            raise InvalidValue(
                "A subquery that aggregates must have the unit in its GROUP BY; write GROUP BY "
                f"{self._suggested_key()}, and other columns after it."
            )
        self._keys = [field.name for field in asked]
        for node in query.expressions:
            name, column = self._column(node)
            if name in self._shown:
                raise InvalidValue(
                    f"Two columns of a subquery are called {name!r}; rename one with AS."
                )
            self._shown[name] = column
        having = query.args.get("having")
        wanted = None if having is None else expression(having.this, self._leaf)
        keys = tuple(dict.fromkeys(name for name in self._keys if name != self._unit))
        values = tuple(nodes.UnitValue(name, part) for part, name in self._values.items())
        made: nodes.Relation = nodes.PerUnit(self._relation, keys, values)
        return (made if wanted is None else nodes.Filter(made, wanted)), self._shown

    def _key(self, node: exp.Expr, query: exp.Select) -> Field:
        if self._is_alias(node):
            called = {each.alias: each.this for each in query.expressions if each.alias}
            node = called.get(node.name, node)
        found = expression(node, self._names)
        if not isinstance(found, Field):
            raise InvalidValue(
                "GROUP BY in a subquery supports only columns of its datasets; group by an "
                "expression in the outer question."
            )
        return found

    def _suggested_key(self) -> str:
        """Return a key that the subquery lacks, as it can be written there."""
        shown = {
            column.name: f"{table}.{name}"
            for table, columns in self._names.tables.items()
            for name, column in columns.items()
            if isinstance(column, Field) and column.name in self._owned
        }
        return shown.get(self._unit, next(iter(shown.values()), self._unit))

    def _is_alias(self, node: exp.Expr) -> bool:
        """Return whether ``node`` can only be an alias: the rows have no such column."""
        known = any(node.name in columns for columns in self._names.tables.values())
        return isinstance(node, exp.Column) and not node.table and not known

    def _column(self, node: exp.Expr) -> tuple[str, Expression]:
        if not isinstance(node, exp.Alias | exp.Column):
            raise InvalidValue("A column of a subquery needs a name; name it with AS.")
        inner = node.this if isinstance(node, exp.Alias) else node
        found = not_too_large(expression(inner, self._leaf), LARGEST_PART)
        return node.alias_or_name, found

    def _leaf(self, node: exp.Expr) -> Expression | None:
        """Translate aggregates and group keys into columns of the subquery's result."""
        if isinstance(node, AGGREGATES):
            found = aggregate(node, self._names, self._unit)
            name = self._values.setdefault(found, f"value_{len(self._values)}")
            return Field(f"{nodes.BELOW}.{name}")
        if not isinstance(node, exp.Column):
            return None
        if self._is_alias(node) and node.name in self._shown:
            return self._shown[node.name]
        column = self._names(node)
        if isinstance(column, Field) and column.name in self._keys:
            return column
        raise InvalidValue(
            f"{node.name!r} must be in GROUP BY or be the argument of an aggregate."
        )
