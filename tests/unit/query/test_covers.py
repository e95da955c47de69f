import re

import pytest
from clinic import catalog

from tacit.core.catalog import Limits
from tacit.plan.bounding import bound
from tacit.query.intervals import covers
from tacit.sql.parser import parse

CLINIC = catalog(Limits(1, 1))


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("COUNT(*)", "the exact total of this table"),
        ("AVG(age)", "the exact mean of this table"),
        (
            "VAR_POP(age)",
            "the exact variance of this table, after contribution limits and clamping",
        ),
        (
            "STDDEV(age)",
            "standard deviation of this table, after .* clamping, with divisor n - 1",
        ),
        ("QUANTILE(age, 0.9)", "the 0.9 quantile of this table"),
        ("MIN(age)", "the least value .* the released value or lies below it"),
        ("MAX(age)", "the greatest value .* the released value or lies above it"),
    ],
)
def test_an_interval_says_what_it_covers(sql: str, said: str) -> None:
    text = f"SELECT {sql} FROM visits"  # noqa: S608
    (reading,) = bound(parse(text, CLINIC), CLINIC).readings
    assert re.search(said, covers(reading))
