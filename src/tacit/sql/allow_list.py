"""The part of SQL that Tacit supports, as an allow-list of syntax-tree nodes.

`admit` checks every node of a parsed query against the list. A node type or an argument that is
not listed is refused, so that a new version of the SQL parser can make more questions fail but
can never let new syntax through. Arguments are checked like nodes, because GROUP BY ALL and
FROM other.t are arguments. The words of refusals are in `tacit.sql.advice`. The file also
translates the names of date parts and periods.
"""

from sqlglot import exp

from tacit.errors import InvalidValue
from tacit.plan import DatePartName, Span
from tacit.sql.advice import LONGEST_NAME, refusal_of_argument, refusal_of_call, refusal_of_node

# Dates ---------------------------------------------------------------------------------------

FUNCTIONS: dict[type[exp.Expr], DatePartName] = {
    exp.Year: DatePartName.YEAR,
    exp.Quarter: DatePartName.QUARTER,
    exp.Month: DatePartName.MONTH,
    exp.Day: DatePartName.DAY,
    exp.DayOfMonth: DatePartName.DAY,
    exp.DayOfWeek: DatePartName.WEEKDAY,
    exp.DayOfWeekIso: DatePartName.ISO_WEEKDAY,
    exp.DayOfYear: DatePartName.DAY_OF_YEAR,
    exp.Week: DatePartName.WEEK,
    exp.WeekOfYear: DatePartName.WEEK,
    exp.Hour: DatePartName.HOUR,
    exp.Minute: DatePartName.MINUTE,
}
"""Functions that return a part of a date."""

PARTS = {part.value: part for part in DatePartName} | {
    "DAYOFWEEK": DatePartName.WEEKDAY,
    "DAYOFYEAR": DatePartName.DAY_OF_YEAR,
}
SPANS = {span.value: span for span in Span}


def part_of(node: exp.Expr) -> tuple[DatePartName, exp.Expr] | None:
    """Return the date part that ``node`` extracts and its argument; None for other nodes."""
    if type(node) in FUNCTIONS:
        return FUNCTIONS[type(node)], node.this
    if not isinstance(node, exp.Extract):
        return None
    if node.name not in PARTS or not isinstance(node.this, exp.Var):
        raise InvalidValue(
            f"EXTRACT supports only {', '.join(PARTS)}, as in EXTRACT(YEAR FROM day)."
        )
    return PARTS[node.name], node.expression


def span_of(node: exp.TimestampTrunc) -> Span:
    """Return the length of the periods of a DATE_TRUNC."""
    unit = node.args["unit"].name
    if unit not in SPANS:
        known = ", ".join(f"'{name.lower()}'" for name in SPANS)
        raise InvalidValue(f"DATE_TRUNC supports only {known}, as in DATE_TRUNC('month', day).")
    return SPANS[unit]


# The allow-list ------------------------------------------------------------------------------

BINARY = frozenset({"this", "expression"})

KNOWN: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset(
        {"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "with_"}
        | {"distinct"}
    ),
    exp.Union: frozenset({"this", "expression", "distinct", "order", "limit", "with_"}),
    exp.With: frozenset({"expressions"}),
    exp.CTE: frozenset({"this", "alias"}),
    exp.Subquery: frozenset({"this", "alias"}),
    exp.Join: frozenset({"this", "on", "kind", "side", "using"}),
    exp.Having: frozenset({"this"}),
    exp.Order: frozenset({"expressions"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.From: frozenset({"this"}),
    exp.Table: frozenset({"this", "alias", "db", "catalog"}),
    exp.TableAlias: frozenset({"this"}),
    exp.Where: frozenset({"this"}),
    exp.Group: frozenset({"expressions", "rollup", "cube"}),
    **dict.fromkeys(
        (
            exp.Rollup,
            exp.Cube,
            exp.GroupingSets,
            exp.Grouping,
            exp.GroupingId,
            exp.Tuple,
        ),
        frozenset({"expressions"}),
    ),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Column: frozenset({"this", "table", "db", "catalog"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Star: frozenset(),
    exp.Count: frozenset({"this", "big_int"}),
    exp.Distinct: frozenset({"expressions"}),
    exp.Sum: frozenset({"this"}),
    **dict.fromkeys(
        (
            exp.Avg,
            exp.Variance,
            exp.VariancePop,
            exp.Stddev,
            exp.StddevSamp,
            exp.StddevPop,
            exp.Median,
            exp.Min,
            exp.Max,
            exp.Floor,
            exp.Ceil,
            exp.Abs,
            exp.Sign,
            exp.Sqrt,
            exp.Ln,
            exp.Exp,
            exp.Upper,
            exp.Lower,
            exp.DataTypeParam,
            exp.Date,
            *FUNCTIONS,
            exp.Var,
        ),
        frozenset({"this"}),
    ),
    **dict.fromkeys(
        (
            exp.Corr,
            exp.CovarPop,
            exp.CovarSamp,
            exp.RegrSlope,
            exp.RegrIntercept,
            exp.RegrR2,
            exp.RegrCount,
            exp.RegrAvgx,
            exp.RegrAvgy,
        ),
        BINARY,
    ),
    exp.CountIf: frozenset({"this"}),
    exp.Extract: BINARY,
    exp.TimestampTrunc: frozenset({"this", "unit"}),
    exp.Quantile: frozenset({"this", "quantile"}),
    exp.PercentileCont: BINARY,
    exp.PercentileDisc: BINARY,
    exp.WithinGroup: BINARY,
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Boolean: frozenset({"this"}),
    exp.Null: frozenset(),
    exp.Cast: frozenset({"this", "to"}),
    exp.DataType: frozenset({"this", "expressions"}),
    exp.DataTypeParam: frozenset({"this"}),
    exp.Paren: frozenset({"this"}),
    exp.Neg: frozenset({"this"}),
    exp.Not: frozenset({"this"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Exists: frozenset({"this"}),
    exp.Like: BINARY | {"negate"},
    exp.ILike: BINARY | {"negate"},
    exp.Coalesce: frozenset({"this", "expressions"}),
    exp.Nullif: BINARY,
    exp.Round: frozenset({"this", "decimals"}),
    exp.Trunc: frozenset({"this", "decimals"}),
    exp.Greatest: frozenset({"this", "expressions", "ignore_nulls"}),
    exp.Least: frozenset({"this", "expressions", "ignore_nulls"}),
    exp.Pow: BINARY,
    exp.Interval: frozenset({"this", "unit"}),
    exp.DateAdd: BINARY,
    exp.DateSub: BINARY,
    exp.DateDiff: BINARY | {"unit", "date_part_boundary"},
    exp.DateTrunc: frozenset({"this", "unit"}),
    exp.CurrentDate: frozenset(),
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.Left: BINARY,
    exp.Trim: BINARY | {"position"},
    exp.Concat: frozenset({"expressions", "safe", "coalesce"}),
    exp.DPipe: BINARY | {"safe"},
    exp.Is: BINARY,
    exp.Filter: BINARY,
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "over"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    exp.RowNumber: frozenset(),
    exp.Rank: frozenset(),
    exp.DenseRank: frozenset(),
    exp.Lag: frozenset({"this", "offset", "default"}),
    exp.Lead: frozenset({"this", "offset", "default"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true", "false"}),
    **dict.fromkeys(
        (
            exp.And,
            exp.Or,
            exp.EQ,
            exp.NEQ,
            exp.LT,
            exp.LTE,
            exp.GT,
            exp.GTE,
            exp.Add,
            exp.Sub,
            exp.Mul,
            exp.Div,
        ),
        BINARY,
    ),
}


def admit(tree: exp.Expr) -> None:
    """Refuse a tree with a node or an argument that is not on the allow-list."""
    for node in tree.walk():
        allowed = KNOWN.get(type(node))
        if allowed is None:
            raise InvalidValue(refusal_of_node(node))
        needed = (key for key, required in node.arg_types.items() if required)
        if any(node.args.get(key) is None for key in needed):
            raise InvalidValue(refusal_of_call(node))
        if isinstance(node, exp.Identifier) and not 0 < len(node.name) <= LONGEST_NAME:
            raise InvalidValue(f"A name must have 1 to {LONGEST_NAME} characters.")
        given = {key for key, value in node.args.items() if value not in (None, False, [], ())}
        if given - allowed:
            raise InvalidValue(refusal_of_argument(node, min(given - allowed)))
