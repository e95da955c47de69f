"""What every store must do, shown on a real SQLite file and on a real PostgreSQL."""

import subprocess
import sys
from collections.abc import Callable
from threading import Event, Thread

import pytest
from sqlalchemy import bindparam, insert, select, text, update
from sqlalchemy.sql.expression import ClauseElement

from tacit.errors import Conflict, StoreFailed
from tacit.store.store import SqlStore
from tacit.store.tables import states
from tacit.store.unit_of_work import Work

Open = Callable[[str], SqlStore]

PUT = insert(states)
NAMES = select(states.c.name).order_by(states.c.name)
VERSION = select(states.c.version).where(states.c.name == bindparam("at"))
SET = update(states).where(states.c.name == bindparam("at")).values(version=bindparam("to"))
NEXT = (
    update(states).where(states.c.name == bindparam("at")).values(version=states.c.version + 1)
)


def put(work: Work, name: str) -> None:
    work.run(PUT, {"name": name, "version": 0, "sealed": b"\x00\xff"})


def names(store: SqlStore) -> list[str]:
    with store.reading() as work:
        return [name for (name,) in work.all(NAMES, {})]


def version(store: SqlStore) -> int:
    with store.reading() as work:
        row = work.one(VERSION, {"at": "a"})
    assert row is not None
    return int(row[0])


def run(store: SqlStore, statement: ClauseElement, **values: object) -> None:
    with store.writing() as work:
        work.run(statement, values)


def test_a_unit_of_work_is_all(store: SqlStore) -> None:
    with store.writing() as work:
        put(work, "a")
        put(work, "b")
    assert names(store) == ["a", "b"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_or_nothing_where_anything_is_raised(
    store: SqlStore, failure: type[BaseException]
) -> None:
    def fail() -> None:
        with store.writing() as work:
            put(work, "a")
            raise failure

    with pytest.raises(failure):
        fail()
    assert names(store) == []


def test_or_nothing_where_a_later_statement_is_refused(store: SqlStore) -> None:
    def twice() -> None:
        with store.writing() as work:
            put(work, "a")
            put(work, "b")
            put(work, "b")

    with pytest.raises(Conflict, match="Another writer was first, and nothing was written"):
        twice()
    assert names(store) == []
    with store.writing() as work:
        put(work, "c")
    assert names(store) == ["c"]


def test_what_was_written_survives_the_store(store_address: str, opened: Open) -> None:
    first = opened(store_address)
    with first.writing() as work:
        put(work, "a")
    first.close()
    assert names(opened(store_address)) == ["a"]
    # a store that was closed opens again when it is used
    assert names(first) == ["a"]


def test_what_was_written_is_seen_by_another_process(store_address: str, opened: Open) -> None:
    with opened(store_address).writing() as work:
        put(work, "a")
    program = (
        "import sys; from tacit.store.connect import open_store; from sqlalchemy import text\n"
        "store = open_store(sys.argv[1])\n"
        "with store.reading() as work: print(work.all(text('SELECT name FROM states'), {}))\n"
        "store.close()"
    )
    seen = subprocess.run(
        [sys.executable, "-c", program, store_address],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert seen.stdout.strip() == "[('a',)]"


def test_a_reader_sees_one_moment_and_delays_no_writer(store: SqlStore) -> None:
    run(store, PUT, name="a", version=0, sealed=b"")
    with store.reading() as work:
        before = work.all(NAMES, {})
        with store.writing() as other:
            put(other, "b")
        assert work.all(NAMES, {}) == before == [("a",)]
    assert names(store) == ["a", "b"]


def test_a_writer_waits_for_the_one_before_it(
    store: SqlStore, store_address: str, opened: Callable[[str], SqlStore]
) -> None:
    run(store, PUT, name="a", version=0, sealed=b"")
    another, done = opened(store_address), Event()

    def second() -> None:
        run(another, NEXT, at="a")
        done.set()

    waiting = Thread(target=second)
    with store.writing() as work:
        work.run(NEXT, {"at": "a"})
        waiting.start()
        assert not done.wait(0.3)
        assert version(store) == 0
    waiting.join(20)
    assert done.is_set()
    assert version(store) == 2


def test_eight_writers_at_once_lose_no_step(
    store: SqlStore, store_address: str, opened: Callable[[str], SqlStore]
) -> None:
    run(store, PUT, name="a", version=0, sealed=b"")

    def steps() -> None:
        mine = opened(store_address)  # as a process of its own
        for _ in range(10):
            run(mine, NEXT, at="a")

    writers = [Thread(target=steps) for _ in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)
    assert version(store) == 80


def test_two_who_look_first_and_write_later_do_lose_one(store: SqlStore) -> None:
    run(store, PUT, name="a", version=0, sealed=b"")
    seen = [version(store), version(store)]
    for old in seen:
        run(store, SET, at="a", to=old + 1)
    assert version(store) == 1


def test_a_store_of_a_newer_version_is_refused(store_address: str, opened: Open) -> None:
    run(opened(store_address), text("UPDATE alembic_version SET version_num = '0009'"))
    with pytest.raises(
        StoreFailed, match="The store has the tables of migration 0009, but this version of"
    ):
        opened(store_address)
