"""Attacks by size: what would take for ever, or more memory than there is (T9, T11)."""

# ruff: noqa: S608 - an attack is a line

from attack import harmless, refused

MANY = "SELECT COUNT(*) FROM visits WHERE "

ATTACKS = (
    *refused(
        "T11 size",
        MANY + "age > " + "9" * 5_000,
        MANY + "age > 1e999999999",
        MANY + "age > 1e400",
        MANY + "pay IN (1e400)",
        MANY + "age > 9223372036854775808",
        MANY + "age IN (9223372036854775808)",
        MANY + "pay > 1e-400",
        "SELECT COUNT(*) FROM visits LIMIT " + "9" * 5_000,
        MANY + "ward = '" + "x" * 30_000 + "'",
        "SELECT COUNT(*) AS " + "n" * 15_000 + " FROM visits",
        "SELECT COUNT(*) FROM " + "t" * 15_000,
        MANY + "a" * 15_000 + " > 1",
        MANY + "(" * 9_000 + "smoker" + ")" * 9_000,
        MANY + "NOT " * 4_000 + "smoker",
        MANY + "-" * 1 + " -" * 4_000 + "age > 1",
        MANY + " OR ".join(["smoker"] * 2_000),
        MANY + "age" + "+1" * 5_000 + " > 1",
        "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 600 + "visits" + ")" * 600,
        MANY + "CASE WHEN " * 900 + "smoker" + " THEN TRUE END" * 900,
        "SELECT " + ", ".join(f"SUM(age + {i})" for i in range(1_000)) + " FROM visits",
        "SELECT " + ", ".join(f"MEDIAN(age + {i})" for i in range(150)) + " FROM visits",
        "SELECT COUNT(*) FROM visits GROUP BY "
        + ", ".join(f"CASE WHEN age > {i} THEN 1 ELSE 0 END" for i in range(60)),
        "SELECT COUNT(*) FROM visits GROUP BY FLOOR((" + "age + " * 80 + "age) / 99) * 99",
        "SELECT COUNT(*) FROM visits GROUP BY FLOOR(age * age * age / 1) * 1",
        "SELECT SUM(" + "age * " * 20 + "age) FROM visits",
        "SELECT SUM(CASE WHEN smoker THEN 1e-18 ELSE 1e18 END) FROM visits",
        "SELECT AVG(pay * pay * pay * pay) FROM visits",
    ),
    *refused(
        "T9 names that double",
        "SELECT COUNT(*) AS a0"
        + "".join(f", a{i} + a{i} AS a{i + 1}" for i in range(60))
        + " FROM visits",
        "WITH t0 AS (SELECT age AS a FROM visits)"
        + "".join(f", t{i + 1} AS (SELECT a + a AS a FROM t{i})" for i in range(60))
        + " SELECT SUM(a) FROM t60",
        "WITH t0 AS (SELECT age AS a FROM visits)"
        + "".join(f", t{i + 1} AS (SELECT a{'+0' * 80} AS a FROM t{i})" for i in range(40))
        + " SELECT SUM(a) FROM t40",
        MANY + "CASE WHEN " * 24 + "age" + " BETWEEN 1 AND 2 THEN 1 ELSE 0 END" * 24 + " = 1",
        MANY + "CASE " * 24 + "age" + " WHEN 1 THEN 1 WHEN 2 THEN 2 END" * 24 + " = 1",
    ),
    *harmless(
        "T9 much that means little",
        "SELECT COUNT(*) FROM visits WHERE smoker",
        MANY + " OR ".join(["smoker"] * 90),
        MANY + "(" * 20 + "smoker" + ")" * 20,
    ),
)
