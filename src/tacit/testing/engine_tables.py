"""The questions and the tables with hostile values by which engines are compared.

The questions are grouped by topic.
"""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import cycle, islice
from math import inf, nan

from tacit import core
from tacit.engines.reference import Cell, Row, Tables

QUESTIONS: dict[str, tuple[str, ...]] = {
    "counts": (
        "SELECT COUNT(*), COUNT(DISTINCT person) FROM visits",
        "SELECT COUNT(pay), COUNT(ward), COUNT(day), COUNT(seen) FROM visits",
        "SELECT COUNT(cost), COUNT(smoker) FROM visits",
        "SELECT COUNT(DISTINCT doctor), COUNT(DISTINCT room), COUNT(DISTINCT cost) FROM visits",
        "SELECT ward, COUNT(DISTINCT day), COUNT(DISTINCT pay) FROM visits GROUP BY ward",
    ),
    "sums": (
        "SELECT SUM(age), SUM(age * 3 - 1) FROM visits",
        "SELECT SUM(pay), SUM(0.5 * pay - 2 * age) FROM visits",
        "SELECT SUM(cost), SUM(age * cost) FROM visits",
    ),
    "kept rows": (
        "SELECT AVG(age), VARIANCE(age) FROM visits",
        "SELECT CORR(age, pay), COVAR_SAMP(cost, age) FROM visits",
        "SELECT ward, REGR_SLOPE(pay, age), REGR_INTERCEPT(pay, age) FROM visits GROUP BY ward",
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
    "NULL": (
        "SELECT SUM(COALESCE(age, 7)), AVG(COALESCE(pay, cost, -0.05)) FROM visits",
        "SELECT SUM(NULLIF(age, 40)), COUNT(NULLIF(ward, '')) FROM visits",
        "SELECT COALESCE(ward, 'unknown') AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT NULLIF(ward, 'north') AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT COUNT(*) FROM visits WHERE COALESCE(smoker, age > 30, FALSE)",
        "SELECT COUNT(*) FROM visits WHERE COALESCE(ward, doctor) <> 'north'",
        "SELECT COALESCE(smoker, FALSE) AS k, age > 30 AS o, COUNT(*) FROM visits GROUP BY k,o",
    ),
    "functions of numbers": (
        "SELECT SUM(ABS(cost)), SUM(SIGN(cost)), COUNT(NULLIF(cost, 0)) FROM visits",
        "SELECT SUM(age / 3), SUM(cost / -0.7), AVG(pay / 8) FROM visits",
        "SELECT SUM(FLOOR(cost)), SUM(CEIL(cost)), SUM(ROUND(cost)) FROM visits",
        "SELECT SUM(TRUNC(cost)), SUM(TRUNC(cost / -3, 1)), SUM(CEIL(-age / 9)) FROM visits",
        "SELECT SUM(ROUND(cost, 1)), SUM(ROUND(-cost / 4, 1)), SUM(ROUND(age, -1)) FROM visits",
        "SELECT SUM(FLOOR(pay)), SUM(ROUND(pay * -2)), SUM(TRUNC(-age / 7)) FROM visits",
        "SELECT SUM(CAST(cost AS INTEGER)), SUM(CAST(smoker AS INTEGER)) FROM visits",
        "SELECT SUM(GREATEST(age, cost, 3)), SUM(LEAST(pay, 50)) FROM visits",
        "SELECT SUM(LEAST(age, pay)), SUM(GREATEST(cost, NULL)) FROM visits",
        "SELECT SUM(POWER(age, 2)), AVG(POWER(cost - 20, 3)) FROM visits",
        "SELECT SUM(SQRT(age)), SUM(SQRT(cost)), AVG(LN(age)), AVG(LN(cost)) FROM visits",
        "SELECT AVG(LN(pay + 1)), SUM(EXP(cost / 10)), AVG(EXP(-pay / 3)) FROM visits",
        "SELECT COUNT(*) FROM visits WHERE CAST(cost AS INTEGER) > 5 OR SQRT(age) > 10",
        "SELECT ROUND(age, -1) AS k, COUNT(*) FROM visits GROUP BY k",
        (
            "SELECT ABS(value) AS k, FLOOR(cost / 25) AS c, COUNT(*) FROM labs JOIN visits"
            " ON visit = visits.id GROUP BY k, c"
        ),
    ),
    "functions of texts": (
        "SELECT UPPER(ward) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT SUBSTR(COALESCE(ward, 'none'), 1, 1) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT CONCAT(ward, '!') AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT COUNT(*) FROM visits WHERE LOWER(TRIM(ward)) = 'north' OR ward || 'x' IN ('x')",
        "SELECT COUNT(*) FROM visits WHERE ward ILIKE 'N%' OR UPPER(ward) NOT LIKE '%S'",
        "SELECT COUNT(*) FROM visits WHERE UPPER(ward) <> 'NORTH' AND NOT UPPER(ward) IS NULL",
        "SELECT COUNT(*) FROM visits WHERE LTRIM(ward, 'n') = 'orth' OR RTRIM(ward) = ''",
    ),
    "intervals": (
        "SELECT COUNT(*) FROM visits WHERE day + INTERVAL 7 DAY > DATE '2020-02-29'",
        "SELECT COUNT(*) FROM visits WHERE until - INTERVAL 2 WEEK < day OR until + 3 = day",
        "SELECT SUM(DATE_DIFF('day', until, DATE '2020-03-01')) FROM visits",
        "SELECT SUM(DATE_DIFF('month', DATE '2020-01-31', until)) FROM visits",
        "SELECT SUM(DATE_DIFF('week', DATE '2020-01-31', until)) FROM visits",
        "SELECT AVG(COALESCE(until, DATE '2020-06-01') - DATE '2020-01-01') FROM visits",
        "SELECT SUM(EXTRACT(WEEK FROM day)), SUM(EXTRACT(DOY FROM day)) FROM visits",
        "SELECT SUM(EXTRACT(ISODOW FROM day)), SUM(EXTRACT(ISOYEAR FROM until)) FROM visits",
        "SELECT SUM(EXTRACT(DECADE FROM until)), SUM(EXTRACT(CENTURY FROM until)) FROM visits",
        "SELECT SUM(EXTRACT(MILLENNIUM FROM until)) FROM visits WHERE until IS NOT NULL",
        "SELECT EXTRACT(DOY FROM day) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT EXTRACT(WEEK FROM day) AS k, COUNT(*) FROM visits GROUP BY k",
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
    "rows of the same person elsewhere": (
        "SELECT COUNT(*) FROM visits WHERE id NOT IN (SELECT visit FROM labs WHERE value > 0)",
        (
            "SELECT ward, COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM labs l"
            " WHERE l.visit = v.id AND value IS NOT NULL) GROUP BY ward"
        ),
        (
            "SELECT COUNT(*) FROM visits v WHERE doctor NOT IN (SELECT w.doctor FROM visits w"
            " WHERE w.person = v.person AND w.age > 30)"
        ),
        (
            "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE"
            " w.person = v.person AND w.ward = v.ward AND w.day = v.until)"
        ),
        (
            "SELECT COUNT(DISTINCT person) FROM visits WHERE person IN (SELECT person"
            " FROM visits GROUP BY person HAVING COUNT(*) > 2)"
        ),
        "SELECT COUNT(*), COUNT(value) FROM visits LEFT JOIN labs ON visit = visits.id",
    ),
}


# ------------------------------------------------------------------ engine tables
# Three tables with all values about which engines disagree, for the contract of an engine.
#
# The tables of a clinic: visits name the person, labs link to visits, and a public table has
# the region of each ward.

PEOPLE: tuple[Cell, ...] = ("a", "b", " a", "A", "", "it's", "NULL", "Ä", "a|b", "\\", None)
"""Names that are easily confused with each other or with NULL; the last one is NULL."""

MOST_ROWS = 7
"""The most rows of a person; the first person has this number."""

WARDS = ("north", "south", "it's", "a\\b", "")
VISITS = (
    core.Column("id", core.Kind.INTEGER),
    core.Column("person", core.Kind.TEXT),
    core.Column("ward", core.Kind.TEXT, keys=core.Keys(WARDS)),
    core.Column("age", core.Kind.INTEGER, bounds=core.Bounds.of(0, 120)),
    core.Column("pay", core.Kind.FLOAT, bounds=core.Bounds.of("-0.1", 100)),
    core.Column(
        "cost",
        core.Kind.DECIMAL,
        bounds=core.Bounds.of("-10.5", "99.99"),
        step=Fraction(1, 100),
    ),
    core.Column("smoker", core.Kind.BOOLEAN),
    core.Column("day", core.Kind.DATE),
    core.Column(
        "until", core.Kind.DATE, bounds=core.Bounds.days(date(2019, 12, 30), date(2021, 3, 1))
    ),
    core.Column("seen", core.Kind.TIMESTAMP),
    core.Column("doctor", core.Kind.TEXT),
    core.Column("room", core.Kind.INTEGER),
)
LABS = (
    core.Column("visit", core.Kind.INTEGER),
    core.Column("value", core.Kind.INTEGER, bounds=core.Bounds.of(-5, 5)),
)
PLACES = (
    core.Column("ward", core.Kind.TEXT),
    core.Column("region", core.Kind.TEXT, keys=core.Keys(("hills", "coast"))),
    core.Column("beds", core.Kind.INTEGER, bounds=core.Bounds.of(0, 50)),
)
WHERE: tuple[Row, ...] = (
    {"ward": "north", "region": "hills", "beds": 30},
    {"ward": "north", "region": "coast", "beds": -7},
    {"ward": "north", "region": "coast", "beds": -7},
    {"ward": "elsewhere", "region": None, "beds": None},
    {"ward": None, "region": "hills", "beds": 2**63 - 1},
)
"""The public table, in which a ward occurs once, several times or not at all."""

CELLS: dict[str, Sequence[Cell]] = {
    "ward": ("north", *WARDS, "elsewhere", None, "NULL", "north|"),
    "age": (40, None, 120, 121, -1, 0, 2**63 - 1, -(2**63), 17, 18, 2**53 + 1),
    "pay": (
        *(0.1, nan, None, inf, -inf, -0.0, 1e308, -1.7976931348623157e308, 5e-324, 50.5),
        *(99.99999999999999, 100.00000000000001, 2.0**-33, 1 / 3, 0.5, 2.0**63),
    ),
    "cost": tuple(
        None if text is None else Decimal(text)
        for text in ("9.99", None, "-10.5", "9999999999999999.99", "0", "-0.01", "99.99", "5")
    ),
    "smoker": (True, None, False),
    "day": (date(2000, 2, 29), date.min, date.max, None, date(1969, 12, 31), date(2024, 6, 1)),
    "until": (
        date(2020, 2, 29),
        date.max,
        None,
        date.min,
        date(2019, 12, 30),
        date(2021, 3, 1),
    ),
    "seen": tuple(
        None if moment is None else datetime.fromisoformat(moment)
        for moment in ("2020-02-29", "2020-02-28T23:59:59.999999", None, "0001-01-02")
    ),
    "doctor": ("who", "no", None, "", "it's", "no|", "Ärztin", "a\nb", "\\", "😀", "NULL"),
    "room": (7, -1, None, 2**63 - 1, -(2**63), 0),
    "value": (5, None, -5, 6, -9, 0, 2**63 - 1),
}
"""The values of each column, which rows use in turn.

The columns have different numbers of values, so that every combination occurs.
"""


def catalog(limits: core.Limits, without: frozenset[core.Kind] = frozenset()) -> core.Catalog:
    """Return the tables as an owner declares them, ``without`` columns of some kinds."""

    def schema(columns: Sequence[core.Column]) -> core.Schema:
        return core.Schema(tuple(column for column in columns if column.kind not in without))

    def dataset(
        name: str, columns: Sequence[core.Column], way: core.UnitColumn | core.Link
    ) -> core.Dataset:
        place = core.Location("here", (name,))
        return core.Dataset(
            name, "patients", schema(columns), way, limits, place, core.Epoch("1")
        )

    return core.Catalog(
        (core.Population("patients", core.PrivacyUnit("person")),),
        (
            dataset("visits", VISITS, core.UnitColumn("person")),
            dataset("labs", LABS, core.Link("visit", "visits", "id")),
        ),
        (_places(schema(PLACES)),),
    )


def _places(schema: core.Schema) -> core.PublicTable:
    place = core.Location("here", ("places",))
    return core.PublicTable(
        "places", schema, place, core.Epoch("1"), schema.names, core.MOST_FAN_OUT
    )


def tables(people: Sequence[Cell] = PEOPLE) -> Tables:
    """Return all rows of ``people``; the rows of a person do not depend on the others."""
    visits: list[Row] = []
    labs: list[Row] = []
    for place, person in enumerate(PEOPLE):
        if person not in people:
            continue
        for number in range(MOST_ROWS - place % 4):
            key = 100 * place + number
            cells = {name: _cell(name, place, number) for name in CELLS if name != "value"}
            visits.append({"id": key, "person": person} | cells)
            labs += [
                {"visit": key, "value": _cell("value", place, number + more)}
                for more in range(number % 3)
            ]
    return {("visits",): visits, ("labs",): labs, ("places",): WHERE}


def _cell(column: str, place: int, number: int) -> Cell:
    """Return one cell; most rows of the first person are alike, the others use all values."""
    cells = CELLS[column]
    start = MOST_ROWS * place
    step = number if place else number // 2
    return next(islice(cycle(cells), start + step, None))
