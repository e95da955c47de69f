"""The path of a question whose groups nobody declared: its delta is asked for and charged."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from clinic import catalog, database

from tacit.accounting.convert import budget_within
from tacit.core.catalog import Limits
from tacit.core.codec import decode_release, encode_release
from tacit.core.loss import Loss
from tacit.core.release import Release
from tacit.engines.duckdb import DuckDB
from tacit.errors import BudgetExceeded, InvalidValue
from tacit.ledger.charge import ChargeRequest, StoredRelease, Target
from tacit.ledger.ledger import Ledger
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.query.paid_work import released_by, run
from tacit.query.post_processing import post_process
from tacit.query.pricing import price
from tacit.sql.parser import parse
from tacit.store.store import SqlStore

CLINIC = catalog(Limits(max_groups=1, max_rows=2))
SIZES = {"house": 300, "grey": 200, "quiet": 1}
ROWS = [
    {"person": f"{doctor} {number}", "doctor": doctor, "age": 40}
    for doctor, size in SIZES.items()
    for number in range(size)
]
TEXT = "SELECT doctor, COUNT(DISTINCT person) AS n, AVG(age) AS age FROM visits GROUP BY doctor"


@pytest.fixture
def ledger(new_store: Callable[[str], str], opened: Callable[[str], SqlStore]) -> Ledger:
    made = Ledger(opened(new_store("sqlite")))
    patients = CLINIC.population("patients")
    made.open_budget(patients, budget_within(3, "1e-6"), ("olga",), by="olga")
    return made


def ask(ledger: Ledger, text: str, loss: Loss, request: str = "1") -> Release:
    quote = price(parse(text, CLINIC), CLINIC, loss)
    question = ChargeRequest(
        targets=(Target(quote.population, quote.event),),
        principal="ann",
        request=request,
        plan=quote.question.hash,
        loss=quote.loss,
        policy="1",
        epochs=("visits 1",),
        price_delta=quote.price_delta,
    )
    paid = ledger.reserve(question, lease_ms=60_000)
    if isinstance(paid, StoredRelease):
        return post_process(decode_release(paid.body), quote.question.post)
    gateway = LiveGateway(SystemEntropy(paid.receipt))
    columns = run(quote, DuckDB(database(ROWS)), CLINIC, b"salt", gateway)
    release = released_by(quote, columns, paid.receipt)
    return post_process(
        decode_release(ledger.keep(paid, encode_release(release)).body), quote.question.post
    )


def test_groups_of_many_are_named_and_the_delta_is_charged(ledger: Ledger) -> None:
    answer = ask(ledger, TEXT, Loss.zcdp("0.05", "1e-8"))
    assert answer["doctor"].values == ("grey", "house")
    for value, size in zip(answer["n"].values, (200, 300), strict=True):
        assert isinstance(value, Fraction)
        assert abs(value - size) < 60
    spent = ledger.status("patients").spent
    assert spent.delta == Fraction(1, 10**8)
    assert Fraction("0.0499") < spent.amount <= Fraction("0.05")
    assert ask(ledger, TEXT, Loss.zcdp("0.05", "1e-8"), "2") == answer
    assert ledger.status("patients").spent == spent


def test_without_a_delta_nothing_is_charged_and_the_refusal_helps(ledger: Ledger) -> None:
    with pytest.raises(
        InvalidValue, match=r"are not public.*declare the keys of 'visits.doctor'"
    ):
        ask(ledger, TEXT, Loss.zcdp("0.05"))
    assert ledger.status("patients").spent == Loss.zcdp(0)


def test_a_delta_beyond_the_budget_is_not_run(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded):
        ask(ledger, TEXT, Loss.zcdp("0.05", "1e-5"))
