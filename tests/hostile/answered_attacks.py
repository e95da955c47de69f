"""Attacks by forms that the language answers: each means a plain question, or moves no more.

A plain question means the same where the two plans are equal. Where no plainer form exists, one
person must move the answer by no more than a plain question that is bounded alike, and no row
may make it fail.
"""

from attack import answered, harmless

COUNT = "SELECT COUNT(*) FROM visits"
NORTH = "SELECT COUNT(*) FROM visits WHERE ward = 'north'"
BY_WARD = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
LINKED = "SELECT COUNT(*) FROM visits JOIN patients ON visits.patient = patients.id"
PUBLIC = "SELECT COUNT(*) FROM visits v JOIN regions r ON r.ward = v.ward"

ATTACKS = (
    *answered(
        "T7 days that are times",
        COUNT,
        "SELECT COUNT(*) FROM visits WHERE day > TIMESTAMP '2020-01-01'",
        "SELECT COUNT(*) FROM visits WHERE date_trunc('day', day) = day",
        "SELECT COUNT(*) FROM visits WHERE date_trunc('day', day) = DATE '2020-01-01'",
    ),
    *answered(
        "T7 days that are times",
        "SELECT COUNT(*) FROM visits GROUP BY DATE_TRUNC('month', until)",
        "SELECT COUNT(*) FROM visits GROUP BY DATE_TRUNC('month', DATE_TRUNC('day', until))",
    ),
    *harmless(
        "T13 the schema of the declared table itself",
        COUNT,
        "SELECT COUNT(*) FROM main.visits",
        'SELECT COUNT(*) FROM "main"."visits"',
    ),
    *harmless(
        "T18 texts of several parts",
        NORTH,
        "SELECT COUNT(*) FROM visits WHERE ward = concat('no', 'rth')",
        "SELECT COUNT(*) FROM visits WHERE ward = 'no' || 'rth'",
        "SELECT COUNT(*) FROM visits WHERE ward = 'no' 'rth'",
    ),
    *harmless(
        "T18 a text is no name",
        "SELECT COUNT(*) FROM visits WHERE ward = 'ab'",
        "SELECT COUNT(*) FROM visits WHERE ward = 'a' 'b'",
        "SELECT COUNT(*) FROM visits WHERE ward = 'a' || 'b'",
    ),
    *harmless(
        "T20 sets of answers",
        BY_WARD,
        "SELECT DISTINCT ward, COUNT(*) FROM visits GROUP BY ward",
        "SELECT ward, COUNT(*) FROM visits GROUP BY 1",
        "SELECT ward, COUNT(*) FROM visits GROUP BY ALL",
        "SELECT ward, COUNT(*) FROM visits GROUP BY ward FETCH FIRST 1 ROWS ONLY",
        "SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY 2",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n NULLS FIRST",
    ),
    *harmless(
        "T20 two keys in brackets",
        "SELECT COUNT(*) FROM visits GROUP BY ward, smoker",
        "SELECT COUNT(*) FROM visits GROUP BY (ward, smoker)",
    ),
    *harmless(
        "T20 a condition of one aggregate",
        "SELECT SUM(CASE WHEN age > 3 THEN age END) FROM visits",
        "SELECT SUM(age) FILTER (WHERE age > 3) FROM visits",
    ),
    *harmless(
        "T20 aggregates that the question leaves out",
        COUNT,
        "SELECT n FROM (SELECT COUNT(*) AS n, SUM(age) AS s FROM visits)",
        "WITH t AS (SELECT SUM(age) AS s, COUNT(*) AS n FROM visits) SELECT n FROM t",
    ),
    *harmless(
        "T7 constants",
        "SELECT COUNT(*) FROM visits WHERE 1 > 2",
        "SELECT COUNT(*) FROM visits WHERE MONTH(DATE '2020-01-01') > 2",
    ),
    *harmless(
        "T7 other words for a pattern",
        "SELECT COUNT(*) FROM visits WHERE ward ILIKE 'n%'",
        "SELECT COUNT(*) FROM visits WHERE ward ILIKE 'N%'",
        "SELECT COUNT(*) FROM visits WHERE ward ~~* 'n%'",
    ),
    *harmless(
        "T14 a person's own rows, by all columns",
        "SELECT SUM(n) FROM (SELECT person, SUM(age) AS n FROM visits GROUP BY person)",
        "SELECT SUM(n) FROM (SELECT person, SUM(age) AS n FROM visits GROUP BY ALL)",
    ),
    *harmless(
        "T7 a day of a period",
        "SELECT COUNT(*) FROM visits WHERE day >= '2020-01-01' AND day < '2020-02-01'",
        "SELECT COUNT(*) FROM visits WHERE date_trunc('month', day) = DATE '2020-01-01'",
        "SELECT COUNT(*) FROM visits WHERE '2020-01-01' = DATE_TRUNC('month', day)",
    ),
    *harmless(
        "T7 a part of a day",
        "SELECT COUNT(*) FROM visits WHERE EXTRACT(YEAR FROM until) > 2",
        "SELECT COUNT(*) FROM visits WHERE date_part('year', until) > 2",
    ),
    *harmless(
        "T7 days",
        "SELECT COUNT(*) FROM visits WHERE until - 1 > DATE '2020-01-01'",
        "SELECT COUNT(*) FROM visits WHERE until - INTERVAL 1 DAY > DATE '2020-01-01'",
        "SELECT COUNT(*) FROM visits WHERE until + INTERVAL '-1' DAY > DATE '2020-01-01'",
    ),
    *harmless(
        "T14 joins",
        LINKED,
        "SELECT COUNT(*) FROM visits, patients WHERE patient = patients.id",
        catalog="hospital",
    ),
    *harmless(
        "T14 a condition beside that of a join",
        LINKED + " WHERE age > 3",
        "SELECT COUNT(*) FROM visits JOIN patients ON patient = patients.id AND age > 3",
        catalog="hospital",
    ),
    *harmless(
        "T14 public tables",
        PUBLIC,
        "SELECT COUNT(*) FROM visits v JOIN regions r USING (ward)",
        "SELECT COUNT(*) FROM visits v JOIN main.regions r ON r.ward = v.ward",
        catalog="hospital",
    ),
    *harmless(
        "T14 a condition on a public table",
        PUBLIC + " WHERE r.beds > 3",
        "SELECT COUNT(*) FROM visits v JOIN regions r ON r.ward = v.ward AND r.beds > 3",
        catalog="hospital",
    ),
    *answered(
        "T7 functions of a row that engines let fail",
        COUNT,
        "SELECT COUNT(*) FROM visits WHERE CAST(age AS TINYINT) > 0",
        "SELECT COUNT(*) FROM visits WHERE day + INTERVAL 1 DAY > DATE '2020-01-01'",
        "SELECT COUNT(*) FROM visits WHERE until - 1 > DATE '2020-01-01'",
        "SELECT COUNT(*) FROM visits WHERE sqrt(age - 200) > 1",
        "SELECT COUNT(*) FROM visits WHERE ln(age) > 1",
        "SELECT COUNT(*) FROM visits WHERE abs(age) > 1",
        "SELECT COUNT(*) FROM visits WHERE substring(ward, 1, 1) = 'n'",
        "SELECT COUNT(*) FROM visits WHERE ward ILIKE 'N%'",
        "SELECT COUNT(*) FROM visits WHERE (CASE WHEN smoker THEN ward END) LIKE 'n%'",
        "SELECT COUNT(*) FROM visits WHERE ward = 'a' OR 'a'='a' --'",
    ),
    *answered(
        "T7 computed groups",
        BY_WARD,
        "SELECT COUNT(*) FROM visits GROUP BY age + 1",
        "SELECT COUNT(*) FROM visits GROUP BY FLOOR(age / 10) * 5",
    ),
    *answered(
        "T20 a truth is 0 or 1",
        COUNT,
        "SELECT SUM(smoker) FROM visits",
    ),
    *answered(
        "T15 distinct values are bounded rows",
        COUNT,
        "SELECT COUNT(DISTINCT age) FROM visits",
        "SELECT COUNT(DISTINCT ward) FROM visits",
    ),
    *answered(
        "T15 persons under a condition",
        "SELECT COUNT(DISTINCT person) FROM visits",
        "SELECT COUNT(DISTINCT CASE WHEN age > 3 THEN person END) FROM visits",
    ),
    *answered(
        "T15 distinct values that lead to a person",
        COUNT,
        "SELECT COUNT(DISTINCT patient) FROM visits",
        "SELECT COUNT(DISTINCT id) FROM patients",
        catalog="hospital",
    ),
    *answered(
        "T14 rows of the same person elsewhere",
        COUNT,
        "SELECT COUNT(*) FROM visits WHERE person IN (SELECT person FROM visits)",
    ),
    *answered(
        "T14 rows of a column that leads to a person",
        "SELECT SUM(n) FROM (SELECT p.person, v.ward, COUNT(*) AS n FROM visits v"
        " JOIN patients p ON v.patient = p.id GROUP BY p.person, v.ward)",
        "SELECT SUM(n) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient)",
        catalog="hospital",
    ),
    *answered(
        "T20 two columns at once",
        "SELECT COVAR_POP(age, pay), CORR(age, pay) FROM visits",
        "SELECT CORR(age, pay), COVAR_POP(age, pay) FROM visits",
    ),
    *answered(
        "T14 rows without a partner",
        LINKED,
        "SELECT COUNT(*) FROM visits LEFT JOIN patients ON patient = patients.id",
        "SELECT COUNT(*) FROM visits v LEFT JOIN patients p ON v.patient = p.id",
        catalog="hospital",
    ),
    *answered(
        "T14 distinct values of a public table",
        PUBLIC,
        "SELECT COUNT(DISTINCT region) FROM visits v JOIN regions r ON r.ward = v.ward",
        catalog="hospital",
    ),
)
