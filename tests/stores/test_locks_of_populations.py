"""The order of locks on several populations, in PostgreSQL."""

from collections.abc import Callable
from threading import Thread

from asking import open_pure
from sqlalchemy import text

from tacit.ledger.ledger import Ledger
from tacit.store.store import SqlStore


# what the order of the locks is for: the other way round, one of the two must be told to stop
def test_two_who_lock_in_different_orders_stand_in_each_others_way(
    new_store: Callable[[str], str], opened: Callable[[str], SqlStore]
) -> None:
    address = new_store("postgresql")
    store, another = opened(address), opened(address)  # each as a process of its own
    for name in ("patients", "staff"):
        open_pure(Ledger(store), name=name)
    lock = text("SELECT 1 FROM budgets WHERE population = :name FOR UPDATE")
    told: list[type[BaseException]] = []

    def backwards() -> None:
        try:
            with another.writing() as work:
                work.one(lock, {"name": "staff"})
                work.one(lock, {"name": "patients"})
        except Exception as error:  # noqa: BLE001 - which one is told is the server's choice
            told.append(type(error))

    def forwards() -> None:
        try:
            with store.writing() as work:
                work.one(lock, {"name": "patients"})
                other.start()
                while not waiting(store):
                    pass
                work.one(lock, {"name": "staff"})
        except Exception as error:  # noqa: BLE001
            told.append(type(error))

    other = Thread(target=backwards)
    forwards()
    other.join(30)
    assert [kind.__name__ for kind in told] == ["Conflict"]


def waiting(store: SqlStore) -> int:
    """How many sessions of this database wait for a lock."""
    with store.reading() as work:
        (found,) = work.one(
            text(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                "AND datname = current_database()"
            ),
            {},
        ) or (0,)
    return int(found)
