"""The order of groups does not depend on the language of a database."""

from collections.abc import Callable

import pytest
from asking import answer, ask, open_pure
from postgres_cluster import PostgresCluster
from sqlalchemy import text
from sqlalchemy.engine import make_url

from tacit.ledger.budget import holders_of
from tacit.ledger.ledger import Ledger
from tacit.store.connect import open_store
from tacit.store.store import SqlStore


@pytest.fixture
def ledger(new_store: Callable[[str], str], opened: Callable[[str], SqlStore]) -> Ledger:
    return Ledger(opened(new_store("sqlite")))


def test_groups_are_in_one_order_whatever_language_the_database_speaks(
    cluster: PostgresCluster,
) -> None:
    address = make_url(cluster.database("administration"))
    administration = open_store(address.render_as_string())
    connection = administration._engine.raw_connection()
    connection.cursor().execute(
        "CREATE DATABASE english TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'"
    )
    connection.close()
    administration.close()
    store = open_store(address.set(database="english").render_as_string())
    try:
        ledger = Ledger(store)
        open_pure(ledger)
        for group in ("@b", "@A", "@C", "@a-d", "@ab"):
            ledger.join("patients", "ann", group, by="olga")
        with store.reading() as work:
            spoken = work.all(text("SELECT holder FROM members ORDER BY holder"), {})
            ours = holders_of(work, "patients", "ann")
        assert [holder for (holder,) in spoken] != sorted(holder for (holder,) in spoken)
        assert ours == ("ann", "@A", "@C", "@a-d", "@ab", "@b")
        answer(ledger, ask("a"))
        ledger.verify("patients")
    finally:
        store.close()
