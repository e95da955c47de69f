"""Spellings of people and tools: each means the same plan as the spelling that we read."""

# ruff: noqa: S608, E501 - a question is a line

import pytest
from ward import CATALOG, WARDS

from tacit.errors import TacitError
from tacit.plan import PublicRows, canonical
from tacit.sql import parse, read_statement, show

V = "FROM visits"
SAME: list[tuple[str, str]] = [
    (f"SELECT ward, COUNT(*) {V} GROUP BY 1", f"SELECT ward, COUNT(*) {V} GROUP BY ward"),
    (
        f"SELECT DATE_TRUNC('month', day) AS m, COUNT(*) {V} GROUP BY 1 ORDER BY 2 DESC",
        f"SELECT DATE_TRUNC('month', day) AS m, COUNT(*) {V} GROUP BY m ORDER BY COUNT(*) DESC",
    ),
    (
        f"SELECT ward, SUM(cost) AS cost {V} GROUP BY ward ORDER BY cost",
        f"SELECT ward, SUM(cost) AS cost {V} GROUP BY ward ORDER BY SUM(visits.cost)",
    ),
    (
        'SELECT "public"."visits"."ward", COUNT(1) FROM "public"."visits" GROUP BY 1',
        f'SELECT ward, COUNT(*) {V} GROUP BY "visits"."ward"',
    ),
    ("SELECT COUNT(*) FROM main.visits", f"SELECT COUNT(*) {V}"),
    (
        f"SELECT ward, region, COUNT(*) {V} JOIN regions USING (ward) GROUP BY ward, region",
        (
            f"SELECT visits.ward, region, COUNT(*) {V} JOIN regions ON visits.ward = regions.ward "
            "GROUP BY visits.ward, region"
        ),
    ),
    (
        (
            "SELECT COUNT(*) FROM labs l, patients p, visits v WHERE l.visit = v.id AND "
            "(v.patient = p.id) AND (p.age > 3 OR p.insured)"
        ),
        (
            "SELECT COUNT(*) FROM labs l JOIN visits v ON l.visit = v.id JOIN patients p ON "
            "v.patient = p.id WHERE p.age > 3 OR p.insured"
        ),
    ),
    (
        f"SELECT COUNT(*) {V} v JOIN patients p ON v.patient = p.id AND age > 3 WHERE stay > 1",
        f"SELECT COUNT(*) {V} v JOIN patients p ON v.patient = p.id WHERE stay > 1 AND age > 3",
    ),
    (
        f"SELECT COUNT(*) FILTER (WHERE stay > 3) {V}",
        f"SELECT COUNT(CASE WHEN stay > 3 THEN 1 END) {V}",
    ),
    (
        f"SELECT COUNT(note) FILTER (WHERE stay > 3 OR urgent) {V}",
        f"SELECT COUNT(CASE WHEN (stay > 3 OR urgent) AND note IS NOT NULL THEN 1 END) {V}",
    ),
    (
        f"SELECT AVG(cost) FILTER (WHERE urgent) {V}",
        f"SELECT AVG(CASE WHEN urgent THEN cost END) {V}",
    ),
    (f"SELECT AVG(cost)::FLOAT {V}", f"SELECT AVG(cost) {V}"),
    (f"SELECT CAST(AVG(cost) AS DECIMAL(9, 1)) {V}", f"SELECT ROUND(AVG(cost), 1) {V}"),
    (f"SELECT CAST(AVG(cost) AS INT) {V}", f"SELECT ROUND(AVG(cost)) {V}"),
    (
        f"SELECT COUNT(*) {V} WHERE day BETWEEN '2026-01-01' AND '2026-02-01'",
        f"SELECT COUNT(*) {V} WHERE day BETWEEN DATE '2026-01-01' AND DATE '2026-02-01'",
    ),
    (
        f"WITH v AS (SELECT day AS d {V}) SELECT COUNT(*) FROM v WHERE d IN ('2026-01-01')",
        f"SELECT COUNT(*) {V} WHERE day IN (DATE '2026-01-01')",
    ),
    (
        f"SELECT DISTINCT ward, COUNT(*) {V} GROUP BY ward",
        f"SELECT ward, COUNT(*) {V} GROUP BY 1",
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=[one for one, _ in SAME])
def test_two_spellings_are_one_question(one: str, other: str) -> None:
    found = canonical(parse(one, CATALOG))
    assert found == canonical(parse(other, CATALOG))
    assert found == canonical(parse(show(parse(one, CATALOG), CATALOG), CATALOG))


def test_a_count_of_another_condition_is_another_question() -> None:
    one, other = (
        canonical(parse(f"SELECT COUNT(*) FILTER (WHERE stay > {n}) {V}", CATALOG))
        for n in (3, 4)
    )
    assert one.hash != other.hash


REFUSED: list[tuple[str, str]] = [
    (f"SELECT ward, COUNT(*) {V} GROUP BY 3", "SELECT has the columns 1 to 2"),
    (f"SELECT ward, COUNT(*) {V} GROUP BY 2", "which has an aggregate"),
    (f"SELECT ward, COUNT(*) {V} GROUP BY ward ORDER BY 0", "is not the number of a column"),
    ("SELECT COUNT(*) FROM secret.visits", "write its name without a schema: FROM visits"),
    ("SELECT COUNT(*) FROM other.public.visits", "write its name without a database"),
    (
        f"WITH visits AS (SELECT * {V}) SELECT COUNT(*) FROM public.visits",
        "rename the query",
    ),
    ("SELECT COUNT(*) FROM visits v, patients p WHERE v.stay > 1", "has no equation"),
    (f"SELECT COUNT(*) {V} JOIN patients USING (stay)", "write JOIN ... ON a.x = b.y"),
    (f"SELECT COUNT(*) {V} WHERE CAST(stay AS TEXT) = '1'", "CAST is supported only from"),
    (f"SELECT COUNT(*) {V} WHERE day > 'monday'", "A date must be written"),
    (f"SELECT RANK() FILTER (WHERE urgent) OVER (ORDER BY ward) {V}", "FILTER is supported"),
]


@pytest.mark.parametrize(("text", "told"), REFUSED, ids=[text for text, _ in REFUSED])
def test_a_refusal_says_what_to_write(text: str, told: str) -> None:
    with pytest.raises(TacitError, match=told):
        parse(text, CATALOG)


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT DISTINCT ward {V}",
        f"SELECT ward {V} GROUP BY ward",
        'SELECT DISTINCT "visits"."ward" FROM "visits" ORDER BY "visits"."ward" LIMIT 1000',
    ],
)
def test_declared_keys_are_listed(text: str) -> None:
    found = read_statement(text, CATALOG)
    assert isinstance(found, PublicRows)
    assert found.columns == (("key", WARDS.values),)
    assert found.datasets == ("visits",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"SELECT DISTINCT note {V}", "are not public"),
        (f"SELECT DISTINCT ward {V} WHERE stay > 3", "without a condition"),
        (f"SELECT DISTINCT ward, urgent {V}", "one column of one dataset"),
        (f"SELECT DISTINCT {V}", "names no column"),
        (f"SELECT DISTINCT ward {V} ORDER BY stay", "only by themselves"),
        ("SELECT 1 WHERE TRUE", "needs FROM"),
        ("SELECT COUNT(*)", "needs FROM"),
        ("SELECT ward", "needs FROM"),
    ],
)
def test_statements_that_need_data_are_not_free(text: str, told: str) -> None:
    with pytest.raises(TacitError, match=told):
        read_statement(text, CATALOG)


@pytest.mark.parametrize(
    "text",
    ["SELECT COUNT(*) JOIN visits WHERE age > 1", "SELECT 1 WHERE LEFT JOIN visits TRUE"],
)
def test_a_join_without_from_is_refused(text: str) -> None:
    with pytest.raises(TacitError, match="A question needs FROM"):
        parse(text, CATALOG)
