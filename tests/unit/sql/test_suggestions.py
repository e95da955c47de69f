"""Every statement that a refusal suggests is understood."""

# ruff: noqa: S608 - a question is a line

import re

import pytest
from ward import CATALOG

from tacit.core.loss import Loss
from tacit.errors import TacitError
from tacit.plan import PublicRows
from tacit.query.pricing import price
from tacit.sql import read_statement

BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
SUGGESTED = re.compile(r"SELECT (?!statement).*?(?=\.$|\. |$)")
REFUSED = [
    "SELECT DISTINCT note FROM visits",
    "SELECT DISTINCT ward FROM visits WHERE stay > 3",
    "SELECT DISTINCT ward, urgent FROM visits",
    f"{BY_WARD} QUALIFY n > 10",
    f"{BY_WARD} UNION ALL SELECT 'all', COUNT(*) FROM visits",
    "DELETE FROM visits",
]


def refusal(text: str) -> str:
    with pytest.raises(TacitError) as found:
        read_statement(text, CATALOG)
    return str(found.value)


@pytest.mark.parametrize("text", REFUSED)
def test_a_suggested_statement_is_understood(text: str) -> None:
    found = SUGGESTED.findall(refusal(text))
    assert found
    for suggested in found:
        asked = read_statement(suggested, CATALOG)
        if not isinstance(asked, PublicRows):
            price(asked, CATALOG, Loss.zcdp("0.1", "1e-6"))


@pytest.mark.parametrize(
    ("written", "suggested"),
    [
        ("NTILE(4) OVER (ORDER BY n)", "RANK() OVER (ORDER BY n DESC)"),
        ("PERCENT_RANK() OVER (ORDER BY n)", "RANK() OVER (ORDER BY n DESC)"),
        ("CUME_DIST() OVER (ORDER BY n)", "SUM(n) OVER (ORDER BY n)"),
        ("RANK() OVER ()", "RANK() OVER (ORDER BY month)"),
        ("LAG(n) OVER ()", "LAG(n) OVER (ORDER BY month)"),
        ("LAG(n, 1, 0) OVER (ORDER BY month)", "COALESCE(LAG(n) OVER (ORDER BY month), 0)"),
    ],
)
def test_a_suggested_function_is_understood(written: str, suggested: str) -> None:
    inner = "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY 1"
    assert suggested in refusal(f"SELECT n, {written} AS x FROM ({inner}) t")
    asked = read_statement(f"SELECT n, {suggested} AS x FROM ({inner}) t", CATALOG)
    assert not isinstance(asked, PublicRows)
    price(asked, CATALOG, Loss.zcdp("0.1"))
