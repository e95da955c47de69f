"""One statement that reads: it leaves nothing open behind it, and sees what is there now."""

from collections.abc import Callable

import pytest
from sqlalchemy import bindparam, insert, select, text

from tacit.errors import StoreFailed
from tacit.store import connect
from tacit.store.store import SqlStore
from tacit.store.tables import owners

NAMES = select(owners.c.owner).where(owners.c.population == bindparam("at"))
OPEN = {
    "sqlite": "PRAGMA wal_checkpoint(TRUNCATE)",
    "postgresql": (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND state LIKE 'idle in transaction%'"
    ),
}
"""What tells, by a first column of 0, that nobody reads any more."""


def add(store: SqlStore, owner: str) -> None:
    with store.writing() as work:
        work.run(insert(owners), {"population": "patients", "owner": owner})


@pytest.mark.parametrize("kind", OPEN)
def test_it_leaves_nothing_open_and_sees_what_is_there_now(
    kind: str,
    new_store: Callable[[str], str],
    opened: Callable[[str], SqlStore],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connect, "WAIT_SECONDS", 1)  # the lie is waited for
    address = new_store(kind)
    store, other = opened(address), opened(address)
    add(store, "olga")
    add(store, "omar")
    with store.looking() as work:
        assert work.one(NAMES, {"at": "patients"}) in {("olga",), ("omar",)}
    add(other, "oda")
    with store.looking() as work:
        assert len(work.all(NAMES, {"at": "patients"})) == 3
    with other.looking() as work:
        found = work.one(text(OPEN[kind]), {})
    assert found is not None
    assert found[0] == 0
    # the lie: a work that is not at its end holds what it began
    with store.reading() as held:
        held.one(NAMES, {"at": "patients"})
        add(other, "otto")
        with other.looking() as work:
            found = work.one(text(OPEN[kind]), {})
    assert found is not None
    assert found[0] != 0


def test_what_fails_has_one_text_and_the_next_look_is_well(store: SqlStore) -> None:
    with pytest.raises(StoreFailed), store.looking() as work:
        work.one(text("SELECT nothing FROM nowhere"), {})
    with store.looking() as work:
        assert work.one(NAMES, {"at": "patients"}) is None
