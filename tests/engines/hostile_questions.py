"""Questions about hostile stores: each compares, groups or joins by what a writer may break."""

from functools import cache

from hostile_store import LIMITS, catalog

from tacit.audit.synthetic_people import Choices
from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.errors import InvalidValue
from tacit.query.pricing import price
from tacit.query.quote import Quote
from tacit.sql.parser import parse

LOSSES = (Loss.zcdp("0.1", "1e-6"), Loss.zcdp("0.5", "0.3"), Loss.zcdp(20, "0.9"))
"""Large deltas, so that small groups are often kept."""

TEXTS = ("ok", "OK", "12", "", "n/a", "é", "??bad")
CONDITIONS = (
    "home = work",
    "home <> work",
    "doctor = home",
    "home = '{text}'",
    "work <> '{text}'",
    "doctor IN ('{text}', '{other}')",
    "ward IN ('north', 'NORTH')",
    "ward LIKE 'n%'",
    "ward NOT LIKE '%th'",
    "person = '{name}'",
    "person <> '{name}' AND pay >= {number}",
    "person = '{name}' AND home = work",
    "doctor IS NULL",
    "cost > 99.999",
    "cost <= 0.000000000000000001",
    "cost IN (9.99, 0.001)",
    "mass > 0.5",
    "mass IS NULL",
    "day >= DATE '2020-02-29'",
    "day IS NULL",
    "seen < DATE '2020-02-29'",
    "seen = DATE '2020-02-29'",
    "seen IS NOT NULL",
    "score > {number}",
    "smoker",
    "pay BETWEEN {number} AND 100",
    "COALESCE(doctor, home) = '{text}'",
    "UPPER(ward) = 'NORTH'",
    "COALESCE(smoker, score > 7)",
    "day + INTERVAL 7 DAY > DATE '2020-02-29'",
    "EXTRACT(WEEK FROM day) < 20",
    "ROUND(cost) > {number}",
    "CAST(mass AS INTEGER) <= {number}",
    "HOUR(seen) < 12",
    "CAST(seen AS DATE) + 7 > day",
    "CAST(seen AS DATE) = '2020-02-29'",
    "EXTRACT(ISODOW FROM seen) = 6 AND seen > '2020-02-29 12:00:00'",
)
KEYS = (
    *("ward", "ward", "doctor", "home", "smoker", "day", "DATE_TRUNC('month', day)", "visit"),
    *("COALESCE(ward, 'unknown')", "EXTRACT(DOY FROM day)"),
    *("MINUTE(seen)", "DATE_TRUNC('year', seen)", "CAST(seen AS DATE)"),
)
MEASURES = (
    "COUNT(*)",
    "COUNT(DISTINCT person)",
    "SUM(pay)",
    "SUM(score)",
    "AVG(cost)",
    "SUM(mass)",
    "MEDIAN(pay)",
    "COUNT(work)",
    "COUNT(DISTINCT home)",
    "COUNT(DISTINCT doctor)",
    "COUNT(DISTINCT day)",
    "COUNT(DISTINCT cost)",
    "COUNT(DISTINCT CASE WHEN {condition} THEN work END)",
    "COUNT(seen)",
    "SUM(CASE WHEN {condition} THEN 1 ELSE 0 END)",
    "MAX(score)",
    "CORR(score, mass)",
    "REGR_SLOPE(cost, pay)",
    "SUM(COALESCE(cost, 0))",
    "SUM(FLOOR(mass))",
    "AVG(SQRT(ABS(cost)))",
    "SUM(HOUR(seen))",
    "COUNT(DISTINCT CAST(seen AS DATE))",
)
SOURCES = (
    "visits",
    "visits",
    "visits",
    "visits JOIN labs ON labs.of = visits.code",
    "labs",
    "visits JOIN places ON places.ward = visits.ward",
    "visits LEFT JOIN places ON places.ward = visits.ward",
    (
        "(SELECT person, COUNT(*) AS n, SUM(pay) AS pay FROM visits WHERE {condition}"
        " GROUP BY person)"
    ),
)
NAMES = ("ann", "ANN", "bob", "Bob")
PRICED = 1_500
"""Questions that are made: a store is asked some of them, and each is priced once."""


@cache
def quote(number: int, limits: Limits) -> Quote | None:
    """The priced question of that number; None if its WHERE excludes every group."""
    choices = Choices(f"tacit question {number}")
    plan = parse(question(choices), catalog(limits))
    try:
        return price(plan, catalog(limits), choices.one(LOSSES))
    except InvalidValue as refusal:
        if "WHERE excludes every value" not in str(refusal):
            raise
        return None


def quotes(store: int, limits: Limits, count: int) -> list[Quote]:
    """What a store is asked."""
    assert limits in LIMITS
    choices = Choices(f"tacit questions of store {store}")
    found: list[Quote] = []
    while len(found) < count:
        made = quote(choices.below(PRICED), limits)
        found += [] if made is None else [made]
    return found


def question(choices: Choices) -> str:
    """A question, in SQL."""
    source = choices.one(SOURCES)

    def filled(text: str) -> str:
        if "{condition}" in text:
            text = text.replace("{condition}", choices.one(CONDITIONS))
        return text.format(
            text=choices.one(TEXTS),
            other=choices.one(TEXTS),
            name=choices.one(NAMES),
            number=choices.one((0, 7, 41, 120)),
        )

    if source == "labs":
        return f"SELECT {choices.one(('COUNT(*)', 'SUM(value)', 'MEDIAN(value)'))} FROM labs"  # noqa: S608
    if source.startswith("("):
        measure = choices.one(("SUM(n)", "AVG(pay)", "COUNT(*)"))
        return f"SELECT {measure} FROM {filled(source)}"  # noqa: S608
    of = "region" if "places" in source else choices.one(KEYS)
    measure = filled(choices.one(MEASURES))
    where = f" WHERE {filled(choices.one(CONDITIONS))}" if choices.below(4) else ""
    if "places" in source:
        where = where.replace("ward", "visits.ward")
        measure = measure.replace("ward", "visits.ward")
    if choices.below(3):
        shown = f"{of} AS k, {measure} AS m"
        return f"SELECT {shown} FROM {source}{where} GROUP BY {of}"  # noqa: S608
    return f"SELECT {measure} AS m FROM {source}{where}"  # noqa: S608
