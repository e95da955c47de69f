"""A default quota holds for an analyst who asks everything at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from asking import ask, open_pure

from tacit.core.loss import Loss
from tacit.errors import BudgetExceeded
from tacit.ledger.charge import Charge
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store

AT_ONCE, FIT = 16, 3


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_no_more_is_charged_than_a_default_quota_allows(
    kind: str, new_store: Callable[[str], str], opened: Callable[[str], Store]
) -> None:
    ledger = Ledger(opened(new_store(kind)))
    open_pure(ledger, "5")
    ledger.set_default_quota("patients", Loss.pure("0.3"), by="olga")

    def charged(number: int) -> bool:
        try:
            found = ledger.reserve(ask(f"question {number}", principal="ann"), lease_ms=1)
        except BudgetExceeded:
            return False
        return isinstance(found, Charge)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert sum(pool.map(charged, range(AT_ONCE))) == FIT
    assert ledger.status("patients").spent == Loss.pure("0.3")
    ledger.verify("patients")
