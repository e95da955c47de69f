"""Dates in SQL: the parts of a day, and the periods that it lies in."""

from sqlglot import exp

from tacit.errors import InvalidValue
from tacit.plan import DatePartName, Span

FUNCTIONS: dict[type[exp.Expr], DatePartName] = {
    exp.Year: DatePartName.YEAR,
    exp.Quarter: DatePartName.QUARTER,
    exp.Month: DatePartName.MONTH,
    exp.Day: DatePartName.DAY,
    exp.DayOfMonth: DatePartName.DAY,
    exp.DayOfWeek: DatePartName.WEEKDAY,
}
"""Functions of a day that give a part of it."""

PARTS = {part.value: part for part in DatePartName} | {"DAYOFWEEK": DatePartName.WEEKDAY}
SPANS = {span.value: span for span in Span}


def part_of(node: exp.Expr) -> tuple[DatePartName, exp.Expr] | None:
    """The part that ``node`` takes, and of what; None where it takes none."""
    if type(node) in FUNCTIONS:
        return FUNCTIONS[type(node)], node.this
    if not isinstance(node, exp.Extract):
        return None
    if node.name not in PARTS or not isinstance(node.this, exp.Var):
        raise InvalidValue(f"EXTRACT takes one of {', '.join(PARTS)}, as in YEAR FROM day.")
    return PARTS[node.name], node.expression


def span_of(node: exp.TimestampTrunc) -> Span:
    """How long the periods of DATE_TRUNC are."""
    unit = node.args["unit"].name
    if unit not in SPANS:
        known = ", ".join(f"'{name.lower()}'" for name in SPANS)
        raise InvalidValue(f"DATE_TRUNC takes one of {known}, as in DATE_TRUNC('month', day).")
    return SPANS[unit]


# ------------------------------------------------------------------ gate
# What of SQL is known: exact node types, and the arguments that each may have.
#
# What is not listed is refused, and a new version of the parser can only ever make more of it
# unknown. Arguments count as much as nodes: GROUP BY ALL and FROM other.t are arguments.

LONGEST_NAME = 100
"""Characters of a name, which an error may repeat."""

BINARY = frozenset({"this", "expression"})

KNOWN: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset(
        {"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "with_"}
    ),
    exp.With: frozenset({"expressions"}),
    exp.CTE: frozenset({"this", "alias"}),
    exp.Subquery: frozenset({"this", "alias"}),
    exp.Join: frozenset({"this", "on", "kind", "side"}),
    exp.Having: frozenset({"this"}),
    exp.Order: frozenset({"expressions"}),
    exp.Ordered: frozenset({"this", "desc"}),
    exp.Limit: frozenset({"expression"}),
    exp.From: frozenset({"this"}),
    exp.Table: frozenset({"this", "alias"}),
    exp.TableAlias: frozenset({"this"}),
    exp.Where: frozenset({"this"}),
    exp.Group: frozenset({"expressions"}),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Column: frozenset({"this", "table"}),
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
            *FUNCTIONS,
            exp.Var,
        ),
        frozenset({"this"}),
    ),
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
    exp.DataType: frozenset({"this"}),
    exp.Paren: frozenset({"this"}),
    exp.Neg: frozenset({"this"}),
    exp.Not: frozenset({"this"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions"}),
    exp.Like: BINARY | {"negate"},
    exp.Is: BINARY,
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true"}),
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
    exp.WidthBucket: "Bins are written FLOOR(x / 10) * 10, with one width and from 0 on.",
    exp.IntDiv: "Rows are not divided; bins are written FLOOR(x / 10) * 10.",
    exp.ApproxQuantile: "Every quantile has noise here: write QUANTILE(x, 0.9).",
    exp.Mode: "The most frequent value is the greatest of COUNT(*) by that column.",
    exp.ILike: "LIKE tells capitals from small letters; list the values with IN.",
    exp.Escape: "LIKE has no ESCAPE: % and _ are what they are; list the values with IN.",
    exp.Glob: "Patterns are written with LIKE: % for any text, _ for one character.",
    exp.SimilarTo: "Patterns are written with LIKE: % for any text, _ for one character.",
}
"""What to write instead of what is often tried."""


INCOMPLETE: dict[type[exp.Expr], str] = {
    exp.Quantile: "A quantile is written QUANTILE(x, 0.9).",
}
"""What to write instead of a part of it."""


def admit(tree: exp.Expr) -> None:
    """Refuse a tree that holds a node or an argument which is not known."""
    for node in tree.walk():
        advice = ADVICE.get(type(node))
        if advice is not None:
            raise InvalidValue(advice)
        allowed = KNOWN.get(type(node))
        name = type(node).__name__.upper()
        if allowed is None:
            raise InvalidValue(
                f"{name} is not part of the language, which has SELECT, WITH, FROM, JOIN, "
                "WHERE, GROUP BY, HAVING, ORDER BY and LIMIT."
            )
        needed = (key for key, required in node.arg_types.items() if required)
        if any(node.args.get(key) is None for key in needed):
            raise InvalidValue(INCOMPLETE.get(type(node), f"Something is missing in {name}."))
        if isinstance(node, exp.Identifier) and not 0 < len(node.name) <= LONGEST_NAME:
            raise InvalidValue(f"A name has 1 to {LONGEST_NAME} characters.")
        given = {key for key, value in node.args.items() if value not in (None, False, [], ())}
        if given - allowed:
            key = min(given - allowed)
            value = node.args[key]
            part = value[:LONGEST_NAME] if isinstance(value, str) else key.rstrip("_").upper()
            raise InvalidValue(f"{part} in {name} is not part of the language; leave it out.")
