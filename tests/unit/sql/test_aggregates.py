from fractions import Fraction

import pytest
from clinic import catalog

from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.errors import InvalidValue
from tacit.plan.expression import (
    Arithmetic,
    Bin,
    Case,
    Constant,
    Field,
    IsNull,
    Not,
    Operation,
)
from tacit.plan.plan import (
    Aggregate,
    CountValues,
    Deviation,
    Greatest,
    Least,
    Mean,
    PairFunction,
    PairStatistic,
    Quantile,
    Variance,
)
from tacit.query.pricing import price
from tacit.sql.parser import parse

CLINIC = catalog(Limits(1, 1))
AGE, COST, SMOKER = Field("visits.age"), Field("visits.cost"), Field("visits.smoker")


def asked(sql: str) -> Aggregate:
    plan = parse(f"SELECT {sql} AS found FROM visits", CLINIC)  # noqa: S608
    return plan.measures[0].aggregate


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("VARIANCE(age)", Variance(AGE, sample=True)),
        ("VAR_SAMP(age)", Variance(AGE, sample=True)),
        ("VAR_POP(age)", Variance(AGE, sample=False)),
        ("STDDEV(age)", Deviation(AGE, sample=True)),
        ("STDDEV_SAMP(age)", Deviation(AGE, sample=True)),
        ("STDDEV_POP(age)", Deviation(AGE, sample=False)),
        ("MEDIAN(age)", Quantile(AGE, Fraction(1, 2))),
        ("QUANTILE(age, 0.25)", Quantile(AGE, Fraction(1, 4))),
        ("QUANTILE_CONT(age, 0.25)", Quantile(AGE, Fraction(1, 4))),
        ("QUANTILE_DISC(age, 0.25)", Quantile(AGE, Fraction(1, 4))),
        ("PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age)", Quantile(AGE, Fraction(9, 10))),
        (
            "PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY age DESC)",
            Quantile(AGE, Fraction(1, 10)),
        ),
        ("CORR(age, cost)", PairStatistic(PairFunction.CORRELATION, AGE, COST)),
        ("COVAR_POP(age, cost)", PairStatistic(PairFunction.COVARIANCE, AGE, COST)),
        ("COVAR_SAMP(age, cost)", PairStatistic(PairFunction.SAMPLE_COVARIANCE, AGE, COST)),
        ("REGR_SLOPE(age, cost)", PairStatistic(PairFunction.SLOPE, AGE, COST)),
        ("REGR_INTERCEPT(age, cost)", PairStatistic(PairFunction.INTERCEPT, AGE, COST)),
        ("REGR_R2(age, cost)", PairStatistic(PairFunction.DETERMINATION, AGE, COST)),
        ("REGR_COUNT(age, cost)", CountValues(Arithmetic(Operation.ADD, AGE, COST))),
        ("REGR_AVGX(age, cost)", Mean(Case(((Not(IsNull(AGE)), COST),), Constant(None)))),
        ("REGR_AVGY(age, cost)", Mean(Case(((Not(IsNull(COST)), AGE),), Constant(None)))),
        ("COUNT_IF(smoker)", CountValues(Case(((SMOKER, Constant(1)),), Constant(None)))),
        ("MIN(age)", Least(AGE)),
        ("MAX(age)", Greatest(AGE)),
    ],
)
def test_every_spelling_of_an_aggregate_is_read(sql: str, wanted: Aggregate) -> None:
    assert asked(sql) == wanted


@pytest.mark.parametrize(
    ("sql", "advice"),
    [
        ("QUANTILE(age)", "QUANTILE\\(x, 0.9\\)"),
        ("QUANTILE(age, 1)", "MIN or MAX"),
        ("QUANTILE(age, pay)", "a constant number"),
        ("QUANTILE_CONT(age, [0.1, 0.2])", "is not supported"),
        ("PERCENTILE_CONT(0.5)", "WITHIN GROUP"),
        ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age, pay)", "ORDER BY x"),
        ("APPROX_QUANTILE(age, 0.5)", "QUANTILE\\(x, 0.9\\)"),
        ("MODE(age)", "COUNT"),
        ("BOOL_AND(smoker)", r"COUNT_IF\(NOT x\)"),
        ("BOOL_OR(smoker)", r"COUNT_IF\(x\)"),
        ("ANY_VALUE(age)", "GROUP BY x"),
        ("FIRST(age)", "MEDIAN"),
        ("ARRAY_AGG(age)", "GROUP BY x"),
        ("STRING_AGG(ward, ',')", "GROUP BY x"),
        ("MAX_BY(ward, age)", "GROUP BY"),
        ("APPROX_COUNT_DISTINCT(age)", r"COUNT\(DISTINCT x\)"),
        ("REGR_SXX(age, cost)", "VAR_POP"),
        ("SKEWNESS(age)", "MEDIAN"),
        ("CORR(age)", "cannot be parsed"),
        ("CORR(age, ward)", "texts"),
        ("MAX(age, 3)", "leave it out"),
        ("VARIANCE(DISTINCT age)", "is not supported in this part of a question"),
        ("MEDIAN(ward)", "texts"),
        ("COUNT(*), FLOOR(age / 10) AS decade", "'age' must be in GROUP BY"),
    ],
)
def test_what_is_not_known_is_refused_with_advice(sql: str, advice: str) -> None:
    with pytest.raises(InvalidValue, match=advice):
        price(parse(f"SELECT {sql} FROM visits", CLINIC), CLINIC, Loss.zcdp(1))  # noqa: S608


@pytest.mark.parametrize("written", ["FLOOR(age / 30) * 30", "(FLOOR((age) / 30)) * 30"])
def test_bins_are_keys_that_the_bounds_name(written: str) -> None:
    text = f"SELECT {written} AS bin, COUNT(*) AS n FROM visits GROUP BY {written}"  # noqa: S608
    plan = parse(text, CLINIC)
    assert plan.keys[0].expression == Bin(AGE, 30)
    keys = price(plan, CLINIC, Loss.zcdp(1)).bound.plan.keys[0].keys
    assert keys is not None
    assert keys.values == (0, 30, 60, 90, 120)


def test_bins_below_zero_start_below_it() -> None:
    text = "SELECT FLOOR(cost / 25) * 25 AS bin, COUNT(*) FROM visits GROUP BY bin"
    keys = price(parse(text, CLINIC), CLINIC, Loss.zcdp(1)).bound.plan.keys[0].keys
    assert keys is not None
    assert keys.values == (-25, 0, 25, 50, 75)


@pytest.mark.parametrize(
    ("written", "advice"),
    [
        ("FLOOR(age / 0) * 0", "width of a bin must be"),
        ("FLOOR(age / 0) * 10", "Division by 0 has no value"),
        ("FLOOR(age / 0.5) * 0.5", "use bins, as in FLOOR\\(x / 10\\) \\* 10"),
        ("10 * FLOOR(pay / 10) + 0.5", "use bins, as in FLOOR\\(x / 10\\) \\* 10"),
        ("WIDTH_BUCKET(age, 0, 100, 5)", "FLOOR\\(x / 10\\) \\* 10"),
        ("age // 10", "FLOOR\\(x / 10\\) \\* 10"),
        ("age / 10", "would have one value each; use bins"),
        ("FLOOR(ward / 10) * 10", "texts"),
    ],
)
def test_other_ways_to_bin_are_refused_with_advice(written: str, advice: str) -> None:
    text = f"SELECT {written} AS bin, COUNT(*) AS n FROM visits GROUP BY {written}"  # noqa: S608
    with pytest.raises(InvalidValue, match=advice):
        price(parse(text, CLINIC), CLINIC, Loss.zcdp(1))


def test_a_bin_is_no_number_to_compute_with() -> None:
    text = "SELECT SUM(FLOOR(age / 10) * 10) FROM visits"
    with pytest.raises(InvalidValue, match="number is expected"):
        price(parse(text, CLINIC), CLINIC, Loss.zcdp(1))


def test_too_many_bins_are_refused() -> None:
    text = "SELECT FLOOR((age * 10) / 1) * 1 AS bin, COUNT(*) FROM visits GROUP BY bin"
    with pytest.raises(InvalidValue, match="wider"):
        price(parse(text, CLINIC), CLINIC, Loss.zcdp(1))
