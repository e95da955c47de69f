"""Tables that a store keeps for speed are believed only where the chain adds up to them."""

from collections.abc import Callable
from typing import Any

import pytest
from history import write_history
from sqlalchemy import delete, insert, text, update
from sqlalchemy.sql.expression import ClauseElement

from tacit.core.loss import Loss
from tacit.errors import LedgerBroken
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store
from tacit.store.tables import (
    answers,
    budgets,
    holders,
    holdings,
    members,
    owners,
    proposals,
    requests,
)
from tacit.testing.memory_store import MemoryStore

BUDGET = r"the budget in the store's tables is not the sum of the chain's entries\."
QUOTAS = r"the quotas in the store's tables are not those of the chain\."
GOVERNMENT = "owners, groups, proposals or requests are not those of the chain"


@pytest.fixture
def written() -> Store:
    """A store in memory, whatever else this run has: tests/ledger tampers with databases."""
    store = MemoryStore()
    write_history(Ledger(store), 6)
    Ledger(store).verify("patients")
    return store


def run(store: Store, statement: ClauseElement, **values: object) -> None:
    with store.writing() as work:
        work.run(statement, values)


NUMBERS = (
    "spent_amount",
    "spent_delta",
    "missed",
    "looked",
    "failed",
    "retried",
    "least_amount",
    "declared",
    "frozen",
    "head_seq",
)


@pytest.mark.parametrize("column", NUMBERS)
def test_a_number_of_the_budget_that_is_one_more_is_noticed(
    written: Store, column: str
) -> None:
    changed = {column: budgets.c[column] + 1}
    if column == "spent_delta":
        changed["cap_delta"] = budgets.c.cap_delta + 1
    run(written, update(budgets).values(**changed))
    with pytest.raises(LedgerBroken, match=BUDGET):
        Ledger(written).verify("patients")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("unit", "visit"),
        ("neighbours", "replace one"),
        ("measure", "rho with delta"),
        ("conversion_delta", "1/2"),
        ("idealised", 1),
        ("least_share", "1/2"),
        ("head_hash", bytes(32)),
        ("cap_amount", 2**60),
    ],
)
def test_another_word_of_the_budget_is_noticed(written: Store, column: str, value: Any) -> None:
    run(written, update(budgets).values({column: value}))
    with pytest.raises(LedgerBroken, match=BUDGET):
        Ledger(written).verify("patients")


@pytest.mark.parametrize("column", ["cap_amount", "cap_delta", "spent_amount", "spent_delta"])
@pytest.mark.parametrize("holder", ["ann", "bob", "@oncology"])
def test_another_quota_is_noticed(written: Store, column: str, holder: str) -> None:
    change = update(holders).where(holders.c.holder == holder)
    run(written, change.values({column: holders.c[column] + 1}))
    with pytest.raises(LedgerBroken, match=QUOTAS):
        Ledger(written).verify("patients")


def test_a_quota_that_is_gone_is_noticed(written: Store) -> None:
    run(written, delete(holders).where(holders.c.holder == "cem"))
    with pytest.raises(LedgerBroken, match=QUOTAS):
        Ledger(written).verify("patients")


FORGED: dict[str, Callable[[], ClauseElement]] = {
    "an owner more": lambda: insert(owners).values(population="patients", owner="eve"),
    "an owner less": lambda: delete(owners).where(owners.c.owner == "olga"),
    "a member more": lambda: insert(members).values(
        population="patients", principal="bob", holder="@oncology"
    ),
    "a member less": lambda: delete(members),
    "a proposal more": lambda: insert(proposals).values(
        population="patients", seq=1, body="{}"
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_another_government_is_noticed(written: Store, name: str) -> None:
    run(written, FORGED[name]())
    with pytest.raises(LedgerBroken, match=GOVERNMENT):
        Ledger(written).verify("patients")


def test_a_proposal_that_vanished_is_noticed(written: Store) -> None:
    ledger = Ledger(written)
    with written.reading() as work:
        waiting = work.all(text("SELECT seq FROM proposals"), {})
    assert waiting  # the history leaves one
    run(written, delete(proposals))
    with pytest.raises(LedgerBroken, match=GOVERNMENT):
        ledger.verify("patients")


def test_a_request_that_vanished_is_noticed(written: Store) -> None:
    ledger = Ledger(written)
    ledger.set_quota("patients", "zoe", Loss.pure("0.1"), by="olga")
    asked = ledger.request_quota("patients", Loss.pure("0.2"), by="zoe")
    ledger.verify("patients")
    run(written, delete(proposals).where(proposals.c.seq == asked.seq))
    with pytest.raises(LedgerBroken, match=GOVERNMENT):
        ledger.verify("patients")


def test_tables_that_nobody_declared_are_noticed(written: Store) -> None:
    row = {"population": "patients", "identity": "here visits", "current": 1}
    run(written, insert(holdings), **row)
    with pytest.raises(
        LedgerBroken, match=r"the store's list of tables is not the list in the chain\."
    ):
        Ledger(written).verify("patients")


def test_a_request_that_is_forgotten_or_bound_otherwise_is_noticed(written: Store) -> None:
    told = r"a charged request is missing in the store, or differs there\."
    run(written, update(requests).values(binding=bytes(32)))
    with pytest.raises(LedgerBroken, match=told):
        Ledger(written).verify("patients")
    run(written, delete(requests))
    with pytest.raises(LedgerBroken, match=told):
        Ledger(written).verify("patients")


def unlocked(store: Store) -> None:
    """Take away the triggers, as somebody can who holds the database."""
    with store.writing() as work:
        found = work.all(text("SELECT name FROM sqlite_master WHERE type = 'trigger'"), {})
        for (name,) in found:
            work.run(text(f"DROP TRIGGER {name}"), {})
    assert found


def test_a_stored_answer_that_was_changed_or_is_gone_is_noticed(written: Store) -> None:
    told = r"a stored answer is not the one in the chain\."
    unlocked(written)
    run(written, update(answers).where(answers.c.body.is_not(None)).values(body=b"forged"))
    with pytest.raises(LedgerBroken, match=told):
        Ledger(written).verify("patients")
    run(written, delete(answers).where(answers.c.body.is_not(None)))
    with pytest.raises(LedgerBroken, match=told):
        Ledger(written).verify("patients")


def test_a_stored_answer_that_no_entry_tells_of_is_noticed(written: Store) -> None:
    unlocked(written)
    run(written, update(answers).where(answers.c.body.is_(None)).values(body=b"forged"))
    with pytest.raises(LedgerBroken, match=r"an answer is stored that is not in the chain\."):
        Ledger(written).verify("patients")
