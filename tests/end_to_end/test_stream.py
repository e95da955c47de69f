"""A stream: charged once, each step released once and in order, under a printed policy."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import date, timedelta
from fractions import Fraction
from getpass import getuser
from pathlib import Path

import pyarrow as pa
import pytest

import tacit
from tacit.core.loss import Budget, Loss, Measure
from tacit.errors import BudgetExceeded, InternalError, InvalidValue, PopulationLocked
from tacit.plan.expression import Span
from tacit.session.session import Session
from tacit.stream.factor import ALL, EACH, Tree, Window
from tacit.stream.open_stream import OpenStream
from tacit.stream.step import expected_step_errors
from tacit.stream.stream import Periods
from tacit.stream.toeplitz import Toeplitz

WEEKS, FIRST = 8, date(2026, 1, 5)
COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
PERIODS = Periods("day", Span.WEEKS, FIRST, WEEKS)

Opens = Callable[..., Session]


def visits(rows: int = 800) -> pa.Table:
    """A hundred rows a week: patient i has row i, and then row i + 400 four weeks later."""
    days = [FIRST + timedelta(days=7 * row // 100) for row in range(rows)]
    return pa.table(
        {
            "patient": [f"p{row % 400}" for row in range(rows)],
            "ward": [("north", "south")[row % 2] for row in range(rows)],
            "day": pa.array(days, pa.date32()),
            "pay": [row % 100 for row in range(rows)],
        }
    )


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    """Opens sessions over visits, with one ledger, and closes them after the test."""
    closing = ExitStack()

    def make(source: object = None, **changes: object) -> Session:
        declared = {
            "population": "patients",
            "unit": "patient",
            "bounds": {"pay": (0, 100)},
            "keys": {"ward": ["north", "south"]},
            "max_groups": 1,
            "max_rows": 1,
            "budget": Budget(Loss.zcdp(3000, "1e-6"), Fraction(1, 10**6)),
            "table": "visits",
            "folder": tmp_path / ".tacit",
        }
        table = visits() if source is None else source
        return closing.enter_context(tacit.open(table, **(declared | changes)))

    with closing:
        yield make


def stream(
    session: Session, loss: Loss | None = None, sql: str = COUNT, **more: object
) -> OpenStream:
    return session.stream(session.sql(sql), loss or Loss.zcdp("0.5"), PERIODS, **more)


def test_the_whole_horizon_is_charged_once_and_a_step_costs_nothing(opens: Opens) -> None:
    session = opens()
    running = stream(session)
    assert session.status().spent.amount == 0
    tables = [running.release() for _ in range(WEEKS)]
    assert session.status().spent.amount == Fraction(1, 2)
    assert {table.receipt for table in tables} == {running.start()}
    session.verify()
    # 50 a ward and week, with noise of a deviation below sqrt(8)
    for table in tables:
        assert all(abs(value - 50) < 30 for value in table["n"].values)


def test_a_step_again_is_the_same_also_for_another_session(opens: Opens) -> None:
    first = stream(opens(), window=ALL, max_steps=2)
    tables = [first.release() for _ in range(3)]
    again = stream(opens(), window=ALL, max_steps=2)
    assert again.released == 3
    assert [again.release(number).columns for number in range(3)] == [t.columns for t in tables]
    assert first.release(1).columns == tables[1].columns


def test_steps_are_released_in_order_and_end(opens: Opens) -> None:
    running = stream(opens())
    with pytest.raises(InvalidValue, match="in order, and the next step is 0"):
        running.release(2)
    for _ in range(WEEKS):
        running.release()
    with pytest.raises(InvalidValue, match="has 8 steps, and step 8 is not one of them"):
        running.release()
    with pytest.raises(InvalidValue, match="step -1 is not one of them"):
        running.release(-1)


def test_rows_that_come_after_their_step_do_not_count(opens: Opens) -> None:
    early = visits().slice(0, 50)
    few = stream(opens(early), Loss.zcdp(1000)).release(0)
    late = stream(opens(visits()), Loss.zcdp(1000))
    assert late.release(0).columns == few.columns
    assert sum(few["n"].values) < 60
    assert sum(late.release(1)["n"].values) > 90


def test_windows_are_differences_of_what_was_released(opens: Opens) -> None:
    session = opens()
    last = [stream(session, Loss.zcdp(1000), window=Window(3)).release() for _ in range(WEEKS)]
    shown = [float(sum(table["n"].values)) for table in last]
    assert shown == pytest.approx([100, 200, *[300] * (WEEKS - 2)], abs=5)
    every = [stream(session, Loss.zcdp(1000), window=ALL).release() for _ in range(WEEKS)]
    totals = [float(sum(table["n"].values)) for table in every]
    assert totals == pytest.approx([100 * week for week in range(1, WEEKS + 1)], abs=5)


def test_streams_that_differ_in_anything_share_nothing(opens: Opens) -> None:
    session = opens()
    losses = (Loss.zcdp("0.1"), Loss.zcdp("0.2"))
    opened = [stream(session, loss, window=w) for loss in losses for w in (EACH, ALL)]
    tables = [[each.release()["n"].values for _ in range(WEEKS)] for each in opened]
    assert len({str(table) for table in tables}) == len(tables)
    assert session.status().spent.amount == Fraction(6, 10)


def test_whoever_is_in_every_step_costs_the_root_of_their_number(opens: Opens) -> None:
    """Claim T41: noise for a person of all weeks is the root of their number times as much."""
    session = opens()
    always, once = stream(session), stream(session, max_steps=1)
    assert isinstance(always.quote.factor, Toeplitz)
    ratio = always.quote.tallies[0].noise.variance / once.quote.tallies[0].noise.variance
    assert ratio == WEEKS


def test_the_policy_is_printed_with_each_release(opens: Opens) -> None:
    session = opens()
    always = repr(stream(session).release())
    assert "for a person over the horizon: one who is in every one of the 8 weeks" in always
    assert "they lose 1: epsilon 1.65998 (rho 0.0625); all 8: epsilon 5.221535" in always
    assert "It assumes that no more than 100000 further questions are tried" in always
    once = repr(stream(session, max_steps=1, window=ALL).release())
    assert "It assumes that rows of weeks that are over are neither removed nor" in once
    assert "they count in the first week that they have rows in, and in no other" in once
    few = repr(stream(session, max_steps=3, window=Window(2)).release())
    assert "they count in the first 3 weeks that they have rows in, and in no other" in few
    assert "Shown: the last 2 steps together." in few


def test_what_is_expected_before_is_what_intervals_say_after(opens: Opens) -> None:
    running = stream(opens(), Loss.zcdp("0.02"), window=ALL, max_steps=2)
    [said] = expected_step_errors(running.quote)
    tables = [running.release() for _ in range(WEEKS)]
    far = [(high - low) / 2 for low, high in (table["n"].counted[0] for table in tables)]
    first, last = (float(said.split(f" in the {end}")[0].split()[-1]) for end in ("f", "l"))
    assert first == pytest.approx(float(far[0]), rel=0.1)
    assert last == pytest.approx(float(far[-1]), rel=0.1)
    assert far[0] < far[-1]


def test_people_who_come_again_are_added_up_so_that_the_low_end_is_open(opens: Opens) -> None:
    text = "SELECT COUNT(DISTINCT patient) AS n FROM visits"
    tables = {
        window: stream(opens(), Loss.zcdp(1), sql=text, window=window).release()
        for window in (EACH, ALL)
    }
    [(low, high)] = tables[EACH]["n"].intervals
    assert None not in {low, high}
    [(low, high)] = tables[ALL]["n"].intervals
    assert low is None
    assert high is not None
    assert any("windows of distinct counts" in said for said in tables[ALL].coverage)


def test_a_person_counts_in_their_first_weeks_and_in_no_other(opens: Opens) -> None:
    """Whatever the owner believed: here everybody comes again after four weeks."""
    session = opens()
    once, twice = (stream(session, Loss.zcdp(1000), max_steps=most) for most in (1, 2))
    shown = [float(sum(once.release()["n"].values)) for _ in range(WEEKS)]
    assert shown == pytest.approx([100] * 4 + [0] * 4, abs=5)
    shown = [float(sum(twice.release()["n"].values)) for _ in range(WEEKS)]
    assert shown == pytest.approx([100] * WEEKS, abs=5)


def test_sums_and_ratios_are_released_too(opens: Opens) -> None:
    text = "SELECT SUM(pay) AS pay, COUNT(*) AS n, SUM(pay) / COUNT(*) AS mean FROM visits"
    table = stream(opens(), Loss.zcdp(1000), sql=text).release()
    assert float(table["n"].values[0]) == pytest.approx(100, abs=5)
    assert float(table["mean"].values[0]) == pytest.approx(49.5, abs=5)


def test_pure_budgets_have_laplace_noise(opens: Opens) -> None:
    session = opens(budget=Budget(Loss.pure(10)))
    long = Periods("day", Span.DAYS, FIRST, 365)
    running = session.stream(session.sql(COUNT), Loss.pure(1), long, window=ALL, max_steps=1)
    assert isinstance(running.quote.factor, Tree)
    running.release()
    assert session.status().spent == Loss(Measure.PURE, Fraction(1))


def test_what_does_not_fit_the_budget_touches_nothing(opens: Opens) -> None:
    running = stream(opens(budget=(1, "1e-6")), Loss.zcdp(100))
    with pytest.raises(BudgetExceeded):
        running.release()
    assert running.released == 0


def test_means_and_secret_groups_are_refused_before_the_charge(opens: Opens) -> None:
    session = opens(keys={})
    with pytest.raises(InvalidValue, match="groups of a stream must be public"):
        stream(session)
    with pytest.raises(InvalidValue, match="COUNT and SUM"):
        stream(session, sql="SELECT AVG(pay) AS pay FROM visits")
    with pytest.raises(InvalidValue, match="max_steps=9"):
        stream(session, sql="SELECT COUNT(*) AS n FROM visits", max_steps=9)


def test_an_engine_that_fails_says_nothing_and_loses_nothing(opens: Opens) -> None:
    session = opens()
    running = stream(session, max_steps=1, window=ALL)
    running.release()
    place = running._place
    kept = place.engine

    class Failing:
        def run(self, *_: object) -> object:
            raise ValueError("p17 was here")

    object.__setattr__(place, "engine", Failing())
    with pytest.raises(InternalError) as told:
        running.release()
    assert "p17" not in f"{told.value}{told.value.__cause__}{told.value.__context__}"
    object.__setattr__(place, "engine", kept)
    with pytest.raises(PopulationLocked, match="tacit ledger look patients"):
        running.release()
    session.ledger.look("patients", by=getuser())
    assert running.release(1).columns
    assert running.released == 2


def test_intervals_hold_the_exact_totals_nineteen_times_in_twenty(opens: Opens) -> None:
    codes, weeks = 2000, 4
    rows = [(code, week) for code in range(codes) for week in range(weeks) if (code + week) % 3]
    table = pa.table(
        {
            "patient": list(range(len(rows))),
            "code": [code for code, _ in rows],
            "day": pa.array(
                [FIRST + timedelta(days=7 * week) for _, week in rows], pa.date32()
            ),
        }
    )
    session = opens(table, keys={"code": list(range(codes))}, bounds={})
    text = "SELECT code, COUNT(*) AS n FROM visits GROUP BY code"
    running = stream(session, Loss.zcdp("0.02"), sql=text, window=ALL, max_steps=4)
    for number in range(weeks):
        shown = running.release()["n"]
        exact = [
            sum((code + week) % 3 > 0 for week in range(number + 1)) for code in range(codes)
        ]
        held = [low <= n <= high for n, (low, high) in zip(exact, shown.counted, strict=True)]
        # 2,000 at 95% lie below 92% or above 98% once in 10^8 runs
        assert 0.92 < sum(held) / codes < 0.98
