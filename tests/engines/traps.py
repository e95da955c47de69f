"""Rows on which naive SQL fails, one for each node of a question."""

from dataclasses import dataclass

from tacit.engines.reference import Cell


@dataclass(frozen=True, slots=True)
class Trap:
    """A node, our question with it, what naive SQL would run, and the row that it fails on."""

    node: str
    ours: str
    naive: str
    column: str
    cell: Cell


TRAPS = (
    Trap("Add", "SUM(big + 1)", "MAX(big + 1)", "big", 2**63 - 1),
    Trap("Subtract", "SUM(big - 1)", "SUM(big - 1)", "big", -(2**63)),
    Trap("Multiply", "SUM(big * 2)", "SUM(big * 2)", "big", 2**62),
    Trap("Multiply by -1", "SUM(-big)", "SUM(-big)", "big", -(2**63)),
    Trap("Multiply decimals", "SUM(fine * 2)", "SUM(fine * 2.00)", "fine", "9" * 20),
    Trap("Sum", "SUM(huge)", "CAST(SUM(huge) AS BIGINT)", "huge", 2**127 - 2**64),
    Trap("Sum of floats", "SUM(double)", "CAST(SUM(double) AS BIGINT)", "double", 1e300),
    Trap("Sum and NaN", "SUM(single)", "CAST(SUM(single) AS BIGINT)", "single", float("nan")),
    Trap("Mean", "AVG(huge)", "CAST(AVG(huge) AS BIGINT)", "huge", 2**127 - 2**64),
    Trap("Variance", "VARIANCE(double)", "CAST(VARIANCE(double) AS BIGINT)", "double", 1.7e308),
    Trap(
        "Deviation", "STDDEV(double)", "CAST(STDDEV(double) AS BIGINT)", "double", float("inf")
    ),
    Trap(
        "PairStatistic",
        "CORR(double, big), REGR_SLOPE(huge, double)",
        "CAST(MAX(double) AS BIGINT) + COVAR_POP(double, big)",
        "double",
        1.7e308,
    ),
    Trap("Quantile", "MEDIAN(double)", "MEDIAN(CAST(double AS INT))", "double", float("nan")),
    Trap("Least", "MIN(double)", "CAST(MIN(double) AS INT)", "double", float("-inf")),
    Trap("Greatest", "MAX(double)", "CAST(MAX(double) AS INT)", "double", float("inf")),
    Trap("CountValues", "COUNT(label)", "COUNT(CAST(label AS INT))", "label", "SECRET-hiv+"),
    Trap("CountRows", "COUNT(*)", "SUM(CAST(label AS INT))", "label", "SECRET-hiv+"),
    Trap("CountUnits", "COUNT(DISTINCT person)", "SUM(label::INT)", "label", "SECRET-hiv+"),
    Trap(
        "CountDistinct",
        "COUNT(DISTINCT label)",
        "COUNT(DISTINCT CAST(label AS INT))",
        "label",
        "SECRET-hiv+",
    ),
    Trap("Distinct floats", "COUNT(DISTINCT double)", "SUM(double::INT)", "double", 1e300),
    Trap(
        "Compare",
        "COUNT(*) FROM specials WHERE label = '12'",
        "COUNT(*) FROM specials WHERE label = 12",
        "label",
        "x",
    ),
    Trap(
        "OneOf",
        "COUNT(*) FROM specials WHERE label IN ('12')",
        "COUNT(*) FROM specials WHERE label IN (12)",
        "label",
        "x",
    ),
    Trap(
        "Compare decimals",
        "COUNT(*) FROM specials WHERE fine > 0.000000000000000001",
        "COUNT(*) FROM specials WHERE fine > 0.00000000000000000000000000000000001",
        "fine",
        "9" * 20,
    ),
    Trap(
        "Not, And, Or",
        "COUNT(*) FROM specials WHERE NOT (ubig < 9 AND big > 3 OR flag)",
        "COUNT(*) FROM specials WHERE NOT (CAST(ubig - 7 AS UTINYINT) * 2 < 9)",
        "ubig",
        0,
    ),
    Trap(
        "IsNull",
        "COUNT(*) FROM specials WHERE double IS NULL",
        "COUNT(*) FROM specials WHERE CAST(double AS INT) IS NULL",
        "double",
        float("inf"),
    ),
    Trap(
        "Case",
        "SUM(CASE WHEN big > 3 THEN big ELSE 0 END)",
        "SUM(CASE WHEN big > 3 THEN big * 4 ELSE 0 END)",
        "big",
        2**62,
    ),
    Trap(
        "Bin",
        "COUNT(*) FROM specials GROUP BY FLOOR(double / 10) * 10",
        "COUNT(*) FROM specials GROUP BY CAST(FLOOR(double / 10) AS INT) * 10",
        "double",
        1e300,
    ),
    Trap(
        "Like",
        "COUNT(*) FROM specials WHERE tag LIKE 'n%'",
        "COUNT(*) FROM specials WHERE 'n' LIKE tag ESCAPE '!'",
        "tag",
        "!",
    ),
    Trap(
        "DatePart",
        "SUM(YEAR(until))",
        "SUM(CAST(YEAR(until) AS SMALLINT))",
        "until",
        "5881580-07-10",
    ),
    Trap(
        "DatePart as a key",
        "COUNT(*) FROM specials GROUP BY MONTH(until)",
        "COUNT(*) FROM specials GROUP BY CAST(YEAR(until) AS SMALLINT)",
        "until",
        "5877642-06-25 (BC)",
    ),
    Trap(
        "Subtract days",
        "SUM(until - DATE '2000-01-01')",
        "SUM(CAST(until - DATE '2000-01-01' AS SMALLINT))",
        "until",
        "infinity",
    ),
    *(
        Trap(
            f"Period of {unit}",
            f"COUNT(*) FROM specials GROUP BY DATE_TRUNC('{unit}', until)",
            f"COUNT(*) FROM specials GROUP BY DATE_TRUNC('{unit}', until)",
            "until",
            "5881580-07-10",
        )
        for unit in ("year", "quarter", "month", "week")
    ),
    Trap(
        "Period of day",
        "COUNT(*) FROM specials GROUP BY DATE_TRUNC('day', until)",
        "COUNT(*) FROM specials GROUP BY until::TIMESTAMP",
        "until",
        "5881580-07-10",
    ),
    Trap(
        "PerUnit of sums",
        "AVG(t) FROM (SELECT person, SUM(huge) AS t FROM specials GROUP BY person)",
        "AVG(t) FROM (SELECT person, SUM(huge)::BIGINT AS t FROM specials GROUP BY person)",
        "huge",
        2**127 - 2**64,
    ),
    Trap(
        "PerUnit of means",
        "AVG(t) FROM (SELECT person, AVG(double) AS t FROM specials GROUP BY person)",
        "AVG(t) FROM (SELECT person, AVG(double)::INT AS t FROM specials GROUP BY person)",
        "double",
        float("inf"),
    ),
    Trap(
        "PerUnit of counts",
        "SUM(n) FROM (SELECT person, label, COUNT(double) AS n FROM specials"
        " GROUP BY person, label HAVING MIN(fine) > -3)",
        "SUM(n) FROM (SELECT person, label::INT AS n FROM specials)",
        "label",
        "SECRET-hiv+",
    ),
    Trap(
        "Divide", "SUM(big) / COUNT(*)", "SUM(1 // CAST(label AS INT))", "label", "SECRET-hiv+"
    ),
)
