"""Computation on released values: one charge, whatever stands around the aggregates."""

# ruff: noqa: S608, E501 - a question is a line

import pytest
from ward import CATALOG

from tacit.core.loss import Loss
from tacit.errors import TacitError
from tacit.plan import canonical
from tacit.plan import expression as expr
from tacit.plan import plan as nodes
from tacit.query.pricing import price
from tacit.sql import parse, show

BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
WRITTEN = [
    f"SELECT ward, n * 1.0 / SUM(n) OVER () AS share FROM ({BY_WARD}) t",
    f"SELECT t.ward, t.n FROM ({BY_WARD}) t WHERE t.n > 3 ORDER BY t.n DESC LIMIT 2",
    f"SELECT * FROM ({BY_WARD} ORDER BY n DESC LIMIT 2) t ORDER BY ward",
    f"SELECT ward, RANK() OVER (ORDER BY n DESC) AS r FROM ({BY_WARD}) t ORDER BY r",
    (
        f"SELECT * FROM (SELECT ward, n, ROW_NUMBER() OVER (ORDER BY n DESC) AS r FROM ({BY_WARD}) t) "
        "u WHERE r <= 2"
    ),
    f"WITH t AS ({BY_WARD}) SELECT ward, n - LAG(n) OVER (ORDER BY ward) AS more FROM t",
    (
        f"WITH t AS ({BY_WARD}), u AS (SELECT ward, n, SUM(n) OVER () AS m FROM t) "
        "SELECT ward, n / m AS share FROM u ORDER BY share DESC"
    ),
    "SELECT ward, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS pct FROM visits GROUP BY ward",
    (
        "SELECT ward, AVG(COUNT(*)) OVER (ORDER BY ward ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) "
        "AS a, DENSE_RANK() OVER (ORDER BY COUNT(*)) AS d FROM visits GROUP BY ward"
    ),
    (
        "SELECT ward, ROUND(COUNT(*), -1) AS r, COALESCE(COUNT(*), 0) AS c, FLOOR(COUNT(*) / 10) * "
        "10 AS f, ABS(COUNT(*) - 5), CEIL(COUNT(*) / NULLIF(COUNT(*), 0)) FROM visits GROUP BY ward"
    ),
    (
        "SELECT ward, MAX(COUNT(*)) OVER (PARTITION BY ward ORDER BY COUNT(*) DESC NULLS FIRST) "
        "FROM visits GROUP BY ward"
    ),
    f"{BY_WARD} UNION ALL {BY_WARD} ORDER BY 2 DESC NULLS LAST LIMIT 4",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_post_processing_changes_no_charge(text: str) -> None:
    plan, alone = parse(text, CATALOG), parse(BY_WARD, CATALOG)
    assert canonical(plan).hash == canonical(alone).hash
    assert price(plan, CATALOG, Loss.zcdp(1)).event == price(alone, CATALOG, Loss.zcdp(1)).event


@pytest.mark.parametrize("text", WRITTEN)
def test_post_processing_is_said_again(text: str) -> None:
    plan = parse(text, CATALOG)
    assert canonical(parse(show(plan, CATALOG), CATALOG)) == canonical(plan)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ward, COUNT(*) AS n, 1 AS c FROM visits GROUP BY ward ORDER BY c, n DESC",
        "SELECT ward, COUNT(*) AS n, 1 AS c FROM visits GROUP BY ward ORDER BY 3, 2 DESC",
        f"SELECT ward, n, 1 AS c FROM ({BY_WARD}) t ORDER BY c, n DESC",
        f"SELECT ward, n, 1 AS c FROM ({BY_WARD}) t ORDER BY 3, 2 DESC",
        (
            "SELECT ward, n FROM (SELECT ward, COUNT(*) AS n, 1 AS c FROM visits GROUP BY ward) t "
            "ORDER BY c, n DESC"
        ),
    ],
)
def test_a_constant_column_sorts_nothing(text: str) -> None:
    """Printed as it is, it would be read as the number of another column."""
    plan = parse(text, CATALOG)
    [key] = plan.post.order
    assert key == nodes.OrderBy(expr.Field(plan.measures[0].name), descending=True)
    assert canonical(parse(show(plan, CATALOG), CATALOG)) == canonical(plan)


def test_a_question_sorted_by_one_constant_column_is_not_sorted() -> None:
    assert not parse(f"SELECT n, 2 AS c FROM ({BY_WARD}) t ORDER BY 2", CATALOG).post.order


def test_parts_that_differ_in_where_are_one_question() -> None:
    text = (
        "SELECT 'long' AS stay, COUNT(*) AS n, SUM(cost) AS c FROM visits WHERE stay > 7 UNION "
        "ALL SELECT 'short', COUNT(*), SUM(cost) FROM visits WHERE stay <= 7"
    )
    plan = parse(text, CATALOG)
    assert len(plan.measures) == 4
    assert len(plan.post.below) == 2
    assert isinstance(plan.source, nodes.Filter)
    wanted = parse(
        "SELECT COUNT(CASE WHEN stay > 7 THEN 1 END), SUM(CASE WHEN stay > 7 THEN cost END), "
        "COUNT(CASE WHEN stay <= 7 THEN 1 END), SUM(CASE WHEN stay <= 7 THEN cost END) "
        "FROM visits WHERE stay > 7 OR stay <= 7",
        CATALOG,
    )
    assert canonical(plan).hash == canonical(wanted).hash
    assert canonical(parse(show(plan, CATALOG), CATALOG)) == canonical(plan)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{BY_WARD} UNION {BY_WARD}", "write UNION ALL"),
        (
            f"SELECT ward, n FROM ({BY_WARD}) t ORDER BY '2020-02-30'",
            "does not support constants",
        ),
        (f"{BY_WARD} UNION ALL SELECT 'all', COUNT(*) FROM visits", "the same FROM and GROUP"),
        (f"{BY_WARD} UNION ALL SELECT n FROM ({BY_WARD})", "same number of columns"),
        (f"{BY_WARD} UNION ALL SELECT COUNT(*), ward FROM visits GROUP BY ward", "one kind of"),
        (f"SELECT x FROM ({BY_WARD}) t", "the columns are: ward, n"),
        (f"SELECT u.n FROM ({BY_WARD}) t", "the tables are: t"),
        (f"SELECT SUM(RANK() OVER (ORDER BY n)) OVER () FROM ({BY_WARD}) t", "contains OVER"),
        (f"SELECT RANK() OVER () FROM ({BY_WARD}) t", "RANK needs an order"),
        (f"SELECT LAG(n, 1, 0) OVER (ORDER BY n) FROM ({BY_WARD}) t", r"COALESCE\(LAG"),
        (f"SELECT n, SUM(ward) OVER () FROM ({BY_WARD}) t", "must be a number"),
        (f"SELECT n, ROUND(ward) FROM ({BY_WARD}) t", "must be a number"),
        (f"SELECT ROUND(n, 99) FROM ({BY_WARD}) t", "constant integer up to 18"),
        (f"SELECT NTILE(4) OVER (ORDER BY n) FROM ({BY_WARD}) t", "write RANK"),
        ("SELECT ward, SUM(cost) OVER () FROM visits GROUP BY ward", "must be in GROUP BY"),
        (f"{BY_WARD} HAVING RANK() OVER (ORDER BY COUNT(*)) < 3", "write the question in FROM"),
        (f"SELECT RANK() OVER (ORDER BY n) AS r FROM ({BY_WARD}) t WHERE r < 3", "in WHERE"),
    ],
)
def test_what_cannot_be_computed_is_refused(text: str, told: str) -> None:
    with pytest.raises(TacitError, match=told):
        price(parse(text, CATALOG), CATALOG, Loss.zcdp(1))
