"""What the questions about the made-up table are made of."""

from datetime import date
from fractions import Fraction

from hypothesis import strategies as st

from tacit.plan.expression import (
    And,
    Arithmetic,
    Bin,
    Case,
    Compare,
    Comparison,
    Constant,
    DatePart,
    DatePartName,
    Expression,
    Field,
    IsNull,
    Like,
    Not,
    OneOf,
    Operation,
    Or,
    Period,
    Span,
)
from tacit.plan.plan import (
    Aggregate,
    CountDistinct,
    CountRows,
    CountUnits,
    CountValues,
    Deviation,
    Greatest,
    Least,
    Mean,
    PairFunction,
    PairStatistic,
    Quantile,
    Sum,
    Variance,
)

WARDS = ("north", "south", "it's", "")
DAYS: list[Expression] = [
    *(DatePart(part, Field("until")) for part in DatePartName),
    *(DatePart(part, Field("day")) for part in DatePartName if part is not DatePartName.YEAR),
    Arithmetic(Operation.SUBTRACT, Field("until"), Constant(date(2020, 2, 29))),
    Arithmetic(Operation.SUBTRACT, Constant(date(1, 1, 1)), Field("until")),
]
"""Numbers that days have."""

NUMBERS: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(
        st.sampled_from([Field("age"), Field("cost"), Field("pay"), *DAYS]),
        st.sampled_from([Constant(2), Constant(-1), Constant(Fraction("0.5")), Constant(None)]),
    ),
    lambda parts: st.builds(Arithmetic, st.sampled_from(Operation), parts, parts),
    max_leaves=2,
)


def _conditions() -> st.SearchStrategy[Expression]:
    compare = st.sampled_from(Comparison)
    equal = st.sampled_from([Comparison.EQUAL, Comparison.UNEQUAL])
    leaves: st.SearchStrategy[Expression] = st.one_of(
        st.builds(
            Compare, compare, st.just(Field("age")), st.builds(Constant, st.integers(-3, 125))
        ),
        st.builds(
            Compare,
            st.sampled_from([Comparison.LESS, Comparison.MORE, Comparison.AT_LEAST]),
            st.just(Field("age")),
            st.just(Constant(Fraction("17.5"))),
        ),
        st.builds(
            Compare,
            compare,
            st.just(Field("pay")),
            st.builds(Constant, st.fractions(-1, 101, max_denominator=10)),
        ),
        st.builds(
            Compare,
            compare,
            st.just(Field("cost")),
            st.builds(
                Constant, st.sampled_from([Fraction("9.99"), Fraction(0), Fraction(-10)])
            ),
        ),
        st.builds(
            Compare, compare, st.just(Field("day")), st.just(Constant(date(2000, 2, 29)))
        ),
        st.builds(
            Compare, equal, st.just(Field("ward")), st.builds(Constant, st.sampled_from(WARDS))
        ),
        st.builds(Compare, compare, NUMBERS, NUMBERS),
        st.just(OneOf(Field("ward"), ("north", "it's"))),
        st.just(OneOf(Field("age"), (1, 2, 40))),
        st.builds(Like, st.just(Field("ward")), st.text("%_northsui'|", max_size=5)),
        st.just(OneOf(DatePart(DatePartName.MONTH, Field("day")), (2, 12))),
        st.just(Field("smoker")),
        st.builds(IsNull, st.sampled_from([Field("pay"), Field("ward"), Field("age")])),
        st.sampled_from([Constant(True), Constant(False), Constant(None)]),
    )
    return st.recursive(
        leaves,
        lambda parts: st.one_of(
            st.builds(Not, parts),
            st.builds(And, st.tuples(parts, parts)),
            st.builds(Or, st.tuples(parts, parts)),
        ),
        max_leaves=4,
    )


CONDITIONS = _conditions()
KEYS: st.SearchStrategy[Expression] = st.one_of(
    st.just(Field("ward")),
    st.just(Field("smoker")),
    st.sampled_from([Bin(Field("age"), 40), Bin(Field("pay"), 25), Bin(Field("cost"), 50)]),
    st.builds(DatePart, st.sampled_from(DatePartName), st.just(Field("until"))),
    st.builds(Period, st.sampled_from(Span), st.just(Field("until"))),
    st.builds(
        lambda condition: Case(((condition, Constant("yes")),), Constant("no")), CONDITIONS
    ),
    st.builds(lambda condition: Case(((condition, Constant(1)),), Constant(None)), CONDITIONS),
)
SECRET_KEYS: st.SearchStrategy[Expression] = st.one_of(
    st.sampled_from([Field("doctor"), Field("room"), Field("day")]),
    st.builds(Period, st.sampled_from(Span), st.just(Field("day"))),
)
"""Columns whose values nobody declared, and periods of days whose bounds nobody did."""
STORED = [Field(name) for name in ("doctor", "ward", "room", "age", "smoker", "day", "person")]
"""Columns whose distinct values are counted as they are stored."""
AGGREGATES: st.SearchStrategy[Aggregate] = st.one_of(
    st.just(CountRows()),
    st.just(CountUnits()),
    st.builds(CountValues, st.sampled_from([Field("pay"), Field("ward")])),
    st.builds(CountDistinct, st.one_of(st.sampled_from(STORED), NUMBERS)),
    st.builds(
        lambda condition, part: CountDistinct(Case(((condition, part),), Constant(None))),
        CONDITIONS,
        st.sampled_from(STORED),
    ),
    st.builds(Sum, NUMBERS),
    st.builds(Mean, NUMBERS),
    st.builds(Variance, NUMBERS, st.booleans()),
    st.builds(Deviation, NUMBERS, st.booleans()),
    st.builds(PairStatistic, st.sampled_from(PairFunction), NUMBERS, NUMBERS),
    st.builds(Quantile, NUMBERS, st.sampled_from([Fraction(1, 2), Fraction(9, 10)])),
    st.builds(Least, NUMBERS),
    st.builds(Greatest, NUMBERS),
    st.builds(
        lambda condition, number: Sum(Case(((condition, number),), Constant(None))),
        CONDITIONS,
        NUMBERS,
    ),
)
