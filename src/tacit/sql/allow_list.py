"""The part of SQL that Tacit supports, as an allow-list of syntax-tree nodes.

`admit` checks every node of a parsed query against the list. A node type or an argument that is
not listed is refused, so that a new version of the SQL parser can make more questions fail but
can never let new syntax through. Arguments are checked like nodes, because GROUP BY ALL and
FROM other.t are arguments. The file also translates the names of date parts and periods.
"""

from sqlglot import exp

from tacit.errors import InvalidValue
from tacit.plan import DatePartName, Span

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

LONGEST_NAME = 100
"""Largest number of characters of a name; errors may repeat names."""

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


ADVICE: dict[type[exp.Expr], str] = {
    exp.WidthBucket: "WIDTH_BUCKET is not supported; write bins as FLOOR(x / 10) * 10.",
    exp.IntDiv: "Integer division is not supported; write bins as FLOOR(x / 10) * 10.",
    exp.ApproxQuantile: "APPROX_QUANTILE is not supported; write QUANTILE(x, 0.9).",
    exp.Mode: "MODE is not supported; ask for COUNT(*) with GROUP BY that column.",
    exp.Mod: "The remainder of a division is not supported; use FLOOR(x / 10) * 10 for bins.",
    exp.Log: "LOG has another meaning in each database; write LN(x), or LN(x) / 2.302585093 "
    "for the logarithm to the base 10.",
    exp.CurrentTimestamp: "CURRENT_TIMESTAMP is not supported; write CURRENT_DATE or a day, as "
    "in DATE '2026-01-31'.",
    exp.Length: "LENGTH is not supported; list the values with IN.",
    exp.Replace: "REPLACE is not supported; list the values with IN, or name them with CASE.",
    exp.TryCast: "TRY_CAST is not supported; write CAST, which never fails here.",
    exp.LastDay: "LAST_DAY is not supported; group by DATE_TRUNC('month', day).",
    exp.Monthname: "MONTHNAME is not supported; write MONTH(day).",
    exp.Dayname: "DAYNAME is not supported; write EXTRACT(ISODOW FROM day).",
    exp.TimeToStr: "STRFTIME is not supported; write MONTH(day), or DATE_TRUNC('month', day).",
    exp.ToChar: "TO_CHAR is not supported; write MONTH(day), or DATE_TRUNC('month', day).",
    exp.Any: "ANY is not supported; write x IN (SELECT ...) for x = ANY (SELECT ...).",
    exp.All: "ALL is not supported; write NOT EXISTS (SELECT ...).",
    exp.ApproxDistinct: "APPROX_COUNT_DISTINCT is not supported; write COUNT(DISTINCT x).",
    exp.LogicalAnd: "BOOL_AND is not supported: one row of one person decides it. Count the "
    "rows for which the condition is false: COUNT_IF(NOT x).",
    exp.LogicalOr: "BOOL_OR is not supported: one row of one person decides it. Count the rows "
    "for which the condition is true: COUNT_IF(x).",
    exp.IgnoreNulls: "ANY_VALUE and IGNORE NULLS are not supported: a value of one row is not "
    "released. Ask for MEDIAN(x), or for COUNT(*) with GROUP BY x.",
    exp.First: "FIRST is not supported: it would release a value of one row. Ask for MIN(x) or "
    "MEDIAN(x).",
    exp.Last: "LAST is not supported: it would release a value of one row. Ask for MAX(x) or "
    "MEDIAN(x).",
    exp.ArrayAgg: "ARRAY_AGG is not supported: it would release values of rows. Ask for "
    "COUNT(*) with GROUP BY x.",
    exp.GroupConcat: "STRING_AGG is not supported: it would release values of rows. Ask for "
    "COUNT(*) with GROUP BY x.",
    exp.ArgMax: "MAX_BY is not supported: it would release a value of one row. Ask for AVG(x) "
    "with GROUP BY, and ORDER BY it.",
    exp.ArgMin: "MIN_BY is not supported: it would release a value of one row. Ask for AVG(x) "
    "with GROUP BY, and ORDER BY it.",
    exp.RegrSxx: "REGR_SXX is not supported; write VAR_POP(x) * COUNT(x).",
    exp.RegrSyy: "REGR_SYY is not supported; write VAR_POP(y) * COUNT(y).",
    exp.RegrSxy: "REGR_SXY is not supported; write COVAR_POP(y, x) * REGR_COUNT(y, x).",
    exp.Skewness: "SKEWNESS is not supported; compare AVG(x) with MEDIAN(x).",
    exp.Kurtosis: "KURTOSIS is not supported; ask for QUANTILE(x, 0.05) and QUANTILE(x, 0.95).",
    exp.Escape: "ESCAPE is not supported in LIKE; list the values with IN.",
    exp.Except: "EXCEPT is not supported, because it would compare released rows; write the "
    "condition in WHERE, as in WHERE ward <> 'north'.",
    exp.Intersect: "INTERSECT is not supported, because it would compare released rows; write "
    "both conditions in WHERE, with AND.",
    exp.Ntile: "NTILE is not supported; write RANK() OVER (ORDER BY n DESC).",
    exp.PercentRank: "PERCENT_RANK is not supported; write RANK() OVER (ORDER BY n DESC).",
    exp.CumeDist: "CUME_DIST is not supported; write SUM(n) OVER (ORDER BY n).",
    exp.Qualify: "QUALIFY is not supported; write the question in FROM, and its condition in "
    "WHERE: SELECT * FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) WHERE n > 10.",
    exp.Lateral: "LATERAL is not supported; write a join: JOIN b ON a.x = b.y.",
    exp.Values: "VALUES is not supported; list the values with IN.",
    exp.Glob: "GLOB is not supported; use LIKE with % for any text and _ for one character.",
    exp.SimilarTo: "SIMILAR TO is not supported; use LIKE with % for any text and _ for one "
    "character.",
}
"""Messages about unsupported syntax that is often tried, each with an alternative."""


INCOMPLETE: dict[type[exp.Expr], str] = {
    exp.Quantile: "QUANTILE needs two arguments, as in QUANTILE(x, 0.9).",
}
"""Messages about calls with too few arguments."""


def admit(tree: exp.Expr) -> None:
    """Refuse a tree with a node or an argument that is not on the allow-list."""
    for node in tree.walk():
        advice = ADVICE.get(type(node))
        if advice is not None:
            raise InvalidValue(advice)
        allowed = KNOWN.get(type(node))
        name = type(node).__name__.upper()
        if allowed is None:
            raise InvalidValue(
                f"{name} is not supported; the language has SELECT, WITH, FROM, JOIN, WHERE, "
                "GROUP BY, HAVING, ORDER BY and LIMIT."
            )
        needed = (key for key, required in node.arg_types.items() if required)
        if any(node.args.get(key) is None for key in needed):
            raise InvalidValue(INCOMPLETE.get(type(node), f"{name} has too few arguments."))
        if isinstance(node, exp.Identifier) and not 0 < len(node.name) <= LONGEST_NAME:
            raise InvalidValue(f"A name must have 1 to {LONGEST_NAME} characters.")
        given = {key for key, value in node.args.items() if value not in (None, False, [], ())}
        if given - allowed:
            key = min(given - allowed)
            value = node.args[key]
            if type(value) in ADVICE:
                raise InvalidValue(ADVICE[type(value)])
            part = value[:LONGEST_NAME] if isinstance(value, str) else key.rstrip("_").upper()
            raise InvalidValue(f"{part} in {name} is not supported; leave it out.")
