"""The parser: from the SQL text of a question to its plan.

`parse` checks the text and its syntax tree against limits and the allow-list, and
`to_normal_form` gives each construct one spelling. `SelectList` then
collects the keys and measures that the parts of the SELECT use, and translates SELECT, HAVING,
ORDER BY and LIMIT into post-processing. The SQL text is not used outside of this file: engines
run plans.
"""

import logging
import re
from dataclasses import replace

from sqlglot import exp
from sqlglot import parse as read
from sqlglot.errors import SqlglotError

from tacit.core import Catalog
from tacit.errors import InvalidValue, UnknownName
from tacit.plan import LARGEST_PART, Constant, Expression, Field, not_too_large, source_of
from tacit.plan import plan as nodes
from tacit.sql.allow_list import admit
from tacit.sql.compared_periods import compare_days
from tacit.sql.expression import AGGREGATES, aggregate, expression
from tacit.sql.functions import set_current_date
from tacit.sql.grouping_sets import GROUPINGS, grouping, name_sets, read_grouping_sets
from tacit.sql.normal_form import read_dates, respell, to_normal_form
from tacit.sql.per_unit_query import NameScope
from tacit.sql.public_rows import public_rows
from tacit.sql.relation import Below, rows_of, with_queries
from tacit.sql.released import (
    FUNCTIONS,
    OuterSelect,
    asks_aggregates,
    drop_unread,
    released_function,
    sort_key,
    window_value,
    without_constants,
)
from tacit.sql.union_all import merge_union

WHOLE = re.compile("[0-9]{1,18}")

logging.getLogger("sqlglot").addFilter(
    # a warning about a statement that is no SELECT repeats it, and questions are not logged
    lambda record: "contains unsupported syntax" not in record.getMessage()
)


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
            () if order is None else without_constants(map(self._order, order.expressions)),
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
        if isinstance(node, exp.Window):
            return window_value(node, self._translate)
        if isinstance(node, AGGREGATES):
            found = aggregate(node, self._names, self._unit)
            return Field(self._measures.setdefault(found, f"measure {len(self._measures)}"))
        if isinstance(node, GROUPINGS):
            return grouping([self._name_of_grouped(each) for each in node.expressions])
        if isinstance(node, exp.Column) and not node.table and self._alias(node) is not None:
            return self._output_named(node.name)
        if isinstance(node, exp.Paren):
            return None
        if self._is_released(node):
            return released_function(node, self._translate)
        wanted = self._row_value(node)
        if wanted in self._keys:
            return Field(self._keys[wanted])
        if isinstance(wanted, Constant):
            return wanted
        if isinstance(node, exp.Column):
            raise InvalidValue(
                f"{node.name!r} must be in GROUP BY or be the argument of an aggregate; add "
                f"GROUP BY {node.name}, and ask for an aggregate, such as COUNT(*)."
            )
        return released_function(node, self._translate)

    def _row_value(self, node: exp.Expr) -> Expression | None:
        """Return the value of ``node`` for a row; None for a function that rows do not have."""
        try:
            return expression(node, self._names)
        except UnknownName:
            raise
        except InvalidValue:
            if node.find(*FUNCTIONS) is None:
                raise
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
        key = node.this
        named = isinstance(key, exp.Column) and not key.table and key.name in self._shown
        wanted = self._output_named(key.name) if named else self._translate(key)
        return sort_key(node, wanted, named=named)


def _inner(node: exp.Expr) -> exp.Expr:
    if node.is_star and not isinstance(node, AGGREGATES):
        raise InvalidValue("Rows are not released; ask for aggregates, such as COUNT(*).")
    return node.this if isinstance(node, exp.Alias) else node


def _name(node: exp.Expr, place: int) -> str:
    """Return the name of a column of the answer."""
    named = isinstance(node, exp.Alias | exp.Column)
    return node.alias_or_name if named else f"column_{place + 1}"


def _limit(select: exp.Query) -> int | None:
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

MOST_QUERIES = 50
"""Largest number of subqueries and of queries in WITH. Each can read those before it, so that
the time to find their columns grows with the square of their number."""

DEEPEST_TREE = 100
"""Largest depth of a syntax tree; a deeper one could exhaust the stack."""


def parse(text: str, catalog: Catalog) -> nodes.Plan:
    """Return the plan of the question ``text``, or raise `InvalidValue` with the reason.

    Guarantee: the result is a function of the text and the catalogue; no engine is asked.
    """
    found = read_statement(text, catalog)
    if isinstance(found, nodes.Plan):
        return found
    raise InvalidValue(
        "This statement is answered by declarations alone, for nothing; here a question needs "
        "an aggregate, such as SELECT COUNT(*) FROM visits."
    )


def read_statement(text: str, catalog: Catalog) -> nodes.Plan | nodes.PublicRows:
    """Return the plan of a question, or the rows of a statement that needs no data.

    Guarantee: the result is a function of the text and the catalogue; no engine is asked.
    """
    tree = _tree(text)
    set_current_date(tree, catalog)
    to_normal_form(tree, catalog)
    free = public_rows(tree, catalog, _limit) if isinstance(tree, exp.Select) else None
    return _plan_of(tree, catalog, {}) if free is None else free


def _plan_of(query: exp.Query, catalog: Catalog, below: Below) -> nodes.Plan:
    """Return the plan of a question, which may be a SELECT over another question."""
    if isinstance(query, exp.Union):
        return _union_plan(query, catalog, with_queries(query, below))
    if not isinstance(query, exp.Select):
        raise InvalidValue("A question must be SELECT, or parts of it with UNION ALL.")
    inner = _released_below(query, below)
    if inner is not None:
        if query.args.get("distinct") is not None:
            raise InvalidValue(
                "SELECT DISTINCT is not supported over another question, because it would "
                "compare released rows; leave DISTINCT out."
            )
        asked, alias, known = inner
        plan = _plan_of(asked, catalog, known)
        post = OuterSelect(alias, (plan.post,)).read(query, _limit(query))
        return drop_unread(replace(plan, post=post))
    rows = rows_of(query, catalog, below)
    answer = SelectList(rows.names, source_of(rows.relation, catalog).unit)
    plan = answer.plan(query, rows.relation)
    if query.args.get("distinct") is not None:
        _check_distinct(plan)
    read = read_dates((plan.source, plan.keys, plan.measures), catalog)
    source, keys, measures = compare_days(read)
    return replace(plan, source=source, keys=keys, measures=measures)


def _released_below(select: exp.Select, below: Below) -> tuple[exp.Query, str, Below] | None:
    """Return the released question in FROM, its name, and the queries that it can use.

    The result is None if FROM has rows, of which the SELECT must ask for aggregates.
    """
    source = select.args.get("from_")
    if source is None or select.args.get("joins") or asks_aggregates(select):
        return None
    below = with_queries(select, below)
    table = source.this
    if isinstance(table, exp.Subquery):
        query, known = table.this, below
    elif isinstance(table, exp.Table) and table.name in below:
        query = below[table.name]
        known = query.meta["below"]
    else:
        return None
    if isinstance(query, exp.Select):
        released = asks_aggregates(query) or _released_below(query, known) is not None
        return (query, table.alias_or_name, known) if released else None
    return (query, table.alias_or_name, known) if isinstance(query, exp.Union) else None


def _union_plan(union: exp.Union, catalog: Catalog, below: Below) -> nodes.Plan:
    """Return the plan of UNION ALL: one question, and one charge."""
    plans = [_plan_of(part, catalog, below) for part in _union_parts(union)]
    made, posts = merge_union(plans)
    post = OuterSelect("", posts).read_union(union.args.get("order"), _limit(union))
    return replace(made, post=post)


def _union_parts(query: exp.Expr) -> list[exp.Query]:
    if isinstance(query, exp.Subquery) and not query.alias:
        return _union_parts(query.this)
    if not isinstance(query, exp.Union):
        if isinstance(query, exp.Select):
            return [query]
        raise InvalidValue("A part of UNION ALL must be a SELECT.")
    if query.args.get("distinct"):
        raise InvalidValue(
            "UNION is not supported, because it would compare released rows; write UNION ALL."
        )
    parts = _union_parts(query.this) + _union_parts(query.expression)
    if len(parts) > MOST_PARTS:
        raise InvalidValue(f"UNION ALL can have at most {MOST_PARTS} parts.")
    return parts


MOST_PARTS = 20
"""Largest number of parts of UNION ALL."""


def _check_distinct(plan: nodes.Plan) -> None:
    """Refuse DISTINCT unless it changes nothing, because all keys are shown."""
    shown = {output.expression for output in plan.post.outputs}
    if not all(Field(key.name) in shown for key in plan.keys):
        raise InvalidValue(
            "SELECT DISTINCT is supported if every column of GROUP BY is shown; add them, or "
            "leave DISTINCT out."
        )


def _tree(text: str) -> exp.Query:
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
    if len(statements) != 1 or not isinstance(statements[0], exp.Select | exp.SetOperation):
        raise InvalidValue(
            "A question must be one SELECT statement, such as SELECT COUNT(*) FROM visits."
        )
    tree = statements[0]
    _check_depth(tree)
    if len(list(tree.find_all(exp.Subquery, exp.CTE))) > MOST_QUERIES:
        raise InvalidValue(
            f"A question can have at most {MOST_QUERIES} subqueries and queries in WITH; write "
            "fewer."
        )
    respell(tree)
    admit(tree)
    return tree


def _check_depth(tree: exp.Expr) -> None:
    level: list[exp.Expr] = [tree]
    for _ in range(DEEPEST_TREE):
        level = [child for node in level for child in node.iter_expressions()]
        if not level:
            return
    raise InvalidValue("This question is nested too deeply; simplify its expressions.")
