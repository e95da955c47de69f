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
    ("SELECT COUNT(*) FROM visits WHERE", "not SQL that can be read"),
    ("SELECT COUNT(*) FROM visits; SELECT COUNT(*) FROM visits", "one SELECT"),
    ("x" * (LONGEST_TEXT + 1), "at most 20000 characters"),
    ("SELECT COUNT(*) FROM visits\0", "no NUL"),
    ("SELECT COUNT(*)", "says FROM which dataset"),
    ("SELECT * FROM visits", "Rows are not released"),
    ("SELECT ward FROM visits GROUP BY ward", "at least one aggregate"),
    ("SELECT DISTINCT ward, COUNT(*) FROM visits GROUP BY ward", "DISTINCT in SELECT"),
    ("SELECT COUNT(*) FROM visits LEFT JOIN visits v ON v.age = 3", "LEFT JOIN is for public"),
    ("SELECT WIDTH_BUCKET(age, 0, 9, 3), COUNT(*) FROM visits", "Bins are written"),
    ("SELECT QUANTILE(age) FROM visits", r"written QUANTILE\(x, 0.9\)"),
    ("SELECT QUANTILE(age, 'a') FROM visits", "as one number"),
    ("SELECT QUANTILE(age, TRUE) FROM visits", "as one number"),
    (
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age, pay) FROM visits",
        "A percentile is",
    ),
    ("SELECT PERCENTILE_CONT(0.5) FROM visits", "A quantile is written"),
    ("SELECT MAX(+) FROM visits", "missing in MAX"),
    ("SELECT COUNT() FROM visits", r"COUNT\(\*\) counts rows"),
    ("SELECT COUNT(DISTINCT ward) FROM visits", r"COUNT\(DISTINCT visits.person\)"),
    ("SELECT age, COUNT(*) FROM visits", "neither an aggregate nor in GROUP BY"),
    ("SELECT COUNT(*) FROM visits GROUP BY 1", "a constant says nothing"),
    ("SELECT COUNT(*) FROM visits ORDER BY ('a')", "a constant says nothing"),
    ("SELECT b AS a, COUNT(*) AS b FROM visits", "'b' is not known yet"),
    ("SELECT COUNT(*) AS a, COUNT(*) AS a FROM visits", "two are called 'a'"),
    ("SELECT COUNT(*) FROM visits LIMIT 1.5", "LIMIT takes a whole number"),
    ("SELECT COUNT(*) FROM visits WHERE age IS TRUE", "IS NULL and IS NOT NULL"),
    ("SELECT COUNT(*) FROM visits WHERE age IN (NULL)", "without NULL"),
    ("SELECT COUNT(*) FROM visits WHERE age IN (pay)", "written out"),
    ("SELECT COUNT(*) FROM visits WHERE CAST(age AS INT) > 1", "CAST is known for days alone"),
    ("SELECT COUNT(*) FROM visits WHERE day > DATE '2020-02-30'", "A day is written"),
    ("SELECT COUNT(*) FROM visits WHERE day > DATE '20200228'", "A day is written"),
    ("SELECT COUNT(*) FROM visits WHERE age > -TRUE", "takes numbers"),
    ("SELECT COUNT(*) FROM visits WHERE age > 1e40", "at most 40 digits"),
    ("SELECT COUNT(*) FROM visits WHERE FLOOR(age) = 3", "FLOOR is known in bins alone"),
    ("SELECT COUNT(*) FROM visits GROUP BY FLOOR(age / TRUE) * TRUE", "FLOOR is known in bins"),
    ("SELECT COUNT(*) FROM visits WHERE SUM(age) > 3", "SUM cannot stand here"),
    ("SELECT COUNT(*) FROM visits WHERE age" + "+1" * DEEPEST + " > 3", "nested too deeply"),
    ("SELECT SUM(EXTRACT(EPOCH FROM day)) FROM visits", "EXTRACT takes one of YEAR, QUARTER"),
    ("SELECT SUM(EXTRACT('year' FROM day)) FROM visits", "EXTRACT takes one of YEAR, QUARTER"),
    (
        "SELECT COUNT(*) FROM visits GROUP BY DATE_TRUNC('hour', day)",
        "one of 'year', 'quarter'",
    ),
    (
        "SELECT MONTH(day), COUNT(*) FROM visits",
        "'day' is neither an aggregate nor in GROUP BY",
    ),
    ("SELECT COUNT(*) FROM visits WHERE ward LIKE doctor", "a pattern that is written out"),
    ("SELECT COUNT(*) FROM visits WHERE ward LIKE NULL", "a pattern that is written out"),
    ("SELECT COUNT(*) FROM visits WHERE ward LIKE 'a' ESCAPE '!'", "LIKE has no ESCAPE"),
    ("SELECT COUNT(*) FROM visits WHERE ward ILIKE 'a'", "tells capitals from small letters"),
    ("SELECT COUNT(*) FROM visits WHERE ward GLOB 'a*'", "Patterns are written with LIKE"),
    ("SELECT COUNT(*) FROM (SELECT age, age FROM visits)", "distinct names"),
    ("SELECT COUNT(*) FROM (SELECT age + 1 FROM visits)", "have names"),
    ("SELECT COUNT(*) FROM (SELECT ward FROM visits GROUP BY ward)", "GROUP BY visits.person"),
    ("SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM visits)", "GROUP BY visits.person"),
    ("SELECT SUM(n) FROM (SELECT COUNT(*) FROM visits GROUP BY person)", "name each with AS"),
    (
        "SELECT SUM(n) FROM (SELECT age, COUNT(*) AS n FROM visits GROUP BY person)",
        "'age' is neither",
    ),
    (
        "SELECT SUM(n) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person, age + 1)",
        "names columns of its datasets",
    ),
    (
        "SELECT SUM(n) FROM (SELECT person AS n, COUNT(*) AS n FROM visits GROUP BY person)",
        "distinct names",
    ),
    ("SELECT COUNT(*) FROM (SELECT age FROM visits LIMIT 3)", "LIMIT in a query below"),
    ("WITH t AS (SELECT 1 UNION SELECT 2) SELECT COUNT(*) FROM t", "UNION"),
    (
        "WITH t AS (WITH u AS (SELECT * FROM visits) SELECT * FROM u) SELECT COUNT(*) FROM t",
        "top",
    ),
]
UNKNOWN = [
    ("SELECT COUNT(*) FROM nowhere", "no dataset 'nowhere'; there are: visits"),
    ("SELECT SUM(wage) FROM visits", "no column 'wage'; there are person, ward"),
    ("SELECT SUM(v.age) FROM visits", "no table 'v' in this question; there are visits"),
    ("SELECT SUM(visits.wage) FROM visits", "'visits' has no column 'wage'; it has person"),
]
LINKED = [
    (
        "SELECT COUNT(id) FROM visits JOIN patients ON patient = patients.id",
        "each of visits, pat",
    ),
    ("SELECT COUNT(*) FROM visits v JOIN patients v ON v.id = 3", "Two tables"),
    ("SELECT COUNT(*) FROM visits JOIN patients ON patient = 3", "ON equates a column"),
    ("SELECT COUNT(*) FROM visits SEMI JOIN patients ON patient = patients.id", "inner joins"),
    ("SELECT COUNT(*) FROM visits JOIN patients ON TRUE", "JOIN dataset ON"),
    (
        "WITH p AS (SELECT * FROM patients) SELECT COUNT(*) FROM visits JOIN p ON TRUE",
        "JOIN dataset",
    ),
    (
        "WITH p AS (SELECT * FROM patients) SELECT COUNT(*) FROM visits JOIN p ON patient = p.id",
        "'p' is a query here",
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
    with pytest.raises(InvalidValue, match="not SQL that can be read"):
        parse("SELECT -> 3", CLINIC)
