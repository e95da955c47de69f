"""What may stop a stream stops it: other noise, a withdrawal, and rows that a copy forgets."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import Bar

import tacit
from tacit.core.catalog import Catalog, Dataset, UnitColumn, ValidatedCopy
from tacit.core.loss import Budget, Loss
from tacit.errors import InvalidValue
from tacit.plan.expression import Span
from tacit.publish.due_releases import run
from tacit.publish.publication import Publication, Publications
from tacit.query.below_charge import Withdrawn
from tacit.session import ask as session_stream
from tacit.session.session import Session
from tacit.session.table_checks import unit_in
from tacit.store.sealed_state import State
from tacit.stream.factor import EACH
from tacit.stream.open_stream import Guard
from tacit.stream.quote import price_stream
from tacit.stream.stream import Periods, Stream

FIRST, WEEKS, PEOPLE = date(2026, 1, 5), 6, 280
PERIODS = Periods("day", Span.WEEKS, FIRST, WEEKS)
NAMES = ("pay", "pay.eur", "pay: eur", "visits.pay", "a, b", "day.pay")
"""Names of a column as files have them; the first is a plain one."""

Opens = Callable[..., Session]


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    """Opens a session over a table whose column of money has a name, within bounds."""
    with ExitStack() as closing:

        def make(name: str = "pay", most: int = 1000, **changes: object) -> Session:
            days = [FIRST + timedelta(days=row % 28) for row in range(PEOPLE)]
            rows = {"person": list(range(PEOPLE)), "day": pa.array(days)}
            rows |= {name: [row % 10 for row in range(PEOPLE)]}
            given = {
                "population": "patients",
                "unit": "person",
                "bounds": {name: (0, most), "day": (FIRST, date(2026, 12, 31))},
                "max_groups": 1,
                "max_rows": 1,
                "budget": Budget(Loss.zcdp(3), Fraction(1, 10**6)),
                "table": "visits",
                "folder": tmp_path / ".tacit",
            } | changes
            return closing.enter_context(tacit.open(pa.table(rows), **given))

        yield make


def publication(name: str = "pay") -> Publication:
    sql = f'SELECT SUM("{name}") AS total FROM visits'  # noqa: S608 - our own names
    return Publication("money", sql, PERIODS, Loss.zcdp("0.5"), EACH, max_steps=1)


def publish(session: Session, published: Publication, out: Path, weeks: int) -> list[int]:
    Publications(session.states).declare(published, session)
    today = FIRST + timedelta(days=7 * weeks)
    return [step.number for step in run(published, session, today, out)]


# ------------------------------------------------------------------ noise of another price


@pytest.mark.parametrize("name", NAMES)
def test_tighter_bounds_stop_a_publication_whatever_its_column_is_called(
    opens: Opens, tmp_path: Path, name: str
) -> None:
    """Small noise over noise that is kept would take most of the noise before off again."""
    assert publish(opens(name), publication(name), tmp_path, 1) == [0]
    with pytest.raises(InvalidValue, match="have changed since it was charged") as told:
        publish(opens(name, 10), publication(name), tmp_path, 2)
    assert f"visits.{name}: integer, from 0 to 10" in str(told.value)
    assert publish(opens(name), publication(name), tmp_path, 2) == [1]


@pytest.mark.parametrize("name", NAMES[1:])
def test_noise_of_another_price_stops_a_publication_by_itself(
    opens: Opens, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where no declaration is seen to have changed, as with other code."""
    monkeypatch.setattr(session_stream, "used_facts", lambda *_: ("nothing is seen",))
    assert publish(opens(name), publication(name), tmp_path, 1) == [0]
    with pytest.raises(InvalidValue, match="the noise of the stream"):
        publish(opens(name, 10), publication(name), tmp_path, 2)


def test_the_unit_of_a_table_is_seen_whatever_its_column_is_called() -> None:
    facts = [
        ("visits: visit,no names the unit", "visits: visit,person names the unit"),
        ("visits: a, b names the unit, once each, said to be unique", "visits: a, c names the"),
        ("visits: a, b leads to p.q, kept unique", "visits: a, c leads to p.q, kept unique"),
        ("visits: a leads to p, q.r, said to be unique", "visits: a leads to p, s.r, kept"),
    ]
    for before, after in facts:
        whole = after if after.endswith(("unit", "unique")) else f"{after} unique"
        assert unit_in("visits", (before,)) != unit_in("visits", (whole,))
    once = ("visits: a, b names the unit, once each, kept unique",)
    assert unit_in("visits", once) == unit_in("visits", ("visits: a, b names the unit",))


# ------------------------------------------------------------------ withdrawn meanwhile


def test_a_withdrawal_holds_from_the_moment_that_it_returns(
    opens: Opens, tmp_path: Path, bar: Bar
) -> None:
    """Whoever releases weeks at that moment stops before the next one."""
    session, released = opens(), []
    Publications(session.states).declare(publication(), session)
    today = FIRST + timedelta(days=7 * 4)
    weeks = run(publication(), session, today, tmp_path)
    released.append(next(weeks).number)
    Publications(opens().states).withdraw("money")
    with pytest.raises(InvalidValue, match="was withdrawn"):
        released.extend(step.number for step in weeks)
    bar("edge: weeks released after a withdrawal", len(released) - 1, "0", len(released) == 1)
    assert not session.status().locked


def test_a_withdrawal_stops_a_step_that_has_asked_the_engine(
    opens: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked for once more in the unit of work that stores the step."""
    session, other = opens(), opens()
    Publications(session.states).declare(publication(), session)
    keep = Guard.keep

    def withdrawn_first(*given: object) -> object:
        Publications(other.states).withdraw("money")
        return keep(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(Guard, "keep", withdrawn_first)
    with pytest.raises(Withdrawn):
        list(run(publication(), session, FIRST + timedelta(days=7), tmp_path))
    assert publication().stream(session).released == 0
    assert not session.status().locked


def test_a_step_is_stored_where_nobody_withdraws(opens: Opens) -> None:
    session = opens()
    Publications(session.states).declare(publication(), session)
    before: State = session.states.find("publications")
    stream = Publications(session.states).open("money", session)
    stream.release()
    after = session.states.find("publications")
    assert (after.value, after.version) == (before.value, before.version + 1)


# ------------------------------------------------------------------ rows that a copy forgets


def with_copy(catalog: Catalog, *, one_row: bool) -> Catalog:
    """The table as it is served: from a copy, which keeps one row of each unit or all."""
    visits = catalog.dataset("visits")
    assert isinstance(visits, Dataset)
    copy = ValidatedCopy.of("visits", ("main",), 1, visits.epoch)
    kept = replace(copy, ordered=False, unique=("person",) if one_row else ())
    return catalog.with_tables(replace(visits, unit=UnitColumn("person", one_row), copy=kept))


def test_units_are_not_counted_in_few_steps_where_a_copy_keeps_one_row_of_each(
    opens: Opens,
) -> None:
    """A unit that adds rows is kept by a row of another week in each copy."""
    session = opens()
    plan = session.sql("SELECT COUNT(*) AS n FROM visits").plan
    once = Stream(plan, PERIODS, Loss.zcdp("0.5"), EACH, max_steps=1)
    served = with_copy(session.catalog, one_row=True)
    with pytest.raises(InvalidValue, match="cannot be seen in such a copy"):
        price_stream(once, served)
    price_stream(once, with_copy(session.catalog, one_row=False))  # all rows are there
    price_stream(Stream(plan, PERIODS, Loss.zcdp("0.5"), EACH), served)  # in each step
