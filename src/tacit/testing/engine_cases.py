"""Questions that every engine must answer as the reference does, by what they are about."""

QUESTIONS: dict[str, tuple[str, ...]] = {
    "counts": (
        "SELECT COUNT(*), COUNT(DISTINCT person) FROM visits",
        "SELECT COUNT(pay), COUNT(ward), COUNT(day), COUNT(seen) FROM visits",
        "SELECT COUNT(cost), COUNT(smoker) FROM visits",
    ),
    "sums": (
        "SELECT SUM(age), SUM(age * 3 - 1) FROM visits",
        "SELECT SUM(pay), SUM(0.5 * pay - 2 * age) FROM visits",
        "SELECT SUM(cost), SUM(age * cost) FROM visits",
    ),
    "kept rows": (
        "SELECT AVG(age), VARIANCE(age) FROM visits",
        "SELECT ward, AVG(pay) FROM visits GROUP BY ward",
        "SELECT ward, AVG(cost), STDDEV(age) FROM visits GROUP BY ward",
    ),
    "trees": (
        "SELECT MEDIAN(age), MAX(age) FROM visits",
        "SELECT ward, MEDIAN(pay) FROM visits GROUP BY ward",
        "SELECT MIN(cost), QUANTILE(cost, 0.9) FROM visits",
    ),
    "comparisons": (
        "SELECT COUNT(*) FROM visits WHERE age < 17.5 OR age = 40",
        "SELECT COUNT(*) FROM visits WHERE room >= 4611686018427387903",
        "SELECT COUNT(*) FROM visits WHERE age <> room AND NOT age IN (1, 2, 120)",
        "SELECT COUNT(*) FROM visits WHERE pay > 0.1 OR pay = 0",
        "SELECT COUNT(*) FROM visits WHERE cost > -10.5 AND cost <> 99.99",
        "SELECT COUNT(*) FROM visits WHERE cost > 0.000000000000000001",
        "SELECT COUNT(*) FROM visits WHERE pay BETWEEN age AND 99.9 OR pay IS NULL",
        "SELECT COUNT(*) FROM visits WHERE NOT (smoker OR age > 30)",
        "SELECT COUNT(*) FROM visits WHERE age * 2 - 1 = 33 OR NULL",
    ),
    "text": (
        "SELECT COUNT(*) FROM visits WHERE ward = 'it''s' OR ward = ''",
        "SELECT COUNT(*) FROM visits WHERE doctor IN ('\\', '😀', 'NULL', 'Ärztin')",
        "SELECT COUNT(*) FROM visits WHERE ward <> doctor",
        "SELECT COUNT(*) FROM visits WHERE ward LIKE '%o_th' OR ward NOT LIKE 'a\\%'",
    ),
    "days": (
        "SELECT COUNT(*) FROM visits WHERE day < DATE '2000-01-01' OR seen < DATE '2020-02-29'",
        "SELECT SUM(until - DATE '2020-02-29'), AVG(YEAR(until)) FROM visits",
        "SELECT SUM(EXTRACT(QUARTER FROM day)), SUM(EXTRACT(DOW FROM day)) FROM visits",
        "SELECT DATE_TRUNC('week', day) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT DATE_TRUNC('quarter', until) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT day, DAYOFWEEK(until) AS k, COUNT(*) FROM visits GROUP BY day, k",
    ),
    "groups": (
        "SELECT ward, smoker, COUNT(*) FROM visits GROUP BY ward, smoker",
        "SELECT FLOOR(age / 10) * 10 AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT FLOOR(pay / 25) * 25 AS k, SUM(age) FROM visits GROUP BY k",
        "SELECT FLOOR(cost / 7) * 7 AS k, COUNT(*) FROM visits GROUP BY k",
        (
            "SELECT CASE WHEN age < 18 THEN 'child' ELSE 'adult' END AS k, COUNT(*) FROM visits"
            " GROUP BY k"
        ),
        "SELECT doctor, COUNT(*), SUM(age) FROM visits GROUP BY doctor",
        "SELECT room, AVG(age), MEDIAN(age) FROM visits GROUP BY room",
        "SELECT doctor, ward, COUNT(DISTINCT person) FROM visits GROUP BY doctor, ward",
    ),
    "tables side by side": (
        "SELECT ward, SUM(value) FROM labs JOIN visits ON visit = visits.id GROUP BY ward",
        "SELECT AVG(age * value) FROM visits v JOIN labs l ON l.visit = v.id WHERE age > 9",
        (
            "SELECT region, COUNT(*), AVG(beds + age) FROM visits v JOIN places p"
            " ON v.ward = p.ward GROUP BY region"
        ),
        (
            "SELECT SUM(beds), COUNT(beds) FROM visits LEFT JOIN places"
            " ON places.ward = visits.ward WHERE region IS NULL OR beds > 3"
        ),
    ),
    "each person": (
        "SELECT AVG(n) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person)",
        "SELECT AVG(m) FROM (SELECT person, AVG(pay) AS m FROM visits GROUP BY person)",
        (
            "SELECT SUM(m) FROM (SELECT person, AVG(age) AS m, MIN(age) AS l FROM visits"
            " GROUP BY person) WHERE l < 18"
        ),
        (
            "SELECT ward, MEDIAN(m) FROM (SELECT person, ward, MAX(age) AS m FROM visits"
            " GROUP BY person, ward) GROUP BY ward"
        ),
        "SELECT AVG(t) FROM (SELECT person, SUM(cost) AS t FROM visits GROUP BY person)",
    ),
}
