"""A store that was made by version 0.1.0 is brought to the tables of today."""

from fractions import Fraction
from pathlib import Path

from alembic import command
from alembic.config import Config
from asking import TENTH, ask
from sqlalchemy import create_engine, text

import tacit.store.upgrade
from tacit.core.loss import Loss
from tacit.ledger.entries import GENESIS, Opened, encode_act, follow
from tacit.ledger.ledger import Ledger
from tacit.store.connect import open_store

OPENED = Opened(
    "person", "add or remove one", "epsilon", 10**12, 0, "0", 0, ("olga",), "olga", 1
)


def make_old(path: Path) -> None:
    """A SQLite store as 0.1.0 made it: one budget, of which nothing is spent."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = Config()
        folder = Path(tacit.store.upgrade.__file__).parent / "migrations"
        config.set_main_option("script_location", str(folder))
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        first = follow(GENESIS, "patients", 1, encode_act(OPENED))
        connection.execute(
            text(
                "INSERT INTO budgets VALUES ('patients', '', 'person', 'add or remove one', "
                "'epsilon', '0', 0, 1000000000000, 0, 0, 0, 0, 0, 1, :head)"
            ),
            {"head": first.hash},
        )
        connection.execute(text("INSERT INTO owners VALUES ('patients', 'olga')"))
        connection.execute(
            text("INSERT INTO entries VALUES ('patients', 1, :body, :hash)"),
            {"body": first.body, "hash": first.hash},
        )
    engine.dispose()


def test_a_store_of_the_first_version_gets_the_usual_least_price(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_old(path)
    store = open_store(f"sqlite:///{path}")
    ledger = Ledger(store)
    status = ledger.status("patients")
    assert (status.least, status.failed, status.locked) == (Loss.pure("0.00001"), 0, False)
    assert ledger.verify("patients").entries == 1
    ledger.reserve(ask("a question", event=TENTH), lease_ms=1)
    book = ledger.book("patients")
    assert book.least_share == Fraction(1, 10**5)
    assert book.seq == 2
    store.close()
