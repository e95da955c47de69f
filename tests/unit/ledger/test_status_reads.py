"""A status is read from the row of a budget: no entry of the chain is looked at."""

from collections.abc import Sequence

import pytest
from history import write_history

from tacit.ledger.charge_facts import status_at
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store
from tacit.store.unit_of_work import Work


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes every statement that reads."""
    found: list[str] = []
    for name in ("one", "all"):
        honest = getattr(Work, name)

        def noted(self: Work, statement: object, values: object, honest=honest) -> object:  # type: ignore[no-untyped-def]  # noqa: ANN001
            found.append(str(statement))
            return honest(self, statement, values)

        monkeypatch.setattr(Work, name, noted)
    return found


def reads_entries(statements: Sequence[str]) -> bool:
    return any("FROM entries" in each for each in statements)


def test_a_status_reads_no_entry(store: Store, statements: list[str]) -> None:
    ledger = Ledger(store)
    write_history(ledger)
    statements.clear()
    status = ledger.status("patients", "ann")
    own = ledger.status_for("patients", "ann")
    found, entry = status_at(store, "patients", "ann")
    assert 0 < len(statements) <= 11  # of three statuses; PostgreSQL asks for its time too
    assert not reads_entries(statements)
    assert found == status
    assert entry == ledger.chain_ends()["patients"]
    assert own.spent.amount < status.spent.amount
    statements.clear()
    ledger.verify("patients")  # the lie: a verification reads them
    assert reads_entries(statements)
