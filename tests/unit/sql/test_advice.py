"""What a refusal says to write instead is understood: every suggestion runs."""

# ruff: noqa: S608 - a question is a line

import pytest
from clinic import catalog as clinic
from sqlglot import exp

from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.query.pricing import price
from tacit.sql import parse
from tacit.sql.advice import (
    ADVICE,
    FUNCTIONS_BY_NAME,
    KNOWN_FUNCTIONS,
    refusal_of_join,
    refusal_of_node,
)
from tacit.sql.allow_list import KNOWN

CLINIC = clinic(Limits(2, 3))
BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"

Written = tuple[str, str]
"""A part of the refusal, and a question that is written as it says."""


def of(part: str) -> Written:
    """The part itself as an output, with x and y for numbers."""
    names = {"x": "age", "y": "pay", "day": "until"}
    made = part
    for name, column in names.items():
        for before in "( ":
            for after in "),; ":
                made = made.replace(f"{before}{name}{after}", f"{before}{column}{after}")
    return part, f"SELECT {made} AS o FROM visits"


def where(part: str, condition: str) -> Written:
    return part, f"SELECT COUNT(*) FROM visits WHERE {condition}"


def by(part: str, key: str | None = None) -> Written:
    return part, f"SELECT {key or part} AS k, COUNT(*) FROM visits GROUP BY k"


def over(part: str) -> Written:
    return part, f"SELECT n, {part} AS o FROM ({BY_WARD})"


BINS = by("FLOOR(x / 10) * 10", "FLOOR(age / 10) * 10")
LISTED = where("with IN", "ward IN ('north', 'south')")
BY_COLUMN = ("COUNT(*) with GROUP BY", BY_WARD)
MONTHS = by("DATE_TRUNC('month', day)", "DATE_TRUNC('month', until)")
PATTERN = where("use LIKE with %", "ward LIKE 'n%_'")
RANKS = over("RANK() OVER (ORDER BY n DESC)")
TODAY = where("as in DATE '2026-01-31'", "day < DATE '2026-01-31'")

SUGGESTED: dict[type[exp.Expr], Written] = {
    exp.WidthBucket: BINS,
    exp.IntDiv: BINS,
    exp.Mod: BINS,
    exp.ApproxQuantile: of("QUANTILE(x, 0.9)"),
    exp.Mode: BY_COLUMN,
    exp.Log: ("LN(x) / 2.302585093", "SELECT AVG(LN(age + 1) / 2.302585093) FROM visits"),
    exp.CurrentTimestamp: TODAY,
    exp.Length: LISTED,
    exp.Replace: LISTED,
    exp.TryCast: ("write CAST", "SELECT SUM(CAST(pay AS INTEGER)) FROM visits"),
    exp.LastDay: MONTHS,
    exp.Monthname: by("MONTH(day)", "MONTH(until)"),
    exp.Dayname: by("EXTRACT(ISODOW FROM day)", "EXTRACT(ISODOW FROM until)"),
    exp.TimeToStr: MONTHS,
    exp.ToChar: MONTHS,
    exp.Any: where("x IN (SELECT ...)", "person IN (SELECT person FROM visits WHERE age > 3)"),
    exp.All: where(
        "NOT EXISTS (SELECT ...)",
        "NOT EXISTS (SELECT 1 FROM visits v WHERE v.person = visits.person AND v.age > 3)",
    ),
    exp.ApproxDistinct: of("COUNT(DISTINCT x)"),
    exp.LogicalAnd: ("COUNT_IF(NOT x)", "SELECT COUNT_IF(NOT smoker) FROM visits"),
    exp.LogicalOr: ("COUNT_IF(x)", "SELECT COUNT_IF(smoker) FROM visits"),
    exp.IgnoreNulls: of("MEDIAN(x)"),
    exp.First: of("MIN(x)"),
    exp.Last: of("MAX(x)"),
    exp.ArrayAgg: BY_COLUMN,
    exp.GroupConcat: BY_COLUMN,
    exp.ArgMax: ("AVG(x) with GROUP BY", "SELECT ward, AVG(age) a FROM visits GROUP BY 1"),
    exp.ArgMin: ("AVG(x) with GROUP BY", "SELECT ward, AVG(age) a FROM visits GROUP BY 1"),
    exp.RegrSxx: of("VAR_POP(x) * COUNT(x)"),
    exp.RegrSyy: of("VAR_POP(y) * COUNT(y)"),
    exp.RegrSxy: of("COVAR_POP(y, x) * REGR_COUNT(y, x)"),
    exp.Skewness: ("AVG(x) with MEDIAN(x)", "SELECT AVG(age), MEDIAN(age) FROM visits"),
    exp.Kurtosis: of("QUANTILE(x, 0.05)"),
    exp.Escape: LISTED,
    exp.Except: where("WHERE ward <> 'north'", "ward <> 'north'"),
    exp.Intersect: where("both conditions in WHERE, with AND", "age > 3 AND smoker"),
    exp.Ntile: RANKS,
    exp.PercentRank: RANKS,
    exp.CumeDist: over("SUM(n) OVER (ORDER BY n)"),
    exp.Qualify: (f"SELECT * FROM ({BY_WARD}) WHERE n > 10",) * 2,
    exp.Lateral: ("JOIN b ON a.x = b.y", "SELECT COUNT(*) FROM visits"),  # see test_relation
    exp.Values: LISTED,
    exp.Glob: PATTERN,
    exp.SimilarTo: PATTERN,
    exp.RegexpLike: where("ward LIKE 'n%'", "ward LIKE 'n%'"),
    exp.RegexpILike: where("ward ILIKE 'n%'", "ward ILIKE 'n%'"),
    exp.Rand: ("Leave it out", "SELECT COUNT(*) FROM visits"),
    exp.TableSample: ("leave it out", "SELECT COUNT(*) FROM visits"),
    exp.Placeholder: where("ward = 'north'", "ward = 'north'"),
    exp.Parameter: where("ward = 'north'", "ward = 'north'"),
    exp.Struct: where("ward = 'north'", "ward = 'north'"),
    exp.NullSafeEQ: where("x = 'a', or x IS NULL", "ward = 'a' OR ward IS NULL"),
    exp.NullSafeNEQ: where("x <> 'a' OR x IS NULL", "ward <> 'a' OR ward IS NULL"),
    exp.AtTimeZone: ("Leave it out", "SELECT COUNT(*) FROM visits"),
    exp.JSONExtractScalar: ("a view in which", "SELECT COUNT(*) FROM visits"),
    exp.JSONExtract: ("a view in which", "SELECT COUNT(*) FROM visits"),
    exp.Offset: ("ORDER BY and LIMIT", f"{BY_WARD} ORDER BY n DESC LIMIT 3"),
}

BY_NAME: dict[str, Written] = {
    **dict.fromkeys(
        ("NOW", "GETDATE", "SYSDATE", "TODAY", "LOCALTIMESTAMP", "TRANSACTION_TIMESTAMP"), TODAY
    ),
    **dict.fromkeys(
        ("RANDOM", "RAND", "UUID", "GEN_RANDOM_UUID"),
        ("leave it out", "SELECT COUNT(*) FROM visits"),
    ),
    **dict.fromkeys(("DATE_FORMAT", "FORMAT", "STRPTIME", "TO_DATE", "TO_TIMESTAMP"), MONTHS),
    **dict.fromkeys(("TOP_K", "APPROX_TOP_K", "HISTOGRAM"), BY_COLUMN),
    **dict.fromkeys(
        ("SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "FACTORIAL"),
        (
            "ABS, ROUND, SQRT, LN, EXP and POWER",
            "SELECT SUM(ABS(age) + SQRT(age) + LN(age + 1) + EXP(pay / 100)) FROM visits",
        ),
    ),
    "AGE": (
        "DATE_DIFF('day', a, b) / 365.25",
        "SELECT AVG(DATE_DIFF('day', until, DATE '2026-01-01') / 365.25) FROM visits",
    ),
    "IFNULL": ("COALESCE(x, 0)", "SELECT SUM(COALESCE(age, 0)) FROM visits"),
    "DATE_PART": by("EXTRACT(YEAR FROM day)", "EXTRACT(YEAR FROM until)"),
}


def test_every_suggestion_is_listed_here() -> None:
    assert SUGGESTED.keys() == ADVICE.keys()
    assert BY_NAME.keys() == FUNCTIONS_BY_NAME.keys()
    assert not ADVICE.keys() & KNOWN.keys()


@pytest.mark.parametrize("refused", SUGGESTED, ids=lambda kind: kind.__name__)
def test_a_suggestion_for_syntax_runs(refused: type[exp.Expr]) -> None:
    part, text = SUGGESTED[refused]
    assert part in ADVICE[refused]
    price(parse(text, CLINIC), CLINIC, Loss.zcdp("0.1", "1e-6"))


@pytest.mark.parametrize("refused", BY_NAME)
def test_a_suggestion_for_a_function_runs(refused: str) -> None:
    part, text = BY_NAME[refused]
    told = refusal_of_node(exp.Anonymous(this=refused, expressions=[]))
    assert part in told
    assert told.startswith(f"{refused} is not supported; ")
    price(parse(text, CLINIC), CLINIC, Loss.zcdp("0.1", "1e-6"))


def test_a_function_that_is_nearly_known_is_named() -> None:
    assert "write COALESCE" in refusal_of_node(exp.Anonymous(this="colaesce", expressions=[]))
    other = refusal_of_node(exp.Anonymous(this="zzz", expressions=[]))
    assert other.startswith("There is no function 'zzz'; functions of rows are COALESCE")
    called = {
        "COUNT": "COUNT(*)",
        "QUANTILE": "QUANTILE(age, 0.5)",
        "COUNT_IF": "COUNT_IF(smoker)",
    }
    for name in KNOWN_FUNCTIONS[:10]:
        asked = called.get(name, f"{name}(age, pay)" if name == "CORR" else f"{name}(age)")
        price(parse(f"SELECT {asked} FROM visits", CLINIC), CLINIC, Loss.zcdp("0.1"))


@pytest.mark.parametrize(
    ("side", "kind", "told"),
    [
        ("RIGHT", "", "RIGHT JOIN is not supported, because it would keep rows"),
        ("FULL", "OUTER", "FULL OUTER JOIN is not supported, because it would keep rows"),
        ("LEFT", "ANTI", "LEFT ANTI JOIN is not supported; write WHERE x IN"),
        ("", "CROSS", "CROSS JOIN is not supported, because every pair of rows would meet"),
    ],
)
def test_a_join_is_named_as_it_was_written(side: str, kind: str, told: str) -> None:
    assert refusal_of_join(side, kind).startswith(told)
