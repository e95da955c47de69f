"""Refusals name the part, why, and what to write instead."""

# ruff: noqa: E501, S608 - a question is a line

import pytest
from clinic import catalog as clinic
from hospital import catalog as hospital

from tacit.core.catalog import Limits
from tacit.errors import InvalidValue, TacitError, UnknownName
from tacit.plan.expression import Constant, Not
from tacit.plan.tree_walk import DEEPEST, LARGEST_QUESTION, not_too_large, size
from tacit.sql import parser as parsing
from tacit.sql.parser import LONGEST_TEXT, parse

CLINIC, HOSPITAL = clinic(Limits(1, 2)), hospital(Limits(1, 2))

REFUSALS = [
    ("SELECT COUNT(*) FROM visits WHERE", "SQL syntax error"),
    ("SELECT COUNT(*) FROM visits; SELECT COUNT(*) FROM visits", "one SELECT"),
    ("x" * (LONGEST_TEXT + 1), "at most 20000 characters"),
    ("SELECT COUNT(*) FROM visits\0", "not contain NUL"),
    ("SELECT COUNT(*)", "needs FROM with the name"),
    ("SELECT * FROM visits", "Rows are not released"),
    ("SELECT ward FROM visits GROUP BY ward", "answered by declarations alone"),
    ("SELECT DISTINCT COUNT(*) FROM visits GROUP BY ward", "every column of GROUP BY is shown"),
    (
        "SELECT DISTINCT n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)",
        "would compare released rows; leave DISTINCT out",
    ),
    (
        "SELECT ward FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)",
        "leaves out every aggregate of the query in FROM",
    ),
    (
        "WITH t0 AS (SELECT COUNT(*) AS n FROM visits)"
        + "".join(f", t{i + 1} AS (SELECT n + n AS n FROM t{i})" for i in range(60))
        + " SELECT n FROM t60",
        "at most 50 subqueries",
    ),
    ("SELECT COUNT(*) FROM visits LEFT JOIN visits v ON v.age = 3", "joined with itself"),
    ("SELECT WIDTH_BUCKET(age, 0, 9, 3), COUNT(*) FROM visits", "write bins as FLOOR"),
    ("SELECT QUANTILE(age) FROM visits", r"as in QUANTILE\(x, 0.9\)"),
    ("SELECT QUANTILE(age, 'a') FROM visits", "a constant number"),
    ("SELECT QUANTILE(age, TRUE) FROM visits", "a constant number"),
    (
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age, pay) FROM visits",
        "A percentile must be",
    ),
    ("SELECT PERCENTILE_CONT(0.5) FROM visits", "A quantile must be written"),
    ("SELECT MAX(+) FROM visits", "MAX has too few arguments"),
    ("SELECT COUNT() FROM visits", r"COUNT\(\*\) counts rows"),
    ("SELECT COUNT(DISTINCT ward, age) FROM visits", "distinct values of one column"),
    ("SELECT age, COUNT(*) FROM visits", "must be in GROUP BY or be the argument"),
    ("SELECT COUNT(*) FROM visits GROUP BY 1", "which has an aggregate"),
    ("SELECT COUNT(*) FROM visits ORDER BY ('a')", "does not support constants"),
    ("SELECT b AS a, COUNT(*) AS b FROM visits", "'b' is used before it is defined"),
    ("SELECT COUNT(*) AS a, COUNT(*) AS a FROM visits", "two are called 'a'"),
    ("SELECT COUNT(*) FROM visits LIMIT 1.5", "LIMIT must be a constant integer"),
    ("SELECT COUNT(*) FROM visits WHERE age IS TRUE", "IS NULL and IS NOT NULL"),
    (
        "SELECT COUNT(*) FROM visits WHERE smoker IS NOT TRUE",
        r"NOT COALESCE\(smoker, FALSE\) for smoker IS NOT TRUE",
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE ward IS DISTINCT FROM 'north'",
        "^IS DISTINCT FROM is not supported; write x <> 'a' OR x IS NULL",
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE ward IS NOT DISTINCT FROM 'north'",
        "^IS NOT DISTINCT FROM is not supported",
    ),
    ("SELECT COUNT(*) FROM visits WHERE ward = $1", r"^A parameter, such as \$1"),
    (
        "SELECT COUNT(*) FROM visits WHERE ward = :ward",
        "^A parameter, .*write the value itself",
    ),
    ("SELECT COUNT(*) FROM visits WHERE ward = ?", "^A parameter, .*write the value itself"),
    ("SELECT COUNT(*) FROM visits WHERE ward = {{ward}}", "^Braces are not supported"),
    (
        "SELECT COUNT(*) FROM visits WHERE day AT TIME ZONE 'UTC' > '2020-01-01'",
        "^AT TIME ZONE is not supported: a timestamp is read in the zone",
    ),
    ("SELECT COUNT(*) FROM visits WHERE ward ->> 'a' = 'b'", "^-> and ->> are not supported"),
    ("SELECT COUNT(*) FROM visits WHERE ward -> 'a' = 'b'", "^-> and ->> are not supported"),
    (
        "SELECT COUNT(*) FROM (SELECT age, LAG(age) OVER (ORDER BY day) AS b FROM visits) WHERE b > 1",
        "^OVER is supported only for released values",
    ),
    ("SELECT COUNT(*) FROM visits WHERE age IN (NULL)", "without NULL"),
    ("SELECT COUNT(*) FROM visits WHERE age IN (pay)", "only constants"),
    (
        "SELECT COUNT(*) FROM visits WHERE CAST(age AS TEXT) = '1'",
        "CAST is supported only from numbers and truths to numbers",
    ),
    ("SELECT COUNT(*) FROM visits WHERE CAST('1' AS INT) = 1", "CAST is supported only from"),
    ("SELECT COUNT(*) FROM visits WHERE day > DATE '2020-02-30'", "A date must be written"),
    ("SELECT COUNT(*) FROM visits WHERE day > DATE '20200228'", "A date must be written"),
    ("SELECT COUNT(*) FROM visits WHERE age > -TRUE", "must be a number"),
    ("SELECT COUNT(*) FROM visits WHERE age > 1e40", "at most 40 digits"),
    (
        "SELECT COUNT(*) FROM visits WHERE SUM(age) > 3",
        "SUM is an aggregate, and here a value of a row is needed",
    ),
    ("SELECT COUNT(*) FROM visits WHERE age" + "+1" * DEEPEST + " > 3", "nested too deeply"),
    ("SELECT SUM(EXTRACT(EPOCH FROM day)) FROM visits", "EXTRACT supports only YEAR, QUARTER"),
    ("SELECT SUM(EXTRACT('year' FROM day)) FROM visits", "EXTRACT supports only YEAR, QUARTER"),
    (
        "SELECT COUNT(*) FROM visits GROUP BY DATE_TRUNC('hour', day)",
        "supports only 'year', 'quarter'",
    ),
    (
        "SELECT MONTH(day), COUNT(*) FROM visits",
        "'day' must be in GROUP BY or be the argument",
    ),
    ("SELECT COUNT(*) FROM visits WHERE ward LIKE doctor", "must be a constant text"),
    ("SELECT COUNT(*) FROM visits WHERE ward LIKE NULL", "must be a constant text"),
    (
        "SELECT COUNT(*) FROM visits WHERE ward LIKE 'a' ESCAPE '!'",
        "ESCAPE is not supported in LIKE",
    ),
    ("SELECT COUNT(*) FROM visits WHERE ward ILIKE doctor", "must be a constant text"),
    ("SELECT SUM(age % 2) FROM visits", "remainder of a division is not supported"),
    ("SELECT AVG(LOG(age)) FROM visits", "LOG has another meaning in each database"),
    ("SELECT COUNT(*) FROM visits WHERE day + INTERVAL 1 MONTH > day", "only to constant days"),
    ("SELECT COUNT(*) FROM visits WHERE day + INTERVAL 1 HOUR > day", "An interval must be a"),
    ("SELECT COUNT(*) FROM visits WHERE day + INTERVAL age DAY > day", "An interval must be a"),
    ("SELECT COUNT(*) FROM visits WHERE INTERVAL 1 DAY > day", "must be added to a day"),
    ("SELECT COUNT(*) FROM visits WHERE 5 + INTERVAL 1 DAY > 3", "added only to a day"),
    (
        "SELECT COUNT(*) FROM visits WHERE day > DATE '9999-12-31' + INTERVAL 1 DAY",
        "in the years 1 to 9999",
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE day > DATE '0001-01-31' - INTERVAL 1 MONTH",
        "in the years 1 to 9999",
    ),
    ("SELECT COUNT(*) FROM visits WHERE day > CURRENT_DATE", "CURRENT_DATE is the date of the"),
    (
        "SELECT COUNT(*) FROM visits WHERE day > CURRENT_TIMESTAMP",
        "write CURRENT_DATE or a day",
    ),
    ("SELECT SUM(DATE_DIFF('hour', day, until)) FROM visits", "DATE_DIFF supports only 'day'"),
    ("SELECT COUNT(*) FROM visits WHERE SUBSTR('abc', 0, 1) = ward", "start of at least 1"),
    ("SELECT COUNT(*) FROM visits WHERE ward GLOB 'a*'", "GLOB is not supported; use LIKE"),
    ("SELECT COUNT(*) FROM (SELECT age, age FROM visits)", "distinct names"),
    ("SELECT COUNT(*) FROM (SELECT age + 1 FROM visits)", "needs a name"),
    ("SELECT COUNT(*) FROM (SELECT ward FROM visits GROUP BY ward)", "GROUP BY visits.person"),
    ("SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM visits)", "GROUP BY visits.person"),
    ("SELECT SUM(n) FROM (SELECT COUNT(*) FROM visits GROUP BY person)", "name it with AS"),
    (
        "SELECT SUM(n) FROM (SELECT age, COUNT(*) AS n FROM visits GROUP BY person)",
        "'age' must be in GROUP BY",
    ),
    (
        "SELECT SUM(n) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person, age + 1)",
        "supports only columns of its datasets",
    ),
    (
        "SELECT SUM(n) FROM (SELECT person AS n, COUNT(*) AS n FROM visits GROUP BY person)",
        "Two columns of a subquery are called 'n'",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT age FROM visits LIMIT 3)",
        "LIMIT is not supported in a subquery",
    ),
    ("WITH t AS (SELECT 1 UNION SELECT 2) SELECT COUNT(*) FROM t", "must be a SELECT"),
    (
        "WITH t AS (WITH u AS (SELECT * FROM visits) SELECT * FROM u) SELECT COUNT(*) FROM t",
        "at the beginning",
    ),
]
UNKNOWN = [
    ("SELECT COUNT(*) FROM nowhere", "no dataset 'nowhere'; there are: visits"),
    ("SELECT SUM(wage) FROM visits", "no column 'wage'; the columns are: person, ward"),
    ("SELECT SUM(v.age) FROM visits", "no table 'v' in this question; the tables are: visits"),
    (
        "SELECT SUM(visits.wage) FROM visits",
        "'visits' has no column 'wage'; its columns are: person",
    ),
]
LINKED = [
    (
        "SELECT COUNT(id) FROM visits JOIN patients ON patient = patients.id",
        "one of: visits, pat",
    ),
    ("SELECT COUNT(*) FROM visits v JOIN patients v ON v.id = 3", "Two tables"),
    ("SELECT COUNT(*) FROM visits JOIN patients ON patient = 3", "ON must equate a column"),
    (
        "SELECT COUNT(*) FROM visits SEMI JOIN patients ON patient = patients.id",
        "SEMI JOIN is not supported; write WHERE x IN",
    ),
    ("SELECT COUNT(*) FROM visits JOIN patients ON TRUE", "JOIN dataset ON"),
    (
        "WITH p AS (SELECT * FROM patients) SELECT COUNT(*) FROM visits JOIN p ON TRUE",
        "JOIN dataset",
    ),
    (
        "WITH p AS (SELECT * FROM patients) SELECT COUNT(*) FROM visits JOIN p ON patient = p.id",
        "'p' is a subquery",
    ),
]


@pytest.mark.parametrize(("text", "told"), REFUSALS, ids=[text[:60] for text, _ in REFUSALS])
def test_a_refusal_says_why(text: str, told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        parse(text, CLINIC)


@pytest.mark.parametrize(("text", "told"), UNKNOWN, ids=[text for text, _ in UNKNOWN])
def test_a_name_that_is_not_known_is_told_with_those_that_are(text: str, told: str) -> None:
    with pytest.raises(UnknownName, match=told):
        parse(text, CLINIC)


@pytest.mark.parametrize(("text", "told"), LINKED, ids=[text for text, _ in LINKED])
def test_a_join_that_is_not_understood_says_why(text: str, told: str) -> None:
    with pytest.raises(TacitError, match=told):
        parse(text, HOSPITAL)


def test_a_long_name_is_not_repeated() -> None:
    with pytest.raises(InvalidValue, match="1 to 100 characters"):
        parse(f"SELECT SUM({'a' * 101}) FROM visits", CLINIC)


def test_a_tree_is_looked_at_no_further_than_allowed() -> None:
    deep = Constant(True)
    for _ in range(DEEPEST - 1):
        deep = Not(deep)
    assert size(not_too_large(deep)) == DEEPEST
    with pytest.raises(InvalidValue, match="nested too deeply"):
        not_too_large(Not(deep))
    with pytest.raises(InvalidValue, match="more than 5000 operations"):
        not_too_large(tuple(Constant(1) for _ in range(LARGEST_QUESTION)))


def test_a_compiled_reader_that_stumbles_over_a_text_is_no_bug_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stumble(*_: object, **__: object) -> None:
        raise TypeError

    monkeypatch.setattr(parsing, "read", stumble)
    with pytest.raises(InvalidValue, match="SQL syntax error"):
        parse("SELECT -> 3", CLINIC)


def test_a_statement_that_is_no_question_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(InvalidValue, match="one SELECT"):
        parse("CALL secret_function('a name')", CLINIC)
    assert "name" not in caplog.text
