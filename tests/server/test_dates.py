"""Every answer has the day of its charge, and the epochs of its tables with their days."""

import json
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner
from serving import Server, make_project, serving

from tacit.cli.main import main
from tacit.client import connect
from tacit.core.release import DatedEpoch, ReleaseDates
from tacit.ledger.charge import utc_day
from tacit.ledger.ledger import wall_clock
from tacit.plan import Span
from tacit.session import Session
from tacit.session.project import apply_project, open_project
from tacit.stream import Periods

COUNT = "SELECT COUNT(*) AS n FROM people"
JOINED = "SELECT COUNT(*) AS n FROM visits JOIN people ON visits.patient = people.id"
DAY_MS = 86_400_000


def today() -> date:
    """The day on which the test runs, which began before midnight as a rule."""
    found = utc_day(wall_clock())
    assert found is not None
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return make_project(tmp_path)


@pytest.fixture
def opened(file: Path) -> Iterator[Callable[[int], Session]]:
    """Sessions of Ann, some days from now."""
    made: list[Session] = []

    def later(days: int) -> Session:
        session = open_project(file, principal="ann", environment={})
        session.ledger._clock = lambda: wall_clock() + days * DAY_MS
        made.append(session)
        return session

    yield later
    for session in made:
        session.close()


def test_an_answer_keeps_the_day_of_its_charge(
    file: Path, opened: Callable[[int], Session]
) -> None:
    first = opened(0).sql(COUNT).ask(epsilon="0.1")
    assert first.dates == ReleaseDates(today(), (DatedEpoch("people", "1", today()),))
    said = f"Charged on {today()}. The data is people of epoch '1' (since {today()})."
    assert said in repr(first)
    assert said.replace("'", "&#x27;") in first._repr_html_()
    later = opened(3)
    again, other = (later.sql(COUNT).ask(epsilon=each) for each in ("0.1", "0.2"))
    assert again.dates == first.dates
    assert other.dates is not None
    assert other.dates.charged == utc_day(wall_clock() + 3 * DAY_MS)
    assert other.dates.epochs == first.dates.epochs
    shown = CliRunner().invoke(
        main,
        ["ask", COUNT, "--epsilon", "0.1", "--json", "--project", str(file), "--as", "ann"],
    )
    assert json.loads(shown.output)["dates"] == {
        "charged": str(today()),
        "epochs": [{"table": "people", "epoch": "1", "since": str(today())}],
    }


def test_each_table_of_a_join_has_its_epoch(
    file: Path, opened: Callable[[int], Session]
) -> None:
    text = file.read_text()
    moved = text.replace('epoch = "1"\nlink', 'epoch = "2026-W47"\nlink')
    assert moved != text
    file.write_text(moved)
    apply_project(file, by="olga")
    answer = opened(0).sql(JOINED).ask(epsilon="0.1")
    assert answer.dates is not None
    assert [each.label for each in answer.dates.epochs] == ["1", "2026-W47"]


def test_a_step_of_a_stream_has_the_day_of_its_horizon(
    opened: Callable[[int], Session],
) -> None:
    session = opened(0)
    question = session.sql("SELECT COUNT(*) AS n FROM visits")
    weeks = Periods("day", Span.WEEKS, date(2026, 1, 5), 2)
    table = session.stream(question, question.loss(epsilon="0.3"), weeks).release()
    assert table.dates == ReleaseDates(today())
    assert f"Charged on {today()}." in table.notes


def test_a_server_sends_the_dates(tmp_path: Path) -> None:
    with serving(make_project(tmp_path)) as server:
        _check_served(server)


def _check_served(server: Server) -> None:
    token = server.token("ann")
    plain = server.ask(token, epsilon="0.1").json()
    assert plain["dates"]["charged"] == str(today())
    with connect(server.address, token=token) as session:
        answer = session.sql(COUNT).ask(epsilon="0.1")
    assert answer.dates is not None
    assert answer.dates.epochs == (DatedEpoch("people", "1", today()),)
