"""Opening a store: by many at once, by a forked child, and where there is none to open."""

import os
from collections.abc import Callable
from contextlib import closing
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path
from threading import Barrier as ThreadBarrier
from threading import Thread
from warnings import simplefilter

import pytest
from sqlalchemy import insert, select, text

from tacit.errors import InvalidValue, StoreFailed
from tacit.store.connect import open_store
from tacit.store.store import SqlStore
from tacit.store.tables import states

AT_ONCE = 16
FORK = get_context("fork")

Open = Callable[[str], SqlStore]


def put(store: SqlStore, name: str) -> None:
    with store.writing() as work:
        work.run(insert(states), {"name": name, "version": 1, "sealed": b""})


def names(store: SqlStore) -> set[str]:
    with store.reading() as work:
        return {name for (name,) in work.all(select(states.c.name), {})}


def open_and_put(address: str, start: Barrier, name: str) -> None:
    simplefilter("ignore")  # coverage's own warnings must not end a child
    start.wait(30)
    with closing(open_store(address)) as store:
        put(store, name)


def test_sixteen_processes_may_open_an_empty_store_at_once(
    store_address: str, opened: Open
) -> None:
    start = FORK.Barrier(AT_ONCE)
    openers = [
        FORK.Process(target=open_and_put, args=(store_address, start, str(number)))
        for number in range(AT_ONCE)
    ]
    for opener in openers:
        opener.start()
    for opener in openers:
        opener.join(60)
    assert [opener.exitcode for opener in openers] == [0] * AT_ONCE
    assert names(opened(store_address)) == {str(number) for number in range(AT_ONCE)}


def test_threads_may_open_different_stores_at_once(
    new_store: Callable[[str], str], opened: Open
) -> None:
    addresses = [new_store("sqlite") for _ in range(AT_ONCE)]
    start = ThreadBarrier(AT_ONCE)
    made = []

    def open_one(address: str) -> None:
        start.wait(30)
        store = opened(address)
        put(store, address)
        made.append(names(store))

    openers = [Thread(target=open_one, args=(address,)) for address in addresses]
    for opener in openers:
        opener.start()
    for opener in openers:
        opener.join(60)
    assert sorted(made, key=str) == sorted(({address} for address in addresses), key=str)


def backend(store: SqlStore) -> object:
    """Which connection this is, as the server or the pool knows it."""
    if store._engine.dialect.name == "postgresql":
        with store.reading() as work:
            return work.one(text("SELECT pg_backend_pid()"), {})
    return store._engine.pool


def use_in_child(store: SqlStore, of_parent: object) -> None:
    simplefilter("ignore")  # coverage's own warnings must not end a child
    put(store, "child")
    assert backend(store) != of_parent
    assert names(store) == {"parent", "child"}
    store.close()


def test_a_forked_child_uses_connections_of_its_own(store: SqlStore) -> None:
    put(store, "parent")
    mine = backend(store)
    assert backend(store) == mine
    child = FORK.Process(target=use_in_child, args=(store, mine))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert names(store) == {"parent", "child"}
    assert backend(store) == mine


def close_in_child(store: SqlStore) -> None:
    simplefilter("ignore")  # coverage's own warnings must not end a child
    store.close()


def test_a_child_that_closes_its_store_leaves_the_parent_its_own(store: SqlStore) -> None:
    put(store, "parent")
    mine = backend(store)
    child = FORK.Process(target=close_in_child, args=(store,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    put(store, "again")
    assert backend(store) == mine


@pytest.mark.parametrize(
    "address",
    ["", "not an address", "mysql://ann:hunter2@there/x", "sqlite://", "postgresql+pg8000://x"],
)
def test_an_address_of_neither_kind_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        open_store(address)
    assert str(refused.value) == "A store must be sqlite:///FILE or postgresql://HOST/NAME."


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    place.write_bytes(os.urandom(8192))
    with pytest.raises(StoreFailed, match="could not be opened, because its database"):
        open_store(f"sqlite:///{place}")
