"""Writers of one process go one after the other, and none waits for ever."""

import os
from collections.abc import Callable
from threading import Thread

import pytest
from sqlalchemy import text

from tacit.errors import StoreFailed
from tacit.store import unit_of_work
from tacit.store.store import SqlStore
from tacit.store.unit_of_work import WriterLock

LATER = 0.05
"""Seconds in which a writer that does not wait would be done."""


def write(store: SqlStore) -> None:
    with store.writing():
        pass


def test_a_writer_waits_for_the_one_before_it_and_a_reader_does_not(store: SqlStore) -> None:
    second = Thread(target=write, args=(store,))
    with store.writing():
        second.start()
        second.join(LATER)
        assert second.is_alive()
        with store.reading() as reading, store.looking() as looking:
            assert reading.one(text("SELECT 1"), {}) == looking.one(text("SELECT 1"), {})
    second.join(10)
    assert not second.is_alive()


def test_a_turn_ends_with_a_work_that_fails(store: SqlStore) -> None:
    with pytest.raises(ZeroDivisionError), store.writing():
        raise ZeroDivisionError
    with pytest.raises(StoreFailed), store.writing() as work:
        work.run(text("no statement"), {})
    write(store)


def test_a_turn_ends_where_a_work_does_not_begin(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as closed:
        closed.setattr(store, "_connect", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write(store)
    write(store)


def test_whoever_waits_too_long_is_told_that_nothing_was_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unit_of_work, "LONGEST_WAIT", LATER)
    waiting = WriterLock()
    turn = waiting.take()
    with pytest.raises(StoreFailed, match=r"busy and nothing was written\. Ask again"):
        waiting.take()
    turn.release()
    waiting.take().release()


def test_a_child_does_not_wait_for_a_writer_of_its_parent(
    new_store: Callable[[str], str], opened: Callable[[str], SqlStore]
) -> None:
    store = opened(new_store("postgresql"))
    with store.writing():
        child = os.fork()
        if child == 0:
            write(store)
            os._exit(0)
        assert os.waitpid(child, 0) == (child, 0)
