"""Timestamps in questions: parts, periods, days and constants."""

# ruff: noqa: S608 - our own texts

from dataclasses import replace
from datetime import date, datetime

import pytest
from clinic import catalog

from tacit.core.catalog import Catalog, Limits
from tacit.core.domain import Bounds, Column, Kind, Schema, StoredAs
from tacit.errors import InvalidValue
from tacit.plan import steps as grid_steps
from tacit.plan.bounded_plan import CaseKey, PeriodKey, StepsKey
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical, text
from tacit.plan.expression import Comparison
from tacit.sql.parser import parse
from tacit.sql.printer import show

BADGE = "0a0b0c0d-0000-0000-0000-00000000000f"
YEAR = Bounds.days(date(2026, 1, 1), date(2026, 12, 31))


def made() -> Catalog:
    """The clinic, with timestamps."""
    known = catalog(Limits(1, 1))
    (table, *others) = known.datasets
    more = (
        Column("seen", Kind.TIMESTAMP, YEAR),
        Column("ever", Kind.TIMESTAMP),
        Column("badge", Kind.TEXT, stored=StoredAs.UUID),
        Column("code", Kind.TEXT, stored=StoredAs.CHAR),
    )
    names = {each.name for each in more}
    schema = Schema((*(c for c in table.schema.columns if c.name not in names), *more))
    return replace(known, datasets=(replace(table, schema=schema), *others))


KNOWN = made()


def conditions(where: str) -> grid_steps.Condition:
    asked = f"SELECT COUNT(*) FROM visits WHERE {where}"
    found = bound(canonical(parse(asked, KNOWN)).plan, KNOWN).plan.condition
    assert isinstance(found, grid_steps.AllOf)
    [condition] = found.parts
    return condition


@pytest.mark.parametrize("name", ["seen", "ever"])
@pytest.mark.parametrize(
    "expression",
    [
        "EXTRACT(HOUR FROM {0})",
        "HOUR({0})",
        "MINUTE({0})",
        "MONTH({0})",
        "DATE_TRUNC('month', {0})",
        "CAST({0} AS DATE)",
        "DATE({0})",
        "MONTH(CAST({0} AS DATE))",
    ],
)
def test_a_question_about_times_is_understood_and_printed(name: str, expression: str) -> None:
    key = expression.format(name)
    plan = parse(f"SELECT {key} AS k, COUNT(*) AS n FROM visits GROUP BY {key}", KNOWN)
    again = parse(show(plan, KNOWN), KNOWN)
    assert canonical(again).hash == canonical(plan).hash
    [bounded] = bound(canonical(plan).plan, KNOWN).plan.keys
    assert isinstance(bounded, CaseKey | PeriodKey | StepsKey)


def test_texts_are_compared_in_the_form_in_which_they_are_read() -> None:
    conditions(f"badge = '{BADGE}' OR code = ' ab'")


def test_hours_are_public_groups() -> None:
    plan = parse("SELECT COUNT(*) FROM visits GROUP BY HOUR(ever)", KNOWN)
    [key] = bound(canonical(plan).plan, KNOWN).plan.keys
    assert key.keys is not None
    assert key.keys.values == tuple(range(24))


def test_a_timestamp_constant_has_a_stored_form_of_its_own() -> None:
    moment = datetime(2026, 1, 1)  # noqa: DTZ001
    assert text(moment) != text(moment.date())
    asked = "SELECT COUNT(*) FROM visits WHERE seen > TIMESTAMP '2026-01-01 12:30:00.5'"
    with pytest.raises(InvalidValue, match="must be written as TIMESTAMP"):
        parse(asked, KNOWN)
    with pytest.raises(InvalidValue, match="without a zone"):
        parse(asked.replace("TIMESTAMP", "").replace("00.5", "00+01"), KNOWN)
    plan = parse(asked.replace("00.5", "00.500"), KNOWN)
    assert canonical(parse(show(plan, KNOWN), KNOWN)).hash == canonical(plan).hash


def test_a_day_of_a_timestamp_is_a_range() -> None:
    day = date(2026, 3, 29)
    first, later = (
        grid_steps.CompareColumn(Comparison.AT_LEAST, "visits.seen", Kind.TIMESTAMP, each)
        for each in (day, date(2026, 3, 30))
    )
    found = {
        sign: conditions(f"CAST(seen AS DATE) {sign} DATE '2026-03-29'")
        for sign in ("<", ">", ">=", "<=")
    }
    assert found["<"] == grid_steps.Negation(first)
    assert found[">="] == first
    assert found[">"] == later
    assert found["<="] == grid_steps.Negation(later)


def test_a_date_column_is_compared_with_a_timestamp_by_whole_days() -> None:
    noon = "TIMESTAMP '2026-03-29 12:00:00'"
    below = grid_steps.CompareColumn(
        Comparison.LESS, "visits.day", Kind.DATE, date(2026, 3, 30)
    )
    assert conditions(f"day < {noon}") == below
    with pytest.raises(InvalidValue, match=r"is a date column, and .* is not a date"):
        conditions(f"day = {noon}")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            "SELECT COUNT(*) FROM visits GROUP BY HOUR(day)",
            "A date has no HOUR",
        ),
        ("SELECT COUNT(*) FROM visits GROUP BY seen", "use periods, as in DATE_TRUNC"),
        ("SELECT SUM(HOUR(CAST(seen AS DATE))) FROM visits", "A date has no HOUR"),
        (
            "SELECT COUNT(*) FROM visits WHERE seen > TIMESTAMPTZ '2026-01-01 00:00:00+00'",
            "in the local time of their column",
        ),
        ("SELECT COUNT(*) FROM visits WHERE seen > TIMESTAMP '2026-01-01 25:00:00'", "written"),
        (f"SELECT COUNT(*) FROM visits WHERE badge = '{BADGE.upper()}'", "read in lower case"),
        (f"SELECT COUNT(*) FROM visits WHERE badge IN ('{BADGE}', 'a')", "read in lower case"),
        ("SELECT COUNT(*) FROM visits WHERE code <> 'ab '", "without blanks at its end"),
    ],
)
def test_a_refusal_says_what_to_write(asked: str, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        bound(canonical(parse(asked, KNOWN)).plan, KNOWN)
