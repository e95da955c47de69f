"""Publications: declared and charged once, each period released once, in files of their own."""

import json
import os
from collections.abc import Iterator
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import tacit
from tacit.cli.main import main
from tacit.core.loss import Budget, Loss
from tacit.errors import InvalidValue, UnknownName
from tacit.plan.expression import Span
from tacit.publish.due_releases import run
from tacit.publish.publication import Publication, Publications
from tacit.session.session import Session
from tacit.stream.factor import ALL
from tacit.stream.stream import Periods

FIRST, WEEKS = date(2026, 1, 5), 6
SQL = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


def publication(name: str = "visits", rho: str = "0.5", wait: int = 0) -> Publication:
    periods = Periods("day", Span.WEEKS, FIRST, WEEKS)
    return Publication(name, SQL, periods, Loss.zcdp(rho), ALL, 1, wait)


def opened(folder: Path) -> Session:
    days = [FIRST + timedelta(days=row // 20) for row in range(1000)]
    visits = pa.table(
        {
            "patient": list(range(1000)),
            "ward": [("north", "south")[row % 2] for row in range(1000)],
            "day": pa.array(days, pa.date32()),
        }
    )
    return tacit.open(
        visits,
        population="patients",
        unit="patient",
        keys={"ward": ["north", "south"]},
        max_groups=1,
        max_rows=1,
        budget=Budget(Loss.zcdp(2), Fraction(1, 10**6)),
        table="visits",
        folder=folder / ".tacit",
    )


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with opened(tmp_path) as found:
        yield found


def ran(session: Session, folder: Path, day: date, made: Publication) -> list[int]:
    Publications(session.states).declare(made, session)
    return [step.number for step in run(made, session, day, folder)]


def test_each_period_is_released_once_and_downtime_is_caught_up(
    session: Session, tmp_path: Path
) -> None:
    made = publication(wait=2)
    Publications(session.states).declare(made, session)
    after = [FIRST + timedelta(days=days) for days in (0, 8, 9, 10, 38, 300)]
    found = [ran(session, tmp_path, day, made) for day in after]
    assert found == [[], [], [0], [], [1, 2, 3, 4], [5]]
    # the weeks were paid for with the declaration, and are no questions of their own
    assert session.ledger.book("patients").paid == 1
    assert session.status().spent.amount == Fraction(1, 2)
    table = pq.read_table(tmp_path / "visits/table")
    assert table.column_names == ["week", "ward", "n", "n_low", "n_high"]
    assert table.num_rows == 2 * WEEKS
    weeks = sorted(set(table["week"].to_pylist()))
    assert weeks == [str(FIRST + timedelta(days=7 * week)) for week in range(WEEKS)]
    assert (
        len(json.loads((tmp_path / "visits/chart.vl.json").read_text())["data"]["values"]) == 12
    )
    promise = (tmp_path / "visits/promise.txt").read_text()
    assert "Policy: this is the loss of all 6 weeks together" in promise


def test_files_that_were_lost_are_written_again_as_they_were(
    session: Session, tmp_path: Path
) -> None:
    made = publication()
    day = FIRST + timedelta(days=15)
    assert ran(session, tmp_path, day, made) == [0, 1]
    path = tmp_path / "visits/table/2026-01-05.parquet"
    before = pq.read_table(path)
    path.unlink()
    assert ran(session, tmp_path, day, made) == []
    assert pq.read_table(path) == before


def test_two_schedulers_at_once_release_each_period_once(tmp_path: Path) -> None:
    made = publication()
    with opened(tmp_path) as first:
        Publications(first.states).declare(made, first)
    found: dict[int, list[list[int]]] = {}

    def schedule(place: int) -> None:
        with opened(tmp_path) as session:
            steps = run(made, session, FIRST + timedelta(days=99), tmp_path / str(place))
            found[place] = [list(step.table["n"].values) for step in steps]

    threads = [Thread(target=schedule, args=(place,)) for place in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tables = [pq.read_table(tmp_path / str(place) / "visits/table") for place in range(3)]
    assert tables[0].num_rows == 2 * WEEKS
    assert tables[0] == tables[1] == tables[2]
    with opened(tmp_path) as last:
        assert last.status().spent.amount == Fraction(1, 2)
        kept = [entry for entry in last.ledger.entries("patients") if '"kept"' in entry.body]
        assert len(kept) == 1 + WEEKS
        last.verify()


def test_a_name_stands_for_one_declaration(session: Session) -> None:
    declared = Publications(session.states)
    with pytest.raises(UnknownName, match="none yet"):
        declared["visits"]
    declared.declare(publication(), session)
    declared.declare(publication(), session)
    declared.declare(publication("others"), session)
    # the same stream under another name is the same releases, and costs nothing
    assert session.status().spent.amount == Fraction(1, 2)
    with pytest.raises(InvalidValue, match="under a new name"):
        declared.declare(publication(rho="0.6"), session)
    assert session.status().spent.amount == Fraction(1, 2)
    assert [each.name for each in declared.all()] == ["visits", "others"]
    assert declared["visits"] == publication()


@pytest.mark.parametrize(("name", "wait"), [("../x", 0), ("", 0), ("visits", -1)])
def test_names_that_are_no_folder_and_waits_below_0_are_refused(name: str, wait: int) -> None:
    with pytest.raises(InvalidValue):
        publication(name, wait=wait)


def test_one_that_cannot_be_written_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner(env={**os.environ, "TACIT_USER": "olga"})

    def told(*words: str) -> Result:
        return runner.invoke(main, words)

    told("demo")
    monkeypatch.chdir("tacit-demo")
    for name, steps in (("first", "4"), ("second", "5"), ("third", "6")):
        told(
            *("publish", "declare", name, "SELECT COUNT(*) AS n FROM visits"),
            *("--day", "day", "--from", "2026-01-05", "--steps", steps, "--epsilon", "0.5"),
        )
    Path("published").mkdir()
    Path("published/first").write_text("a file where a folder should be")
    assert told("publish", "withdraw", "second").exit_code == 0
    ran = told("publish", "run", "--today", "2026-01-13")
    assert ran.exit_code == 1
    assert "third: 2026-01-05 released" in ran.output
    assert "Not published, or not completely: first." in ran.output
    assert not Path("published/second").exists()
    listed = told("publish", "list").output
    assert "second: withdrawn by olga" in listed
    assert "third: 1 of 6 weeks" in listed
    Path("published/first").unlink()
    again = told("publish", "run", "--today", "2026-01-13")
    assert (again.exit_code, again.output) == (0, "first: 2026-01-05 released\n")
    Path("clinic.duckdb").rename("elsewhere")  # the tables are gone, and it can still be ended
    assert told("publish", "list").exit_code == 1
    assert told("publish", "withdraw", "first").exit_code == 0
    Path("elsewhere").rename("clinic.duckdb")
    assert "first: withdrawn by olga" in told("publish", "list").output
    assert told("publish", "withdraw", "first").exit_code == 1
    future = told("publish", "run", "third", "--today", "2999-01-01")
    assert future.exit_code == 1
    assert "2999-01-01 is in the future" in future.output
