"""Parts and periods of days: the calendar of every engine, for every day that it can hold."""

# ruff: noqa: S608 - our own names

from collections.abc import Callable
from datetime import date, timedelta

import clinic
import duckdb
import pytest
from clinic import TABLE, catalog
from hypothesis import given
from hypothesis import strategies as st
from specials import DAYS

from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core.catalog import Limits
from tacit.core.domain import FIRST, LAST, day_of
from tacit.core.loss import Loss
from tacit.core.unseal import unseal
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import Engine, public_groups
from tacit.engines.reference import Reference, Row
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.plan.expression import DatePartName, Span
from tacit.query.paid_work import run
from tacit.query.pricing import price
from tacit.sql.parser import parse

LIMITS = Limits(1, 3)
CLINIC = catalog(LIMITS)
FAR = ("infinity", "5881580-07-10", "10000-01-01", "294247-01-11")
LONG_AGO = ("-infinity", "5877642-06-25 (BC)", "0001-12-31 (BC)", "290309-12-21 (BC)")
QUESTIONS = (
    *(
        f"SELECT SUM({part.name}(day)) FROM visits"
        for part in (DatePartName.MONTH, DatePartName.DAY)
    ),
    *(
        f"SELECT SUM(EXTRACT({part.value} FROM until)) FROM visits"
        for part in DatePartName
        if not part.is_of_time
    ),
    *(f"SELECT COUNT(*) FROM visits GROUP BY DATE_TRUNC('{s.value}', day)" for s in Span),
    *(f"SELECT COUNT(*) FROM visits GROUP BY DATE_TRUNC('{s.value}', until)" for s in Span),
    "SELECT AVG(until - DATE '2020-02-29') FROM visits WHERE EXTRACT(DOW FROM day) < 5",
    "SELECT COUNT(*) FROM visits GROUP BY YEAR(until), DAYOFWEEK(day)",
)


def bounded(text: str) -> BoundedPlan:
    return bound(canonical(parse(text, CLINIC)).plan, CLINIC).plan


def row(person: str, day: object) -> Row:
    return dict.fromkeys(clinic.TYPES) | {"person": person, "day": day, "until": day}


def found(engine: Engine, text: str) -> object:
    table = engine.run(bounded(text), CLINIC, b"salt")
    groups = None if table.groups is None else unseal(table.groups)
    return groups, [unseal(tally).tolist() for tally in table.tallies]


@pytest.mark.parametrize(("far", "long_ago"), [*zip(FAR, LONG_AGO, strict=True)])
def test_a_day_beyond_the_calendar_is_its_last_or_first(far: str, long_ago: str) -> None:
    near = [*DAYS, date(2020, 3, 1)]
    there = [row(f"p{place}", day) for place, day in enumerate([far, long_ago, *near])]
    meant = [row(f"p{place}", day) for place, day in enumerate([date.max, date.min, *near])]
    engine, reference = DuckDB(clinic.database(there)), Reference({TABLE: meant})
    for text in QUESTIONS:
        assert found(engine, text) == found(reference, text), text


def test_a_filter_does_not_guard_date_trunc() -> None:
    """Why it is not printed: it is taken of the column's ends, before any row is read."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE visits (day DATE)")
        connection.execute("INSERT INTO visits VALUES ('2020-05-05'), ('5877642-06-25 (BC)')")
        near = "day BETWEEN DATE '2020-01-01' AND DATE '2020-12-31'"
        with pytest.raises(duckdb.Error, match="range"):
            connection.execute(f"SELECT DATE_TRUNC('week', day) FROM visits WHERE {near}")


def test_the_calendar_is_that_of_duckdb(bar: Callable[..., None]) -> None:
    """Each part and period of 40,000 days, the first and the last among them."""
    days = [day_of(number) for number in range(FIRST, LAST + 1, 91)]
    days.append(date.max)
    parts = ", ".join(f"EXTRACT({part.value} FROM day)" for part in DatePartName)
    spans = ", ".join(f"DATE_TRUNC('{span.value}', day)::DATE" for span in Span)
    numbers = f"SELECT UNNEST(RANGE({FIRST}, {LAST + 1}, 91) || [{LAST}]) AS number"
    table = f"SELECT DATE '1970-01-01' + number::INT AS day FROM ({numbers})"
    with duckdb.connect() as connection:
        theirs = connection.execute(f"SELECT {parts}, {spans} FROM ({table})").fetchall()
    ours = [
        (*(part.of(day) for part in DatePartName), *(span.start(day) for span in Span))
        for day in days
    ]
    wrong = sum(one != other for one, other in zip(ours, theirs, strict=True))
    bar("days of another calendar than DuckDB's", wrong, "0", wrong == 0)


@given(st.sampled_from(Span), st.dates(), st.dates(), st.dates())
def test_every_day_within_bounds_lies_in_a_period(
    span: Span, one: date, other: date, day: date
) -> None:
    first, last = sorted([one, max(other, one)])
    last = min(last, first + timedelta(days=min(2_000, (date.max - first).days)))
    starts = list(span.starts(first, last))
    assert starts == sorted(set(starts))
    assert all(span.start(start) == start for start in starts)
    inside = min(max(day, first), last)
    assert span.start(inside) in starts
    assert len(starts) <= (last - first).days + 1


def test_every_period_appears_and_what_lies_beyond_is_in_the_first_or_last() -> None:
    text = "SELECT COUNT(*) FROM visits GROUP BY DATE_TRUNC('quarter', until)"
    groups = public_groups(bounded(text))
    starts = ["2019-10-01", "2020-01-01", "2020-04-01", "2020-07-01", "2020-10-01"]
    assert groups == tuple((start,) for start in [*starts, "2021-01-01"])
    there = [row("a", "1999-01-01"), row("b", "infinity"), row("c", "2020-05-05")]
    for plan_text in (text, "SELECT COUNT(*) FROM visits GROUP BY DATE_TRUNC('year', until)"):
        _, [counts] = found(DuckDB(clinic.database([*there, row("d", None)])), plan_text)
        assert counts in ([1, 0, 1, 0, 0, 1], [1, 1, 1])


def test_days_of_a_column_without_bounds_are_selected_privately() -> None:
    plan = bounded("SELECT COUNT(*) FROM visits GROUP BY DATE_TRUNC('month', day)")
    assert public_groups(plan) is None
    table = Reference({TABLE: [row("a", date(2020, 5, 5))]}).run(plan, CLINIC, b"salt")
    assert table.groups is not None
    assert unseal(table.groups) == (("2020-05-01",),)


def replayed(text: str) -> None:
    """Ask without one person's rows, and again with them."""
    quote = price(parse(text, CLINIC), CLINIC, Loss.zcdp("0.1", "1e-6"))
    others = [row(f"p{place}", day_of(18_000 + 9 * place)) for place in range(90)]
    theirs = [row("a", day) for day in (date.max, date.min, date(2020, 12, 31)) * 4]
    recording = RecordingGateway(SystemEntropy(b"charge"))
    run(quote, Reference({TABLE: others}), CLINIC, b"salt", recording)
    replaying = ReplayingGateway(recording.calls)
    run(quote, Reference({TABLE: [*others, *theirs]}), CLINIC, b"salt", replaying)
    replaying.finish()


@pytest.mark.parametrize("text", [*QUESTIONS, "SELECT AVG(MONTH(until)) FROM visits"])
def test_the_days_of_a_neighbour_show_in_nothing_but_noise(text: str) -> None:
    replayed(text)


def test_a_calendar_that_forgets_december_would_be_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(DatePartName, "reach", lambda *_: (1, 2))
    with pytest.raises(BrokenPromise):
        replayed("SELECT AVG(MONTH(until)) FROM visits")


def test_an_engine_whose_years_leave_their_range_would_be_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(DatePartName, "of", lambda _, day: day.year + 100)
    with pytest.raises(BrokenPromise):
        replayed("SELECT AVG(YEAR(until)) FROM visits")
