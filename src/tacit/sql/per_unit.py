"""A query below that aggregates: a row for each unit, and for each of its groups."""

from sqlglot import exp

from tacit.errors import InvalidValue
from tacit.plan.aggregate import Aggregate
from tacit.plan.expression import Expression, Field
from tacit.plan.relation import BELOW, Filter, PerUnit, Relation, UnitValue
from tacit.plan.size import LARGEST_PART, not_too_large
from tacit.sql.aggregate import AGGREGATES, aggregate
from tacit.sql.expression import expression
from tacit.sql.names import Columns, Names


def aggregates(query: exp.Select) -> bool:
    """Whether ``query`` aggregates."""
    parts = (query.args.get("group"), query.args.get("having"))
    asked = (node.find(*AGGREGATES) is not None for node in query.expressions)
    return any(part is not None for part in parts) or any(asked)


class UnitRows:
    """Gathers what a query below computes of each unit's rows, each once."""

    def __init__(self, relation: Relation, names: Names, unit: str) -> None:
        self._relation = relation
        self._names = names
        self._unit = unit
        self._keys: list[str] = []
        self._values: dict[Aggregate, str] = {}
        self._shown: dict[str, Expression] = {}

    def read(self, query: exp.Select) -> tuple[Relation, Columns]:
        """The relation that ``query`` makes, and what its columns stand for."""
        group = query.args.get("group")
        asked = [] if group is None else [self._key(node, query) for node in group.expressions]
        if Field(self._unit) not in asked:
            raise InvalidValue(
                "A query below that aggregates has rows of one unit each; write GROUP BY "
                f"{self._unit}, and other columns after it."
            )
        self._keys = [field.name for field in asked]
        for node in query.expressions:
            name, column = self._column(node)
            if name in self._shown:
                raise InvalidValue(f"Columns have distinct names, and two are called {name!r}.")
            self._shown[name] = column
        having = query.args.get("having")
        wanted = None if having is None else expression(having.this, self._leaf)
        keys = tuple(dict.fromkeys(name for name in self._keys if name != self._unit))
        values = tuple(UnitValue(name, part) for part, name in self._values.items())
        made: Relation = PerUnit(self._relation, keys, values)
        return (made if wanted is None else Filter(made, wanted)), self._shown

    def _key(self, node: exp.Expr, query: exp.Select) -> Field:
        if self._is_alias(node):
            called = {each.alias: each.this for each in query.expressions if each.alias}
            node = called.get(node.name, node)
        found = expression(node, self._names)
        if not isinstance(found, Field):
            raise InvalidValue(
                "GROUP BY in a query below names columns of its datasets; an expression can be "
                "a group of the question itself."
            )
        return found

    def _is_alias(self, node: exp.Expr) -> bool:
        """Whether ``node`` can only be the name of an output: the rows have no such column."""
        known = any(node.name in columns for columns in self._names.tables.values())
        return isinstance(node, exp.Column) and not node.table and not known

    def _column(self, node: exp.Expr) -> tuple[str, Expression]:
        if not isinstance(node, exp.Alias | exp.Column):
            raise InvalidValue("Columns of a query below have names; name each with AS.")
        inner = node.this if isinstance(node, exp.Alias) else node
        found = not_too_large(expression(inner, self._leaf), LARGEST_PART)
        return node.alias_or_name, found

    def _leaf(self, node: exp.Expr) -> Expression | None:
        """Aggregates stand for the values of a unit, and columns for what it is grouped by."""
        if isinstance(node, AGGREGATES):
            found = aggregate(node, self._names, self._unit)
            name = self._values.setdefault(found, f"value_{len(self._values)}")
            return Field(f"{BELOW}.{name}")
        if not isinstance(node, exp.Column):
            return None
        if self._is_alias(node) and node.name in self._shown:
            return self._shown[node.name]
        column = self._names(node)
        if isinstance(column, Field) and column.name in self._keys:
            return column
        raise InvalidValue(f"{node.name!r} is neither an aggregate nor in GROUP BY.")
