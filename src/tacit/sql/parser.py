"""The parser: from the SQL text of a question to its plan.

`parse` checks the text and its syntax tree against limits and the allow-list. `SelectList` then
collects the keys and measures that the parts of the SELECT use, and translates SELECT, HAVING,
ORDER BY and LIMIT into post-processing. The SQL text is not used outside of this file: engines
run plans.
"""

import re

from sqlglot import exp
from sqlglot import parse as read
from sqlglot.errors import SqlglotError

from tacit.core import Catalog
from tacit.errors import InvalidValue
from tacit.plan import LARGEST_PART, Constant, Expression, Field, not_too_large, source_of
from tacit.plan import plan as nodes
from tacit.sql.allow_list import admit
from tacit.sql.expression import AGGREGATES, aggregate, expression
from tacit.sql.functions import set_current_date
from tacit.sql.grouping_sets import GROUPINGS, grouping, name_sets, read_grouping_sets
from tacit.sql.relation import NameScope, rows_of

WHOLE = re.compile("[0-9]{1,18}")


# Keys, measures and post-processing ----------------------------------------------------------


class SelectList:
    """A collector of the keys and measures that the parts of a SELECT use, each once."""

    def __init__(self, names: NameScope, unit: str) -> None:
        self._names = names
        self._unit = unit
        self._keys: dict[Expression, str] = {}
        self._measures: dict[nodes.Aggregate, str] = {}
        self._aliases: dict[str, exp.Expr] = {}
        self._shown: dict[str, Expression] = {}

    def plan(self, select: exp.Select, relation: nodes.Relation) -> nodes.Plan:
        """Return the plan of ``select`` over the rows of ``relation``."""
        self._aliases = {
            node.alias: node.this for node in select.expressions if isinstance(node, exp.Alias)
        }
        sets = name_sets(read_grouping_sets(select.args.get("group")), self._key_name)
        outputs = tuple(
            self._output(node, place) for place, node in enumerate(select.expressions)
        )
        having = select.args.get("having")
        order = select.args.get("order")
        post = nodes.Post(
            outputs,
            None if having is None else self._translate(having.this),
            () if order is None else tuple(map(self._order, order.expressions)),
            _limit(select),
        )
        keys = tuple(nodes.GroupKey(name, key) for key, name in self._keys.items())
        measures = tuple(
            nodes.NamedAggregate(name, part) for part, name in self._measures.items()
        )
        return nodes.Plan(relation, keys, measures, post, sets)

    def _key_name(self, node: exp.Expr) -> str:
        """Return the name of a key of GROUP BY, and remember the key."""
        return self._keys.setdefault(self._key(node), f"key {len(self._keys)}")

    def _key(self, node: exp.Expr) -> Expression:
        """Return a key of GROUP BY: a column, an expression, or the definition of an alias."""
        if isinstance(node, exp.Column) and not node.table and self._alias(node) is not None:
            node = self._aliases[node.name]
        found = expression(node, self._names)
        if isinstance(found, Constant):
            raise InvalidValue("GROUP BY does not support constants; write a column's name.")
        return found

    def _output(self, node: exp.Expr, place: int) -> nodes.Output:
        """Return a column of the answer, and remember its alias for the columns after it."""
        made = nodes.Output(_name(node, place), self._translate(_inner(node)))
        if isinstance(node, exp.Alias):
            self._shown[made.name] = made.expression
        return made

    def _alias(self, node: exp.Column) -> exp.Expr | None:
        """Return the definition of an alias, unless a column of the rows has that name."""
        known = any(node.name in columns for columns in self._names.tables.values())
        return None if known else self._aliases.get(node.name)

    def _translate(self, node: exp.Expr) -> Expression:
        """Return the expression of ``node`` over released columns."""
        return expression(node, self._leaf)

    def _leaf(self, node: exp.Expr) -> Expression | None:
        """Translate keys and aggregates into released columns; None for other nodes."""
        if isinstance(node, AGGREGATES):
            found = aggregate(node, self._names, self._unit)
            return Field(self._measures.setdefault(found, f"measure {len(self._measures)}"))
        if isinstance(node, GROUPINGS):
            return grouping([self._name_of_grouped(each) for each in node.expressions])
        if isinstance(node, exp.Column) and not node.table and self._alias(node) is not None:
            return self._output_named(node.name)
        if isinstance(node, exp.Paren) or self._is_released(node):
            return None
        wanted = expression(node, self._names)
        if wanted in self._keys:
            return Field(self._keys[wanted])
        if isinstance(wanted, Constant):
            return wanted
        if isinstance(node, exp.Column):
            raise InvalidValue(
                f"{node.name!r} must be in GROUP BY or be the argument of an aggregate."
            )
        return None

    def _is_released(self, node: exp.Expr) -> bool:
        """Return whether a part of ``node`` is an aggregate or an alias of an output."""
        named = (
            not column.table and self._alias(column) for column in node.find_all(exp.Column)
        )
        return node.find(*AGGREGATES, *GROUPINGS) is not None or any(named)

    def _name_of_grouped(self, node: exp.Expr) -> str:
        """Return the name of the key that is the argument of GROUPING."""
        found = self._keys.get(self._key(node))
        if found is None:
            raise InvalidValue("The argument of GROUPING must be a key of GROUP BY.")
        return found

    def _output_named(self, name: str) -> Expression:
        """Return the expression of an earlier output; an output cannot use itself."""
        if name not in self._shown:
            raise InvalidValue(
                f"{name!r} is used before it is defined; define it in an earlier column."
            )
        return not_too_large(self._shown[name], LARGEST_PART)

    def _order(self, node: exp.Expr) -> nodes.OrderBy:
        wanted = self._translate(node.this)
        if isinstance(wanted, Constant):
            raise InvalidValue("ORDER BY does not support constants; write a column's name.")
        return nodes.OrderBy(wanted, bool(node.args.get("desc")))


def _inner(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Star):
        raise InvalidValue("Rows are not released; ask for aggregates, such as COUNT(*).")
    return node.this if isinstance(node, exp.Alias) else node


def _name(node: exp.Expr, place: int) -> str:
    """Return the name of a column of the answer."""
    named = isinstance(node, exp.Alias | exp.Column)
    return node.alias_or_name if named else f"column_{place + 1}"


def _limit(select: exp.Select) -> int | None:
    limit = select.args.get("limit")
    if limit is None:
        return None
    number = limit.expression
    plain = isinstance(number, exp.Literal) and not number.is_string
    if not plain or not WHOLE.fullmatch(str(number.this)):
        raise InvalidValue("LIMIT must be a constant integer with at most 18 digits.")
    return int(number.this)


# Parsing -------------------------------------------------------------------------------------

ODD = re.compile("[\0\ud800-\udfff]")
"""Characters that are refused: NUL, which ends a text for some programs, and surrogates, which
cannot be encoded."""

LONGEST_TEXT = 20_000
"""Largest number of characters of a question."""

DEEPEST_TREE = 100
"""Largest depth of a syntax tree; a deeper one could exhaust the stack."""


def parse(text: str, catalog: Catalog) -> nodes.Plan:
    """Return the plan of the question ``text``, or raise `InvalidValue` with the reason.

    Guarantee: the result is a function of the text and the catalogue; no engine is asked.
    """
    select = _select(text)
    set_current_date(select, catalog)
    rows = rows_of(select, catalog, {})
    answer = SelectList(rows.names, source_of(rows.relation, catalog).unit)
    return answer.plan(select, rows.relation)


def _select(text: str) -> exp.Select:
    if len(text) > LONGEST_TEXT or ODD.search(text):
        raise InvalidValue(
            f"A question must have at most {LONGEST_TEXT} characters, and must not contain NUL "
            "or surrogates."
        )
    try:
        statements = [tree for tree in read(text, read="duckdb") if tree is not None]
    # compiled versions of sqlglot raise TypeError for some invalid texts
    except (SqlglotError, RecursionError, TypeError) as error:
        raise InvalidValue(
            "SQL syntax error: the question cannot be parsed. Check its keywords, commas, "
            "quotes and parentheses."
        ) from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise InvalidValue(
            "A question must be one SELECT statement, such as SELECT COUNT(*) FROM visits."
        )
    select = statements[0]
    _check_depth(select)
    admit(select)
    return select


def _check_depth(tree: exp.Expr) -> None:
    level: list[exp.Expr] = [tree]
    for _ in range(DEEPEST_TREE):
        level = [child for node in level for child in node.iter_expressions()]
        if not level:
            return
    raise InvalidValue("This question is nested too deeply; simplify its expressions.")
