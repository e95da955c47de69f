"""The store in memory keeps the promises of a store, all but durability."""

from threading import Event, Thread

import pytest
from asking import open_pure
from sqlalchemy import bindparam, delete, insert, select, text, update
from sqlalchemy.sql.expression import ClauseElement

from tacit.errors import Conflict, ConnectionLost, InternalError, StoreFailed
from tacit.ledger.ledger import Ledger
from tacit.store.store import NEWEST, Store
from tacit.store.tables import entries, states
from tacit.store.unit_of_work import Work
from tacit.testing import memory_store
from tacit.testing.memory_store import MemoryStore

PUT = insert(states)
NAMES = select(states.c.name).order_by(states.c.name)
NEXT = (
    update(states).where(states.c.name == bindparam("at")).values(version=states.c.version + 1)
)
VERSION = select(states.c.version).where(states.c.name == bindparam("at"))


@pytest.fixture
def store() -> Store:
    return MemoryStore()


def put(work: Work, name: str) -> None:
    work.run(PUT, {"name": name, "version": 0, "sealed": b"\x00\xff"})


def names(store: Store) -> list[str]:
    with store.reading() as work:
        return [name for (name,) in work.all(NAMES, {})]


def run(store: Store, statement: ClauseElement, **values: object) -> None:
    with store.writing() as work:
        work.run(statement, values)


def test_a_new_store_is_empty_and_has_the_newest_tables(store: Store) -> None:
    with store.looking() as work:
        assert work.one(text("SELECT version_num FROM alembic_version"), {}) == (NEWEST,)
    assert names(store) == []


def test_two_stores_share_nothing(store: Store) -> None:
    run(store, PUT, name="a", version=0, sealed=b"")
    assert names(MemoryStore()) == []
    assert names(store) == ["a"]


def test_a_unit_of_work_is_all(store: Store) -> None:
    with store.writing() as work:
        put(work, "a")
        put(work, "b")
        assert names(store) == []  # nobody sees half of it
    assert names(store) == ["a", "b"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_or_nothing_where_anything_is_raised(
    store: Store, failure: type[BaseException]
) -> None:
    def fail() -> None:
        with store.writing() as work:
            put(work, "a")
            raise failure

    with pytest.raises(failure):
        fail()
    assert names(store) == []
    run(store, PUT, name="b", version=0, sealed=b"")
    assert names(store) == ["b"]


def test_or_nothing_where_a_later_statement_is_refused(store: Store) -> None:
    def twice() -> None:
        with store.writing() as work:
            put(work, "a")
            put(work, "a")

    with pytest.raises(Conflict, match="Another writer was first, and nothing was written"):
        twice()
    assert names(store) == []
    run(store, PUT, name="c", version=0, sealed=b"")
    assert names(store) == ["c"]


def test_a_reader_sees_one_moment_and_delays_no_writer(store: Store) -> None:
    run(store, PUT, name="a", version=0, sealed=b"")
    with store.reading() as work:
        before = work.all(NAMES, {})
        with store.writing() as other:
            put(other, "b")
        assert work.all(NAMES, {}) == before == [("a",)]
    assert names(store) == ["a", "b"]


def test_a_reader_cannot_write(store: Store) -> None:
    for unit in (store.reading, store.looking):
        with pytest.raises(ConnectionLost), unit() as work:
            put(work, "a")
    assert names(store) == []


def test_writers_take_turns(store: Store) -> None:
    run(store, PUT, name="a", version=0, sealed=b"")
    done = Event()

    def second() -> None:
        run(store, NEXT, at="a")
        done.set()

    waiting = Thread(target=second)
    with store.writing() as work:
        work.run(NEXT, {"at": "a"})
        waiting.start()
        assert not done.wait(0.05)
    waiting.join(10)
    with store.reading() as work:
        assert work.one(VERSION, {"at": "a"}) == (2,)


def test_a_writer_inside_a_writer_is_refused_in_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_store, "LONGEST_WAIT", 0.01)
    with store.writing() as work:
        put(work, "a")
        with pytest.raises(StoreFailed, match="The store is busy"):
            run(store, PUT, name="b", version=0, sealed=b"")
    assert names(store) == ["a"]


def test_a_closed_store_opens_again_with_all_that_was_written(store: Store) -> None:
    run(store, PUT, name="a", version=0, sealed=b"")
    store.close()
    run(store, PUT, name="b", version=0, sealed=b"")
    assert names(store) == ["a", "b"]


def test_the_triggers_of_a_store_hold_here_too(store: Store) -> None:
    open_pure(Ledger(store))
    for broken in (delete(entries), update(entries).values(body="{}")):
        with pytest.raises(InternalError, match="violates one of its constraints"):
            run(store, broken)
    assert Ledger(store).verify("patients").entries == 1
