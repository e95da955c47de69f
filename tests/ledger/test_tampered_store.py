"""Whoever can write to the database itself: the triggers refuse, and `verify` tells."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from conftest import Bar
from history import write_history
from signing import write_signed_history
from sqlalchemy import Connection, create_engine, delete, insert, make_url, select, text
from sqlalchemy.exc import DBAPIError

from tacit.core.loss import Loss
from tacit.errors import LedgerBroken
from tacit.ledger.ledger import Ledger
from tacit.store.store import SqlStore
from tacit.store.tables import metadata

TAMPERINGS = {
    "entries": (
        "UPDATE entries SET body = replace(body, 'a', 'e') WHERE seq = 12",
        "UPDATE entries SET hash = head_hash FROM budgets WHERE seq = 12",
        "DELETE FROM entries WHERE seq = 12",
        "DELETE FROM entries WHERE seq > 40",
    ),
    "budgets": (
        "UPDATE budgets SET spent_amount = spent_amount - 1",
        "UPDATE budgets SET spent_amount = 0",
        "UPDATE budgets SET cap_amount = cap_amount + 1",
        "UPDATE budgets SET cap_delta = 1",
        "UPDATE budgets SET head_seq = head_seq - 1",
        "UPDATE budgets SET unit = 'visit'",
        "UPDATE budgets SET neighbours = 'replace one'",
        "UPDATE budgets SET measure = 'rho with delta'",
        "UPDATE budgets SET conversion_delta = '1/10'",
        "UPDATE budgets SET idealised = 1",
        "UPDATE budgets SET missed = 0, looked = 0",
        "UPDATE budgets SET looked = 0",
    ),
    "holders": (
        "UPDATE holders SET spent_amount = 0 WHERE holder = 'ann'",
        "UPDATE holders SET cap_amount = cap_amount + 1 WHERE holder = '@oncology'",
        "DELETE FROM holders WHERE holder = '@oncology'",
        "INSERT INTO holders VALUES ('patients', 'eve', 0, 0, 0, 0)",
    ),
    "owners": (
        "INSERT INTO owners VALUES ('patients', 'mallory')",
        "DELETE FROM owners WHERE owner = 'owen'",
    ),
    "members": (
        "DELETE FROM members WHERE principal = 'ann'",
        "INSERT INTO members VALUES ('patients', 'bob', '@oncology')",
    ),
    "proposals": (
        "DELETE FROM proposals",
        "UPDATE proposals SET body = replace(body, 'nobody', 'everybody')",
    ),
    "requests": (
        "DELETE FROM requests WHERE principal = 'bob'",
        "UPDATE requests SET binding = request WHERE principal = 'bob'",
    ),
    "answers": (
        "UPDATE answers SET body = receipt WHERE body IS NOT NULL",
        "UPDATE answers SET body = NULL",
        "UPDATE answers SET body = receipt WHERE body IS NULL",
        "DELETE FROM answers",
    ),
}
REFUSED = (
    "UPDATE entries SET body = body",
    "UPDATE entries SET hash = hash",
    "DELETE FROM entries WHERE seq > 40",
    "UPDATE answers SET body = receipt WHERE body IS NOT NULL",
    "UPDATE answers SET body = NULL WHERE body IS NOT NULL",
    "DELETE FROM answers",
)


@pytest.fixture
def ledger(store: SqlStore) -> Ledger:
    made = Ledger(store)
    write_history(made)
    return made


@pytest.fixture
def outside(store_address: str) -> Iterator[Connection]:
    """A way into the database past all of our code."""
    url = make_url(store_address)
    drivers = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}
    engine = create_engine(url.set(drivername=drivers[url.drivername]))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield connection
    engine.dispose()


@contextmanager
def put_back(outside: Connection, name: str) -> Iterator[None]:
    """Undo what is done to a table inside."""
    table = metadata.tables[name]
    before = [dict(row) for row in outside.execute(select(table)).mappings()]
    yield
    outside.execute(delete(table))
    outside.execute(insert(table), before)


def without_triggers(outside: Connection) -> None:
    if outside.dialect.name == "sqlite":
        found = outside.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'"))
        for (name,) in found.all():
            outside.execute(text(f"DROP TRIGGER {name}"))
    else:
        for table in ("entries", "answers"):
            outside.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER ALL"))


def believed(ledger: Ledger) -> bool:
    try:
        ledger.verify("patients")
    except LedgerBroken:
        return False
    return True


def test_every_change_behind_our_back_is_told(
    ledger: Ledger, outside: Connection, bar: Bar
) -> None:
    without_triggers(outside)
    told, tried = [], []
    for table, statements in TAMPERINGS.items():
        for statement in statements:
            tried.append(statement)
            with put_back(outside, table):
                assert outside.execute(text(statement)).rowcount > 0, statement
                told += [] if believed(ledger) else [statement]
            assert believed(ledger), f"put back after {statement}"
    figure = f"{len(told)} of {len(tried)}"
    name = f"changes of the {outside.dialect.name} tables that verify tells of"
    bar(name, figure, "all", told == tried)
    assert told == tried


KEYS = (
    "DELETE FROM owner_keys",
    "DELETE FROM owner_keys WHERE owner = 'omar'",
    "UPDATE owner_keys SET current = 1 - current WHERE owner = 'olga'",
    "UPDATE owner_keys SET owner = 'olga' WHERE owner = 'omar'",
    "UPDATE owner_keys SET key = replace(key, '1', '2') WHERE owner = 'omar'",
    "UPDATE owner_keys SET since = since + 1",
    "UPDATE owner_keys SET issuer = 'https://id.evil.example'",
    "INSERT INTO owner_keys VALUES ('patients', 'd7', 'mallory', '', 4, 1)",
)


def test_every_change_of_the_keys_of_owners_is_found(
    store: SqlStore, outside: Connection, bar: Bar
) -> None:
    ledger = Ledger(store)
    write_signed_history(ledger)
    found = []
    for statement in KEYS:
        with put_back(outside, "owner_keys"):
            assert outside.execute(text(statement)).rowcount > 0, statement
            found += [] if believed(ledger) else [statement]
        assert believed(ledger), f"put back after {statement}"
    bar("changes of the keys that verify finds", len(found), str(len(KEYS)), found == [*KEYS])
    assert found == [*KEYS]


def test_an_act_after_the_keys_were_removed_is_refused_by_the_chain(
    store: SqlStore, outside: Connection
) -> None:
    """The writing path reads the table, and so a lie there; the chain does not."""
    ledger = Ledger(store)
    write_signed_history(ledger)
    with put_back(outside, "owner_keys"):
        outside.execute(text("DELETE FROM owner_keys"))
        entry = ledger.set_quota("patients", "ann", Loss.pure(9), by="omar")
    with pytest.raises(LedgerBroken, match=f"signature of entry {entry.seq} is missing"):
        ledger.verify("patients")


@pytest.mark.parametrize("statement", REFUSED)
def test_triggers_refuse_to_change_the_log(
    ledger: Ledger, outside: Connection, statement: str
) -> None:
    with pytest.raises(DBAPIError, match=r"only added|written once"):
        outside.execute(text(statement))
    assert believed(ledger)
    without_triggers(outside)
    assert outside.execute(text(statement)).rowcount > 0


def test_postgresql_refuses_to_empty_the_log(ledger: Ledger, outside: Connection) -> None:
    if outside.dialect.name == "postgresql":
        for table in ("entries", "answers"):
            with pytest.raises(DBAPIError, match="only added"):
                outside.execute(text(f"TRUNCATE {table}"))
    assert believed(ledger)
