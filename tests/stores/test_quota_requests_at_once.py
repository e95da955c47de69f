"""Requests and decisions that come at once: one is recorded, and the chain verifies."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from asking import open_pure

from tacit.core.loss import Loss
from tacit.errors import Conflict, InvalidValue, UnknownName
from tacit.ledger import quotas
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store

AT_ONCE = 8
KINDS = ["sqlite", "postgresql"]


@pytest.fixture(params=KINDS)
def ledger(
    request: pytest.FixtureRequest,
    new_store: Callable[[str], str],
    opened: Callable[[str], Store],
) -> Ledger:
    made = Ledger(opened(new_store(request.param)))
    open_pure(made, "5")
    made.set_quota("patients", "ann", Loss.pure("0.1"), by="olga")
    return made


def count(act: Callable[[int], object]) -> int:
    """How many of many attempts at once succeed."""

    def succeeds(number: int) -> bool:
        try:
            act(number)
        except (InvalidValue, UnknownName, Conflict):
            return False
        return True

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return sum(pool.map(succeeds, range(AT_ONCE)))


def test_an_analyst_who_asks_often_has_one_open_request(ledger: Ledger) -> None:
    def ask(number: int) -> object:
        return ledger.request_quota("patients", Loss.pure(1 + number), by="ann")

    assert count(ask) == 1
    assert len(ledger.quota_requests("patients")) == 1
    assert ledger.verify("patients").entries == 3


def test_a_request_is_decided_once(ledger: Ledger) -> None:
    wanted = ledger.request_quota("patients", Loss.pure(1), by="ann").seq

    def decide(number: int) -> object:
        act = ledger.grant_quota if number % 2 else ledger.decline_quota
        return act("patients", wanted, by="olga")

    assert count(decide) == 1
    assert ledger.quota_requests("patients") == {}
    assert ledger.verify("patients").entries == 4


def test_a_store_that_does_not_look_for_open_requests_is_found_out(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotas, "_requests", lambda *_: iter(()))
    for amount in (1, 2):
        ledger.request_quota("patients", Loss.pure(amount), by="ann")
    with pytest.raises(Exception, match="an analyst has one open request"):
        ledger.verify("patients")
