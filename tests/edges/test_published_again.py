"""Publications and streams: never drawn again, never too early, never charged again by chance.

In version 0.1.0 a `.tacit` that was restored published a week again, with new noise, over the
file that was there; weeks that were not over were released; a stale copy published zeros for
ever; and any change of a table's declarations charged the whole horizon again.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Bar
from postgres_cluster import PostgresCluster

import tacit
from tacit.core.catalog import Catalog, Dataset, Epoch, ValidatedCopy
from tacit.core.loss import Budget, Loss
from tacit.errors import InvalidValue, LedgerBroken
from tacit.plan.expression import Span
from tacit.publish.due_releases import Folder, run
from tacit.publish.postgres import schema_of
from tacit.publish.publication import NAME, Publication, Publications
from tacit.session import ask as session_stream
from tacit.session.session import Session
from tacit.stream import open_stream
from tacit.stream.factor import EACH
from tacit.stream.stream import Periods, check_covered, covered_until

FIRST, WEEKS = date(2026, 1, 5), 6
SQL = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
PERIODS = Periods("day", Span.WEEKS, FIRST, WEEKS)
DECLARED = {
    "population": "patients",
    "unit": "patient",
    "bounds": {"pay": (0, 100)},
    "keys": {"ward": ["north", "south"]},
    "max_groups": 1,
    "max_rows": 1,
    "budget": Budget(Loss.zcdp(3), Fraction(1, 10**6)),
    "table": "visits",
}

Opens = Callable[..., Session]


def visits(rows: int = 1000) -> pa.Table:
    """A hundred and forty rows a week."""
    return pa.table(
        {
            "patient": list(range(rows)),
            "ward": [("north", "south")[row % 2] for row in range(rows)],
            "day": pa.array([FIRST + timedelta(days=row // 20) for row in range(rows)]),
            "pay": [row % 100 for row in range(rows)],
        }
    )


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    with ExitStack() as closing:

        def make(**changes: object) -> Session:
            given = {**DECLARED, "folder": tmp_path / ".tacit", **changes}
            rows = given.pop("rows", 1000)
            return closing.enter_context(tacit.open(visits(rows), **given))

        yield make


def publication(name: str = "wards") -> Publication:
    return Publication(name, SQL, PERIODS, Loss.zcdp("0.5"), EACH)


def declared(session: Session) -> Publication:
    made = publication()
    Publications(session.states).declare(made, session)
    return made


def publish(session: Session, folder: Path, week: int, *more: object) -> list[int]:
    """Release what is due when so many weeks are over."""
    today = FIRST + timedelta(days=7 * week)
    return [step.number for step in run(publication(), session, today, folder, *more)]


def spent(session: Session) -> Fraction:
    return session.status().spent.amount


def files(folder: Path) -> dict[str, str]:
    return {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "wards" / "table").glob("*.parquet"))
    }


def restored(tmp_path: Path, opens: Opens, weeks: int) -> Path:
    """Publish so many weeks, and put the ledger back that knew one week less."""
    home, backup, out = tmp_path / ".tacit", tmp_path / "backup", tmp_path / "published"
    with opens() as session:
        declared(session)
        publish(session, out, weeks - 1)
    shutil.copytree(home, backup)
    with opens() as session:
        publish(session, out, weeks)
    shutil.rmtree(home)
    shutil.copytree(backup, home)
    home.chmod(0o700)
    return out


@pytest.mark.parametrize("weeks", [1, 3])
def test_a_restored_ledger_draws_nothing_again(
    opens: Opens, tmp_path: Path, weeks: int, bar: Bar
) -> None:
    out = restored(tmp_path, opens, weeks)
    before = files(out)
    for week in (weeks, weeks + 1):
        with (
            opens() as session,
            pytest.raises(LedgerBroken, match="its release is not in the ledger") as told,
        ):
            publish(session, out, week)
    assert "tacit publish withdraw wards" in str(told.value)
    with opens() as session:
        drawn = Publications(session.states).open("wards", session).released - (weeks - 1)
    bar(f"edge published again, {weeks} weeks: drawn after a restore", drawn, "0", not drawn)
    assert files(out) == before
    assert len(before) == weeks


def test_three_restores_are_three_draws_where_nobody_looks(
    opens: Opens, tmp_path: Path, bar: Bar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lie: version 0.1.0, which did not look at what lies there, and wrote over it."""
    home, backup, out = tmp_path / ".tacit", tmp_path / "backup", tmp_path / "published"
    monkeypatch.setattr(Folder, "stored_periods", lambda _: frozenset())
    monkeypatch.setattr(
        "tacit.publish.due_releases._move_unless_exists", lambda made, path: made.replace(path)
    )
    with opens() as session:
        declared(session)
    shutil.copytree(home, backup)
    found = set()
    for _ in range(3):
        with opens() as session:
            publish(session, out, 1)
        found.add(str(pq.read_table(out / "wards/table")["n"].to_pylist()))
        shutil.rmtree(home)
        shutil.copytree(backup, home)
        home.chmod(0o700)
    bar(
        "lie: nobody looks at what is published: draws", len(found), "2 or more", len(found) > 1
    )


def test_a_restored_ledger_draws_nothing_again_for_a_database(
    opens: Opens, tmp_path: Path, cluster: PostgresCluster
) -> None:
    address = cluster.database("published_again")
    home, backup = tmp_path / ".tacit", tmp_path / "backup"
    with opens() as session:
        declared(session)
    shutil.copytree(home, backup)
    with opens() as session, schema_of(address, "reports") as tables:
        publish(session, tmp_path / "one", 2, tables(publication()))
    shutil.rmtree(home)
    shutil.copytree(backup, home)
    home.chmod(0o700)
    with (
        opens() as session,
        schema_of(address, "reports") as tables,
        pytest.raises(LedgerBroken, match="2026-01-05 of 'wards' is published"),
    ):
        publish(session, tmp_path / "two", 2, tables(publication()))
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT count(*) FROM reports.wards").fetchall() == [(4,)]


def test_what_was_changed_where_it_is_published_is_told_and_not_overwritten(
    opens: Opens, tmp_path: Path, cluster: PostgresCluster
) -> None:
    session = opens()
    declared(session)
    out, address = tmp_path / "published", cluster.database("published_and_changed")
    with schema_of(address, "reports") as tables:
        publish(session, out, 2, tables(publication()))
        assert publish(session, out, 2, tables(publication())) == []
        file = out / "wards/table/2026-01-05.parquet"
        right = file.read_bytes()
        table = pq.read_table(file)
        pq.write_table(table.set_column(2, "n", pa.array([1.0, 2.0])), file)
        before = files(out)
        with pytest.raises(LedgerBroken, match="with other values than the ledger"):
            publish(session, out, 3)
        assert files(out) == before
        file.write_bytes(right)
        assert publish(session, out, 3, tables(publication())) == [2]
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("UPDATE reports.wards SET n = n + 1 WHERE week = '2026-01-12'")
        with pytest.raises(LedgerBroken, match="2026-01-12 of 'wards' is published with other"):
            publish(session, out, 3, tables(publication()))


# ------------------------------------------------------------------ too early


def clock(day: date) -> Callable[[], int]:
    noon = datetime(day.year, day.month, day.day, 12).astimezone()
    return lambda: int(noon.timestamp() * 1000)


def test_a_period_that_is_not_over_is_not_released(opens: Opens, tmp_path: Path) -> None:
    session = opens()
    declared(session)
    session.ledger._clock = clock(FIRST + timedelta(days=13))
    with pytest.raises(InvalidValue, match="2026-01-19 is in the future: today is 2026-01-18"):
        publish(session, tmp_path, 2)
    assert publish(session, tmp_path, 1) == [0]
    running = Publications(session.states).open("wards", session)
    with pytest.raises(InvalidValue, match="is over on 2026-01-19, and today is 2026-01-18"):
        running.release()
    assert running.released == 1
    session.ledger._clock = clock(FIRST + timedelta(days=14))
    assert publish(session, tmp_path, 2) == [1]


def test_a_week_that_is_released_too_early_is_empty_for_ever(
    opens: Opens, monkeypatch: pytest.MonkeyPatch, bar: Bar
) -> None:
    """The lie: nobody looks at the calendar, and the rows of the week come afterwards."""
    monkeypatch.setattr(open_stream, "check_over", lambda *_: None)
    early = opens(rows=20)
    declared(early)
    early.ledger._clock = clock(FIRST + timedelta(days=1))
    few = Publications(early.states).open("wards", early).release(0)
    late = opens()
    again = Publications(late.states).open("wards", late).release(0)
    assert again.columns == few.columns
    missing = 140 - float(sum(again["n"].values))
    bar("lie: released before it is over: rows missing for ever", missing, "> 90", missing > 90)


# ------------------------------------------------------------------ epochs


def test_a_period_that_the_epoch_does_not_cover_is_not_released(
    opens: Opens, tmp_path: Path
) -> None:
    with opens(epoch="2026-W02") as session:
        declared(session)
        assert publish(session, tmp_path, 1) == [0]
        with pytest.raises(InvalidValue, match=r"epoch '2026-W02', which ends on 2026-01-11"):
            publish(session, tmp_path, 2)
        assert Publications(session.states).open("wards", session).released == 1
    with opens(epoch="2026-01-18") as session:  # another epoch is the same publication
        assert publish(session, tmp_path, 2) == [1]
        assert spent(session) == Fraction(1, 2)


def test_a_copy_covers_only_what_its_epoch_names(opens: Opens) -> None:
    session = opens(row_key="patient", max_rows_in_all=2)
    dataset = session.catalog.dataset("visits")

    def catalog(label: str, *, copied: bool) -> Catalog:
        epoch = Epoch(label)
        copy = _copy(dataset, epoch) if copied else None
        changed = replace(dataset, epoch=epoch, copy=copy)
        return replace(session.catalog, datasets=(changed,))

    check_covered(PERIODS, 0, catalog("1", copied=False), ["visits"])
    check_covered(PERIODS, 0, catalog("2026-01-11", copied=True), ["visits"])
    for label, copied in (("1", True), ("2026-01-10", True), ("2026-01-10", False)):
        with pytest.raises(InvalidValue, match="Declare an epoch that covers the period"):
            check_covered(PERIODS, 0, catalog(label, copied=copied), ["visits"])


def _copy(dataset: Dataset, epoch: Epoch) -> ValidatedCopy:
    """A copy of the table."""
    copy = ValidatedCopy.of(dataset.name, ("main",), 1, epoch)
    return replace(copy, made=FIRST + timedelta(days=7))


def test_a_copy_that_was_made_before_the_period_was_over_is_not_released(opens: Opens) -> None:
    catalog = opens(epoch="2026", row_key="patient", max_rows_in_all=2).catalog
    dataset = catalog.dataset("visits")

    def made(on: date | None) -> Catalog:
        copy = replace(_copy(dataset, dataset.epoch), made=on)
        return replace(catalog, datasets=(replace(dataset, copy=copy),))

    check_covered(PERIODS, 0, made(date(2026, 1, 12)), ["visits"])
    with pytest.raises(InvalidValue, match="was made on 2026-01-11, so that rows may be miss"):
        check_covered(PERIODS, 0, made(date(2026, 1, 11)), ["visits"])
    with pytest.raises(InvalidValue, match="was made on an unknown day"):
        check_covered(PERIODS, 0, made(None), ["visits"])


def test_a_stale_table_publishes_zeros_for_ever(
    opens: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bar: Bar
) -> None:
    """The lie: nobody asks whether the data is there."""
    monkeypatch.setattr(open_stream, "check_covered", lambda *_: None)
    stale = opens(epoch="2026-W02", rows=140)
    declared(stale)
    publish(stale, tmp_path, 2)
    late = opens(epoch="2026-W03")
    table = Publications(late.states).open("wards", late).release(1)
    shown = float(sum(table["n"].values))
    bar("lie: a week that is not there, of 140 rows: published", shown, "about 0", shown < 50)


@pytest.mark.parametrize(
    ("label", "until"),
    [
        ("2026-02-28", date(2026, 3, 1)),
        ("2026-W53", date(2027, 1, 4)),
        ("2026-12", date(2027, 1, 1)),
        ("2026-Q3", date(2026, 10, 1)),
        ("2026", date(2027, 1, 1)),
        ("2026-W54", None),
        ("2026-13", None),
        ("2026-02-30", None),
        ("9999", None),
        ("1", None),
        ("", None),
    ],
)
def test_an_epoch_covers_the_time_that_names_it(label: str, until: date | None) -> None:
    assert covered_until(label) == until


# ------------------------------------------------------------------ declarations


OTHERS = {
    "bounds of a column that is not used": {"bounds": {"pay": (0, 50)}},
    "no bounds of it": {"bounds": {}},
    "an epoch": {"epoch": "2"},
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_a_publication_does_not_use_changes_neither_charge_nor_files(
    opens: Opens, tmp_path: Path, what: str, bar: Bar
) -> None:
    with opens() as session:
        declared(session)
        publish(session, tmp_path, 2)
    before = files(tmp_path)
    with opens(**OTHERS[what]) as session:
        declared(session)  # the same again is free
        assert publish(session, tmp_path, 3) == [2]
        charged = spent(session)
    assert before.items() <= files(tmp_path).items()
    bar(f"edge published again, {what}: charged", str(charged), "1/2, once", charged == 0.5)


USED = {
    "limits": ({"max_rows": 2}, "at most 1 groups of 1 rows"),
    "keys": ({"keys": {"ward": ["north", "south", "east"]}}, "'north', 'south', 'east'"),
    "bounds of days": ({"bounds": {"day": (FIRST, date(2026, 12, 31))}}, "visits.day"),
}


@pytest.mark.parametrize("what", USED)
def test_what_a_publication_uses_stops_it_and_charges_nothing(
    opens: Opens, tmp_path: Path, what: str
) -> None:
    changes, says = USED[what]
    with opens() as session:
        declared(session)
        publish(session, tmp_path, 2)
    before = files(tmp_path)
    with opens(**changes) as session:
        for ask in (declared, lambda session: publish(session, tmp_path, 3)):
            with pytest.raises(InvalidValue, match="have changed since it was charged") as told:
                ask(session)
            assert says in str(told.value)
        assert spent(session) == Fraction(1, 2)
    assert files(tmp_path) == before
    with opens() as session:  # the change is undone
        assert publish(session, tmp_path, 3) == [2]


def test_any_declaration_charges_again_where_the_key_holds_all_of_them(
    opens: Opens, monkeypatch: pytest.MonkeyPatch, bar: Bar
) -> None:
    """The lie: the key of version 0.1.0."""
    everything = session_stream.policy_of

    def all_facts(_: object, catalog: Catalog, people: object, names: object) -> object:
        return (everything(people, [catalog.table(name) for name in names]),)

    monkeypatch.setattr(session_stream, "used_facts", all_facts)
    for pay in (100, 50):
        session = opens(bounds={"pay": (0, pay)})
        publication().stream(session).start()
    bar("lie: all declarations are in the key: charged", str(spent(session)), "1", True)
    assert spent(session) == 1


def test_what_version_0_1_0_declared_goes_on(opens: Opens, tmp_path: Path) -> None:
    """It was known by all declarations of its tables, and is found by them once more."""
    with opens() as session:
        stream = publication().stream(session)
        place = stream._place
        population = session.catalog.population("patients")
        policy = session_stream.policy_of(population, [session.catalog.dataset("visits")])
        old = stream.under(policy)
        old.start()
        first = old.release(0).columns
        told = json.dumps([publication().to_dict()]).encode()
        session.states.change(NAME, session.states.find(NAME), told)
        assert place.policy != policy
    with opens() as session:
        assert publish(session, tmp_path, 2) == [1]
        running = Publications(session.states).open("wards", session)
        assert (running.policy, running.release(0).columns) == (policy, first)
    with opens(bounds={}) as session:  # from then on it is known by what it uses
        assert publish(session, tmp_path, 3) == [2]
        assert spent(session) == Fraction(1, 2)


def test_what_version_0_1_0_declared_and_was_changed_since_stops(
    opens: Opens, tmp_path: Path
) -> None:
    session = opens()
    told = json.dumps([publication().to_dict()]).encode()
    session.states.change(NAME, session.states.find(NAME), told)
    with pytest.raises(InvalidValue, match="have changed since it was charged"):
        publish(session, tmp_path, 1)
    assert spent(session) == 0


def test_what_is_withdrawn_is_released_no_more_and_stays(opens: Opens, tmp_path: Path) -> None:
    session = opens()
    made, known = declared(session), Publications(session.states)
    publish(session, tmp_path, 2)
    before = files(tmp_path)
    known.withdraw("wards")
    assert known.all() == ()
    for ask in (
        lambda: publish(session, tmp_path, 3),
        lambda: known.withdraw("wards"),
        lambda: known.declare(made, session),
    ):
        with pytest.raises(InvalidValue, match="was withdrawn"):
            ask()
    known.declare(publication("wards_2"), session)
    assert [each.name for each in known.all()] == ["wards_2"]
    assert files(tmp_path) == before
