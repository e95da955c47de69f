"""The words of refusals: the construct as it was written, why, and what to write instead."""

from difflib import get_close_matches

from sqlglot import exp

LONGEST_NAME = 100
"""Largest number of characters of a name; errors may repeat names."""

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
    exp.RegexpLike: "Regular expressions are not supported; use LIKE with % for any text and "
    "_ for one character, as in ward LIKE 'n%'.",
    exp.RegexpILike: "Regular expressions are not supported; use ILIKE with % for any text and "
    "_ for one character, as in ward ILIKE 'n%'.",
    exp.Rand: "RANDOM is not supported: chance has a place in the noise alone. Leave it out.",
    exp.TableSample: "TABLESAMPLE is not supported; leave it out. All rows are read, and "
    "privacy does not need a sample.",
    exp.Offset: "OFFSET is not supported; ask for all groups, or for the first ones with ORDER "
    "BY and LIMIT.",
    exp.Placeholder: "A parameter, such as $1, :ward or ?, has no value here; write the value "
    "itself, as in ward = 'north'.",
    exp.Parameter: "A parameter, such as $1, :ward or ?, has no value here; write the value "
    "itself, as in ward = 'north'.",
    exp.Struct: "Braces are not supported. If they name a parameter, as in {{ward}}, write its "
    "value itself, as in ward = 'north'.",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM is not supported; write x = 'a', or x IS NULL.",
    exp.NullSafeNEQ: "IS DISTINCT FROM is not supported; write x <> 'a' OR x IS NULL.",
    exp.AtTimeZone: "AT TIME ZONE is not supported: a timestamp is read in the zone that is "
    "declared for its column. Leave it out, or ask the owner to declare another zone.",
    exp.JSONExtractScalar: "-> and ->> are not supported; ask the owner for a view in which "
    "the value is a column.",
    exp.JSONExtract: "-> and ->> are not supported; ask the owner for a view in which the "
    "value is a column.",
    exp.Glob: "GLOB is not supported; use LIKE with % for any text and _ for one character.",
    exp.SimilarTo: "SIMILAR TO is not supported; use LIKE with % for any text and _ for one "
    "character.",
}
"""Messages about unsupported syntax that is often tried, each with an alternative."""


INCOMPLETE: dict[type[exp.Expr], str] = {
    exp.Quantile: "QUANTILE needs two arguments, as in QUANTILE(x, 0.9).",
}
"""Messages about calls with too few arguments."""


FUNCTIONS_BY_NAME = {
    **dict.fromkeys(
        ("NOW", "GETDATE", "SYSDATE", "TODAY", "LOCALTIMESTAMP", "TRANSACTION_TIMESTAMP"),
        "write CURRENT_DATE, or a day, as in DATE '2026-01-31'",
    ),
    **dict.fromkeys(("RANDOM", "RAND", "UUID", "GEN_RANDOM_UUID"), "leave it out"),
    **dict.fromkeys(
        ("DATE_FORMAT", "FORMAT", "STRPTIME", "TO_DATE", "TO_TIMESTAMP"),
        "write MONTH(day), or DATE_TRUNC('month', day)",
    ),
    **dict.fromkeys(
        ("TOP_K", "APPROX_TOP_K", "HISTOGRAM"), "ask for COUNT(*) with GROUP BY that column"
    ),
    **dict.fromkeys(
        ("SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "FACTORIAL"),
        "functions of numbers are ABS, ROUND, SQRT, LN, EXP and POWER",
    ),
    "AGE": "write DATE_DIFF('day', a, b) / 365.25 for a number of years",
    "IFNULL": "write COALESCE(x, 0)",
    "DATE_PART": "write EXTRACT(YEAR FROM day)",
}
"""Alternatives to functions that only other systems have."""

KNOWN_FUNCTIONS = (
    *("COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "QUANTILE", "VARIANCE", "STDDEV", "CORR"),
    *("COVAR_POP", "COVAR_SAMP", "REGR_SLOPE", "REGR_INTERCEPT", "COUNT_IF", "COALESCE"),
    *("NULLIF", "ABS", "ROUND", "FLOOR", "CEIL", "SQRT", "LN", "EXP", "POWER", "GREATEST"),
    *("LEAST", "SIGN", "UPPER", "LOWER", "SUBSTR", "TRIM", "CONCAT", "YEAR", "MONTH", "DAY"),
    *("DATE_TRUNC", "DATE_DIFF", "EXTRACT", "RANK", "ROW_NUMBER", "LAG", "LEAD"),
)
FUNCTIONS = (
    "functions of rows are COALESCE, ABS, ROUND, FLOOR, SQRT, LN, EXP, POWER, YEAR, MONTH and "
    "others, and aggregates are COUNT, SUM, AVG, MEDIAN and others"
)
LANGUAGE = (
    "the language has SELECT, WITH, FROM, JOIN, WHERE, GROUP BY, HAVING, ORDER BY and LIMIT"
)


def refusal_of_node(node: exp.Expr) -> str:
    """Return why a part of a question that is not in the language is refused.

    Example:
        >>> refusal_of_node(exp.Anonymous(this="medain", expressions=[]))
        "There is no function 'medain'; write MEDIAN."
    """
    advice = ADVICE.get(type(node))
    if advice is not None:
        return advice
    if isinstance(node, exp.Anonymous):
        return _unknown_function(node.name[:LONGEST_NAME])
    if isinstance(node, exp.Func):
        name = node.sql_name()
        return f"{name} is not supported; {FUNCTIONS_BY_NAME.get(name, FUNCTIONS)}."
    return f"{type(node).__name__.upper()} is not supported; {LANGUAGE}."


def _unknown_function(name: str) -> str:
    written = FUNCTIONS_BY_NAME.get(name.upper())
    if written is not None:
        return f"{name.upper()} is not supported; {written}."
    close = get_close_matches(name.upper(), KNOWN_FUNCTIONS, 1)
    if close:
        return f"There is no function {name!r}; write {close[0]}."
    return f"There is no function {name!r}; {FUNCTIONS}."


def refusal_of_call(node: exp.Expr) -> str:
    """Return why a call with too few arguments is refused."""
    name = type(node).__name__.upper()
    return INCOMPLETE.get(type(node), f"{name} has too few arguments.")


def refusal_of_argument(node: exp.Expr, key: str) -> str:
    """Return why a clause of a part that is in the language is refused."""
    value = node.args[key]
    for each in value if isinstance(value, list) else [value]:
        if type(each) in ADVICE:
            return ADVICE[type(each)]
    if isinstance(node, exp.Join) and key == "method":
        return (
            f"{str(value)[:LONGEST_NAME]} JOIN is not supported, because it does not say which "
            "columns are equal; write JOIN b ON a.x = b.y, or JOIN b USING (x)."
        )
    part = value[:LONGEST_NAME] if isinstance(value, str) else key.rstrip("_").upper()
    return f"{part} in {type(node).__name__.upper()} is not supported; leave it out."


def refusal_of_join(side: str, kind: str) -> str:
    """Return why a kind of join is refused."""
    written = " ".join(filter(None, (side, kind, "JOIN")))
    if side == "RIGHT":
        return (
            f"{written} is not supported, because it would keep rows that belong to nobody; "
            "write the table of people first: FROM a LEFT JOIN b ON a.x = b.y."
        )
    if side == "FULL":
        return (
            f"{written} is not supported, because it would keep rows that belong to nobody; "
            "write FROM a LEFT JOIN b ON a.x = b.y."
        )
    if kind in {"SEMI", "ANTI"}:
        instead = "write WHERE x IN (SELECT y FROM b), or NOT IN"
        return f"{written} is not supported; {instead}."
    return (
        f"{written} is not supported, because every pair of rows would meet; write JOIN b ON "
        "a.x = b.y."
    )
