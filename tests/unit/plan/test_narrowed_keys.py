"""Groups that the question excludes are left out, and no group of a selected row ever is."""

import sys
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from random import Random
from typing import Any

import pytest
from ward import CATALOG, YEAR

from tacit.core.domain import Bounds, Column, Keys, Kind, Schema
from tacit.engines.reference import _key, truth
from tacit.errors import InvalidValue
from tacit.plan import key_intervals
from tacit.plan.bounded_plan import ColumnKey, PeriodKey
from tacit.plan.bounding import bound, gather
from tacit.plan.canonical_form import canonical
from tacit.plan.expression import Comparison, Field, Span
from tacit.plan.group_keys import bound_key
from tacit.plan.narrowed_keys import narrow
from tacit.plan.plan import Plan
from tacit.plan.possible_truths import ANY, Within, truths
from tacit.plan.steps import AllOf, AnyOf, ColumnOneOf, CompareColumn, Negation
from tacit.plan.type_check import clamped_days
from tacit.sql import parse

MONTHS = [f"2026-{month:02}-01" for month in range(1, 13)]
QUARTERS = MONTHS[::3]
ALL = ["east", "north", "south"]

LEFT: list[tuple[str, str, list[Any]]] = [
    ("ward", "ward = 'north'", ["north"]),
    ("ward", "'north' = ward AND stay > 3", ["north"]),
    ("ward", "ward <> 'north'", ["east", "south"]),
    ("ward", "ward IN ('south', 'elsewhere', 'east')", ["east", "south"]),
    ("ward", "ward NOT IN ('south')", ["east", "north"]),
    ("ward", "ward LIKE '%th'", ["north", "south"]),
    ("ward", "UPPER(ward) = 'EAST' OR LOWER(ward) = 'south'", ["east", "south"]),
    ("ward", "ward = 'north' OR stay > 3", ALL),
    ("ward", "(ward = 'north' AND stay > 3) OR ward = 'east'", ["east", "north"]),
    ("ward", "NOT (ward = 'north' OR stay > 3)", ["east", "south"]),
    ("ward", "ward IS NOT NULL", ALL),
    ("ward", "note = 'north'", ALL),
    ("ward", "1 = 0", ALL),
    ("urgent", "urgent", [1]),
    ("urgent", "NOT urgent", [0]),
    ("urgent", "urgent = FALSE", [0]),
    ("ABS(stay)", "ABS(stay) > 28", [29, 30]),
    ("DATE_TRUNC('month', day)", "day >= DATE '2026-03-01'", MONTHS[2:]),
    ("DATE_TRUNC('month', day)", "day > DATE '2026-03-31'", MONTHS[3:]),
    ("DATE_TRUNC('month', day)", "day > DATE '2026-03-30'", MONTHS[2:]),
    ("DATE_TRUNC('month', day)", "day BETWEEN '2026-03-31' AND '2026-05-01'", MONTHS[2:5]),
    ("DATE_TRUNC('month', day)", "day < DATE '2026-01-01'", MONTHS[:1]),
    ("DATE_TRUNC('month', day)", "day > DATE '2030-01-01'", MONTHS[11:]),
    ("DATE_TRUNC('month', day)", "day IN (DATE '2026-02-03', DATE '2026-11-30')", MONTHS[1::9]),
    ("DATE_TRUNC('month', day)", "DATE_TRUNC('quarter', day) = DATE '2026-04-01'", MONTHS[3:6]),
    ("DATE_TRUNC('month', day)", "NOT day >= DATE '2026-03-01'", MONTHS[:2]),
    ("DATE_TRUNC('quarter', day)", "day <> DATE '2026-04-01'", QUARTERS),
    ("DATE_TRUNC('month', moment)", "moment >= TIMESTAMP '2026-11-01 00:00:00'", MONTHS[10:]),
    ("DATE_TRUNC('month', moment)", "moment < TIMESTAMP '2026-02-01 00:00:01'", MONTHS[:2]),
    ("DATE_TRUNC('month', moment)", "CAST(moment AS DATE) < DATE '2026-02-01'", MONTHS[:1]),
    ("DATE_TRUNC('month', moment)", "moment IN (TIMESTAMP '2026-02-28 23:59:59')", MONTHS[1:2]),
    ("CAST(moment AS DATE)", "moment < TIMESTAMP '2026-01-01 12:00:00'", ["2026-01-01"]),
    ("YEAR(long)", "long >= DATE '2024-12-31'", [2024, 2025, 2026]),
    ("YEAR(long)", "YEAR(long) = 2021", [2021]),
    ("YEAR(long)", "YEAR(long) IN (2021, 2023, 1999)", [2021, 2023]),
    ("MONTH(day)", "MONTH(day) < 3", [1, 2]),
    ("MONTH(day)", "3 > MONTH(day)", [1, 2]),
    ("EXTRACT(WEEK FROM day)", "EXTRACT(WEEK FROM day) > 51", [52, 53]),
    ("FLOOR(stay / 10) * 10", "stay >= 10", [10, 20, 30]),
    ("FLOOR(stay / 10) * 10", "stay > 9 AND stay < 21", [10, 20]),
    ("FLOOR(stay / 10) * 10", "stay = 45", [30]),
    # a float is rounded before it is in a bin, so that nothing is known exactly
    ("FLOOR(heat / 10) * 10", "heat < 40", [30, 40]),
]  # fmt: skip


VISITS = (
    *CATALOG.dataset("visits").schema.columns,
    Column("moment", Kind.TIMESTAMP, bounds=YEAR),
    Column("long", Kind.DATE, bounds=Bounds.days(date(2020, 5, 1), date(2026, 5, 1))),
)
CLINIC = replace(
    CATALOG,
    datasets=tuple(
        replace(each, schema=Schema(VISITS)) if each.name == "visits" else each
        for each in CATALOG.datasets
    ),
)


def plan_of(key: str, where: str) -> Plan:
    text = f"SELECT {key}, COUNT(*) FROM visits WHERE {where} GROUP BY {key}"  # noqa: S608
    return canonical(parse(text, CLINIC)).plan


def keys_of(key: str, where: str) -> list[Any]:
    (found,) = bound(plan_of(key, where), CLINIC).plan.keys
    assert found.keys is not None
    return list(found.keys.values)


@pytest.mark.parametrize(("key", "where", "left"), LEFT)
def test_groups_that_where_excludes_are_left_out(key: str, where: str, left: list[Any]) -> None:
    assert keys_of(key, where) == left


def test_a_question_that_excludes_all_groups_is_refused() -> None:
    with pytest.raises(
        InvalidValue, match=r"excludes every value .* 'east', 'north', 'south';"
    ):
        keys_of("ward", "ward = 'purple'")
    with pytest.raises(InvalidValue, match=r"can have, which are 1, 2, 3, 4, 5, \.\.\.;"):
        keys_of("MONTH(day)", "MONTH(day) = 13")


def test_the_keys_of_a_subquery_are_narrowed_inside_and_outside() -> None:
    inside = (
        "SELECT ward, AVG(n) FROM (SELECT patient, ward, COUNT(*) AS n FROM visits "
        "WHERE ward <> 'east' GROUP BY patient, ward) AS v WHERE n > 1 {} GROUP BY {}"
    )
    for more, by, left in [
        ("", "ward", ("north", "south")),
        ("AND ward <> 'north'", "ward", ("south",)),
        ("AND ward <> 'north'", "n", (2, 3, 4, 5)),
    ]:
        text = inside.format(more, by).replace("SELECT ward, AVG(n)", f"SELECT {by}, COUNT(*)")
        (found,) = bound(canonical(parse(text, CLINIC)).plan, CLINIC).plan.keys
        assert found.keys is not None
        assert found.keys.values == left


# Soundness: a row that meets the conditions is never in a group that was left out -------------

DAYS = [date(2026, 1, 1) + timedelta(days=n) for n in (-400, -1, 0, 30, 31, 59, 180, 364, 365)]
PARTS = (
    *(f"ward {op} '{w}'" for op in ("=", "<>") for w in ("east", "south", "x")),
    "ward IN ('north', 'x')", "ward LIKE '%st'", "ward IS NULL", "UPPER(ward) = 'NORTH'",
    "urgent", "urgent IS NULL", "urgent = FALSE", "stay = 7", "stay < 9 + stay",
    "stay IN (1, 9)", "note = 'a'", "ABS(stay) > 10",
    *(f"stay {op} {n}" for op in ("<", "<=", ">", ">=", "<>") for n in (1, 9, 10, 11, 30, 31)),
    *(f"day {op} DATE '{d}'" for op in ("<", "<=", ">", ">=", "<>", "=") for d in DAYS),
    *(f"moment {op} TIMESTAMP '{d} 00:00:00'" for op in ("<", "<=", ">", "=") for d in DAYS),
    "CAST(moment AS DATE) = DATE '2026-02-01'", "MONTH(day) = 2", "MONTH(day) > 6",
    "EXTRACT(WEEK FROM day) IN (1, 53)", "DATE_TRUNC('month', day) > DATE '2026-03-01'",
)  # fmt: skip
KEYS = (
    "ward",
    "urgent",
    "DATE_TRUNC('month', day)",
    "DATE_TRUNC('week', moment)",
    "CAST(moment AS DATE)",
    "YEAR(day)",
    "MONTH(day)",
    "EXTRACT(WEEK FROM day)",
    "FLOOR(stay / 10) * 10",
    "ABS(stay)",
)


def written(random: Random, depth: int) -> str:
    if depth == 0 or random.random() < 0.3:
        return random.choice(PARTS)
    parts = [written(random, depth - 1) for _ in range(random.randint(1, 3))]
    if len(parts) == 1:
        return f"NOT ({parts[0]})"
    return "(" + random.choice((" AND ", " OR ")).join(parts) + ")"


def random_row(random: Random) -> dict[str, Any]:
    day = random.choice([None, *DAYS])
    moment = random.choice([None, *DAYS])
    later = random.choice([timedelta(0), timedelta(hours=23, minutes=59, seconds=59)])
    return {
        "visits.ward": random.choice([None, "east", "north", "south", "x", "EAST"]),
        "visits.urgent": random.choice([None, True, False]),
        "visits.stay": random.choice([None, -4, 1, 9, 10, 11, 29, 30, 31, 99]),
        "visits.note": random.choice([None, "a", "north"]),
        "visits.day": day,
        "visits.moment": moment and datetime.combine(moment, time()) + later,
    }


def lost_rows(questions: int, seed: int) -> int:
    """The number of rows that meet the conditions, and whose group was left out."""
    random, lost = Random(seed), 0  # noqa: S311 - rows of a test
    rows = [random_row(random) for _ in range(60)]
    for _ in range(questions):
        plan = plan_of(random.choice(KEYS), written(random, 2))
        found = gather(plan.source, CLINIC)
        (key,) = plan.keys
        whole = bound_key(key, found.scope)
        assert whole.keys is not None
        try:
            left = narrow(whole, key.expression, [found.condition], found.scope).keys
        except InvalidValue:
            left = None
        for row in rows:
            group = _key(whole, row)
            known = group in whole.keys.values and truth(found.condition, row) is True
            lost += known and (left is None or group not in left.values)
    return lost


def test_no_row_that_counts_is_lost() -> None:
    assert lost_rows(600, seed=21) == 0


def bounded_ends(keys: tuple[Any, ...], start: Any, _: Kind) -> Any:
    """Periods as they would be if no day were beyond the bounds."""

    def within(first: int, last: int) -> Within:
        if last < len(keys):
            return Within(start(keys[first]), start(keys[last]) - timedelta(days=1))
        return Within(start(keys[first]), start(keys[last - 1]))

    return within


@pytest.mark.parametrize(
    ("rule", "lie"),
    [
        ("possible_truths.ANY restricted_conditions.ANY", ANY - {True}),
        ("key_intervals._between", bounded_ends),
    ],
)
def test_a_wrong_rule_loses_rows(rule: str, lie: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: if conditions about other columns could not be true, or if days
    beyond the bounds of their column were not in the first or the last period.
    """
    for name in rule.split():
        monkeypatch.setattr(f"tacit.plan.{name}", lie)
    monkeypatch.setattr(sys.modules[__name__], "KEYS", ("ward", "DATE_TRUNC('month', day)"))
    assert lost_rows(300, seed=21) > 0


def test_many_periods_take_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The days of 137 years are narrowed by looking at a few of their ranges."""
    asked: list[object] = []

    def counted(condition: Any, facts: Any) -> Any:
        asked.append(condition)
        return truths(condition, facts)

    monkeypatch.setattr(key_intervals, "truths", counted)
    days = [date(1900, 1, 1) + timedelta(days=n) for n in range(50_000)]
    column = Column("day", Kind.DATE, bounds=Bounds.days(days[0], days[-1]))
    keys = Keys(tuple(day.isoformat() for day in days))
    key = PeriodKey("k", clamped_days(column), Span.DAYS, keys)
    late = CompareColumn(Comparison.AT_LEAST, "day", Kind.DATE, date(2026, 1, 1))
    left = narrow(key, Field("day"), [late], Schema((column,))).keys
    assert left is not None
    assert left.values == tuple(d.isoformat() for d in days if d >= date(2026, 1, 1))
    assert len(asked) < 100


AWAY = CompareColumn(Comparison.MORE, "stay", Kind.INTEGER, 3)
CENTURY = [date(1900, 1, 1) + timedelta(days=n) for n in range(50_000)]


@pytest.mark.parametrize(
    "wanted",
    [
        AnyOf((AWAY, ColumnOneOf("day", Kind.DATE, tuple(CENTURY[::60])))),
        AllOf((AWAY, ColumnOneOf("day", Kind.DATE, tuple(CENTURY[::60])))),
        Negation(AllOf((AWAY, ColumnOneOf("day", Kind.DATE, tuple(CENTURY[::60]))))),
        AnyOf(
            tuple(
                AllOf((AWAY, CompareColumn(Comparison.EQUAL, "day", Kind.DATE, day)))
                for day in CENTURY[::600]
            )
        ),
    ],
)
def test_long_conditions_over_many_periods_take_few_steps(
    wanted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quote could otherwise be made slow: each day, times each part, is 40 million."""
    asked = 0
    contains, compare = Within.contains, Within.compare

    def counted(rule: Any) -> Any:
        def call(*given: Any) -> Any:
            nonlocal asked
            asked += 1
            return rule(*given)

        return call

    monkeypatch.setattr(Within, "contains", counted(contains))
    monkeypatch.setattr(Within, "compare", counted(compare))
    column = Column("day", Kind.DATE, bounds=Bounds.days(CENTURY[0], CENTURY[-1]))
    keys = Keys(tuple(day.isoformat() for day in CENTURY))
    key = PeriodKey("k", clamped_days(column), Span.DAYS, keys)
    left = narrow(key, Field("day"), [wanted], Schema((column,))).keys
    assert left is not None
    kept = {*left.values}
    for place in (*range(0, 50_000, 3000), *range(1, 50_000, 3000), 49_999):
        can_be = truths(wanted, {"day": day_at(place)})
        assert (CENTURY[place].isoformat() in kept) is (True in can_be)
    asked = 0
    narrow(key, Field("day"), [wanted], Schema((column,)))
    assert asked < 100_000


def day_at(place: int) -> Within:
    """The days of a group of `CENTURY`: days beyond the bounds are in the first or the last."""
    low = None if place == 0 else CENTURY[place]
    return Within(low, None if place == len(CENTURY) - 1 else CENTURY[place])


@pytest.mark.parametrize(
    ("kind", "keys", "value"),
    [
        (Kind.DATE, ("1 Jan 2026", "2 Jan 2026"), date(2026, 1, 1)),
        (Kind.DATE, ("2026-01-01", "infinity"), date(2026, 1, 1)),
        (Kind.DATE, (20260101, 20260102), date(2026, 1, 1)),
        (Kind.TEXT, (1, 2), "1"),
        (Kind.INTEGER, ("1", "2"), 1),
    ],
)
def test_keys_that_no_row_can_have_stop_no_question(kind: Kind, keys: Any, value: Any) -> None:
    """An owner can declare keys of another type by mistake; they are groups without rows."""
    column = Column("x", kind, keys=Keys(keys))
    key = ColumnKey("k", "x", kind, column.keys)
    asked = CompareColumn(Comparison.EQUAL, "x", kind, value)
    assert narrow(key, Field("x"), [asked], Schema((column,))) == key
