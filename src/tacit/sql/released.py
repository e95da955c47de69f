"""The translation of what is computed from released values: functions, windows, outer SELECTs.

`released_function` and `window_value` translate single nodes. `OuterSelect` translates a SELECT
whose FROM is a released question: it renames, computes, filters and sorts the rows of an
answer, and costs nothing.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from sqlglot import exp

from tacit.errors import InvalidValue, UnknownName
from tacit.plan import LARGEST_PART, Field, not_too_large, rewritten
from tacit.plan import every as every_node
from tacit.plan import expression as expr
from tacit.plan import plan as nodes
from tacit.sql.expression import AGGREGATES, COMPARISONS, OPERATIONS, expression

Translate = Callable[[exp.Expr], expr.Expression]
"""A function that translates a node over released values."""

# Functions -----------------------------------------------------------------------------------

ONE_ARGUMENT: dict[type[exp.Expr], expr.ReleasedFunction] = {
    exp.Floor: expr.ReleasedFunction.FLOOR,
    exp.Ceil: expr.ReleasedFunction.CEIL,
    exp.Abs: expr.ReleasedFunction.ABS,
}
FUNCTIONS = (*ONE_ARGUMENT, exp.Round, exp.Coalesce, exp.Nullif)
"""The nodes that are functions of released values."""

MOST_DIGITS = 18
"""Largest number of digits after the point to which released values are rounded."""


def released_function(node: exp.Expr, translate: Translate) -> expr.Expression | None:
    """Return a function of released values; None if ``node`` is something else."""
    function = ONE_ARGUMENT.get(type(node))
    if function is not None:
        return expr.OfReleased(function, (translate(node.this),))
    match node:
        case exp.Round():
            return expr.OfReleased(
                expr.ReleasedFunction.ROUND, (translate(node.this), *_digits(node))
            )
        case exp.Coalesce():
            parts = tuple(translate(each) for each in (node.this, *node.expressions))
            return expr.OfReleased(expr.ReleasedFunction.COALESCE, parts)
        case exp.Nullif():
            both = translate(node.this), translate(node.expression)
            return expr.OfReleased(expr.ReleasedFunction.NULLIF, both)
    if isinstance(node.this, exp.Expr) and isinstance(node.this.unnest(), exp.Floor):
        # of rows, FLOOR(x / 10) * 10 would be a bin
        if type(node) in OPERATIONS:
            both = translate(node.this), translate(node.expression)
            return expr.Arithmetic(OPERATIONS[type(node)], *both)
        if type(node) in COMPARISONS:
            both = translate(node.this), translate(node.expression)
            return expr.Compare(COMPARISONS[type(node)], *both)
        if isinstance(node, exp.Div):
            return expr.Divide(translate(node.this), translate(node.expression))
    return None


def _digits(node: exp.Round) -> tuple[expr.Constant, ...]:
    decimals = node.args.get("decimals")
    if decimals is None:
        return ()
    match expression(decimals, lambda _: None):
        case expr.Constant(bool()):
            pass
        case expr.Constant(int() as digits) if abs(digits) <= MOST_DIGITS:
            return (expr.Constant(digits),)
    raise InvalidValue(
        f"The digits of ROUND must be a constant integer up to {MOST_DIGITS}, as in "
        "ROUND(AVG(x), 2)."
    )


# Windows -------------------------------------------------------------------------------------

WINDOWED: dict[type[exp.Expr], expr.WindowFunction] = {
    exp.Sum: expr.WindowFunction.SUM,
    exp.Avg: expr.WindowFunction.MEAN,
    exp.Count: expr.WindowFunction.COUNT,
    exp.Min: expr.WindowFunction.LEAST,
    exp.Max: expr.WindowFunction.GREATEST,
    exp.RowNumber: expr.WindowFunction.ROW_NUMBER,
    exp.Rank: expr.WindowFunction.RANK,
    exp.DenseRank: expr.WindowFunction.DENSE_RANK,
    exp.Lag: expr.WindowFunction.EARLIER,
    exp.Lead: expr.WindowFunction.LATER,
}
RANKS = {expr.WindowFunction.RANK, expr.WindowFunction.DENSE_RANK}
MOVED = {expr.WindowFunction.EARLIER, expr.WindowFunction.LATER}
LARGEST_OFFSET = 1_000


def window_value(node: exp.Window, translate: Translate) -> expr.WindowValue:
    """Return the window function over released rows that ``node`` denotes."""
    call = node.this
    function = WINDOWED.get(type(call))
    if function is None or isinstance(call.args.get("this"), exp.Distinct):
        known = ", ".join(each.value for each in expr.WindowFunction)
        raise InvalidValue(f"OVER is supported after {known}, as in SUM(COUNT(*)) OVER ().")
    order = node.args.get("order")
    keys = tuple(
        expr.SortKey(
            translate(each.this),
            bool(each.args.get("desc")),
            bool(each.args.get("nulls_first")),
        )
        for each in (order.expressions if order is not None else ())
    )
    if function in RANKS | MOVED and not keys:
        raise InvalidValue(
            f"{function.value} needs an order, as in {function.value}"
            f"({'n' if function in MOVED else ''}) OVER (ORDER BY month)."
        )
    if call.args.get("default") is not None:
        raise InvalidValue(
            f"The third argument of {function.value} is not supported; write "
            f"COALESCE({function.value}(n) OVER (ORDER BY month), 0)."
        )
    counted = call.args.get("this")
    part = None if counted is None or isinstance(counted, exp.Star) else translate(counted)
    partition = tuple(translate(each) for each in node.args.get("partition_by") or ())
    return expr.WindowValue(
        function, part, partition, keys, _offset(call), _frame(node.args.get("spec"))
    )


def _offset(call: exp.Expr) -> int:
    offset = call.args.get("offset")
    return 1 if offset is None else _whole(offset)


def _whole(node: object) -> int:
    if isinstance(node, exp.Literal) and not node.is_string:
        written = str(node.this)
        if re.fullmatch("[0-9]{1,5}", written) and int(written) <= LARGEST_OFFSET:
            return int(written)
    raise InvalidValue(
        f"A number of rows in OVER, LAG or LEAD must be a constant integer up to "
        f"{LARGEST_OFFSET}."
    )


def _frame(spec: exp.Expr | None) -> tuple[int | None, int | None] | None:
    """Return how many rows a frame reaches back and forward; None for the usual frame."""
    if spec is None:
        return None
    start = _reach(spec.args.get("start"), spec.args.get("start_side"), "PRECEDING")
    end = _reach(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"), "FOLLOWING")
    if spec.args.get("kind") == "ROWS":
        return start, end
    if spec.args.get("kind") == "RANGE" and start is None and end in {0, None}:
        return None if end == 0 else (None, None)
    raise InvalidValue(
        "Frames are supported with ROWS, as in OVER (ORDER BY month ROWS BETWEEN 2 PRECEDING "
        "AND CURRENT ROW)."
    )


def _reach(bound: object, side: object, forward: str) -> int | None:
    """Return the number of rows to one side, which is below 0 on the other; None for all."""
    if bound == "CURRENT ROW":
        return 0
    if bound == "UNBOUNDED":
        if side != forward:
            raise InvalidValue(
                "A frame must begin with UNBOUNDED PRECEDING, or end with UNBOUNDED FOLLOWING."
            )
        return None
    return _whole(bound) if side == forward else -_whole(bound)


# SELECT over a released question -------------------------------------------------------------


def asks_aggregates(select: exp.Select) -> bool:
    """Return whether a SELECT aggregates rows; SUM(n) OVER () alone does not."""
    if any(select.args.get(part) is not None for part in ("group", "having")):
        return True
    return any(
        not (isinstance(found.parent, exp.Window) and found.arg_key == "this")
        for node in select.expressions
        for found in node.find_all(*AGGREGATES)
    )


class OuterSelect:
    """A SELECT over the outputs of a released question, which is called ``alias``."""

    def __init__(self, alias: str, below: tuple[nodes.Post, ...]) -> None:
        self._alias = alias
        self._below = below
        self._names = [output.name for output in below[0].outputs]
        self._shown: dict[str, expr.Expression] = {}

    def read(self, select: exp.Select, limit: int | None) -> nodes.Post:
        """Return the post-processing of ``select`` and of the question below it."""
        columns: list[nodes.Output] = []
        for place, node in enumerate(select.expressions):
            columns += self._outputs(node, place)
        where, order = select.args.get("where"), select.args.get("order")
        found = nodes.Post(
            tuple(columns),
            None if where is None else expression(where.this, self._leaf),
            tuple(map(self._order, order.expressions)) if order is not None else (),
            limit,
            self._below,
        )
        flat = flatten(found)
        return replace(flat, order=without_constants(flat.order))

    def read_union(self, order: exp.Order | None, limit: int | None) -> nodes.Post:
        """Return the rows of all parts of UNION ALL, sorted and limited."""
        keys = () if order is None else tuple(map(self._order, order.expressions))
        shown = tuple(nodes.Output(name, Field(name)) for name in self._names)
        return nodes.Post(shown, None, keys, limit, self._below)

    def _outputs(self, node: exp.Expr, place: int) -> list[nodes.Output]:
        if isinstance(node, exp.Star) or isinstance(node.this, exp.Star):
            return [nodes.Output(name, Field(name)) for name in self._names]
        named = isinstance(node, exp.Alias | exp.Column)
        name = node.alias_or_name if named else f"column_{place + 1}"
        made = nodes.Output(name, expression(node.unalias(), self._leaf))
        self._shown[name] = made.expression
        return [made]

    def _order(self, node: exp.Expr) -> nodes.OrderBy:
        column = node.this
        shown = self._shown.get(column.name) if isinstance(column, exp.Column) else None
        if isinstance(column, exp.Literal) and not column.is_string:
            number = _whole(column)
            if not 1 <= number <= len(self._names):
                raise InvalidValue(
                    f"ORDER BY {number} is not the number of a column: there are "
                    f"{len(self._names)}."
                )
            shown = Field(self._names[number - 1])
        wanted = expression(column, self._leaf) if shown is None else shown
        return sort_key(node, wanted, named=shown is not None)

    def _translate(self, node: exp.Expr) -> expr.Expression:
        return expression(node, self._leaf)

    def _leaf(self, node: exp.Expr) -> expr.Expression | None:
        if isinstance(node, exp.Window):
            return window_value(node, self._translate)
        if not isinstance(node, exp.Column):
            return released_function(node, self._translate)
        if node.table and node.table != self._alias:
            raise UnknownName(
                f"There is no table {node.table!r} in this question; the tables are: "
                f"{self._alias}."
            )
        if node.name in self._names:
            return Field(node.name)
        if not node.table and node.name in self._shown:
            return not_too_large(self._shown[node.name], LARGEST_PART)
        known = ", ".join(self._names)
        raise UnknownName(f"There is no column {node.name!r}; the columns are: {known}.")


def flatten(post: nodes.Post) -> nodes.Post:
    """Return ``post`` as one step, if the step below only renames, computes and filters."""
    if len(post.below) != 1:
        return post
    [below] = post.below
    if _passes_through(below):
        return replace(post, below=below.below)
    steps = below.order or below.limit is not None or below.below
    if steps or any(every_node(below, expr.WindowValue)):
        return post
    meant = {output.name: output.expression for output in below.outputs}
    made: nodes.Post = rewritten(
        replace(post, below=()), lambda field: not_too_large(meant[field.name], LARGEST_PART)
    )
    wanted = [each for each in (below.having, made.having) if each is not None]
    having = expr.And(tuple(wanted)) if len(wanted) > 1 else wanted[0] if wanted else None
    return not_too_large(replace(made, having=having))


def sort_key(node: exp.Expr, wanted: expr.Expression, *, named: bool) -> nodes.OrderBy:
    """Return the sort key of ORDER BY that sorts by ``wanted``; refuse a constant.

    A column that is ``named``, by its name or its number, may be a constant.
    """
    if isinstance(wanted, expr.Constant) and not named:
        raise InvalidValue("ORDER BY does not support constants; write a column's name.")
    descending, first = node.args.get("desc"), node.args.get("nulls_first")
    return nodes.OrderBy(wanted, bool(descending), bool(first))


def without_constants(order: Iterable[nodes.OrderBy]) -> tuple[nodes.OrderBy, ...]:
    """Return the sort keys that can sort: a column with one constant in all rows cannot.

    A constant that is printed in ORDER BY would be read as the number of a column.
    """
    return tuple(key for key in order if not isinstance(key.expression, expr.Constant))


def drop_unread(plan: nodes.Plan) -> nodes.Plan:
    """Return ``plan`` without the measures that no step of its post-processing reads.

    A SELECT around a question can leave out some of its aggregates. An aggregate that
    is not shown is not computed, released or charged.
    """
    read = _read_below(plan.post)
    measures = tuple(measure for measure in plan.measures if measure.name in read)
    if not measures:
        raise InvalidValue(
            "The question leaves out every aggregate of the query in FROM; show one of them, "
            "as in SELECT n FROM (SELECT COUNT(*) AS n FROM visits)."
        )
    return replace(plan, measures=measures)


def _read_below(post: nodes.Post) -> set[str]:
    """Return the names of the released columns that the lowest steps of ``post`` read."""
    if post.below:
        return set().union(*map(_read_below, post.below))
    return {field.name for field in every_node(post, Field)}


def _passes_through(post: nodes.Post) -> bool:
    """Return whether a step only passes on the rows of UNION ALL."""
    names = [output.name for output in post.below[0].outputs] if post.below else []
    return bool(post.below) and post == nodes.Post(
        tuple(nodes.Output(name, Field(name)) for name in names), below=post.below
    )
