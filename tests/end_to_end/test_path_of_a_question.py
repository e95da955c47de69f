"""The path of one question: parsed, priced, charged, run, released, stored."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from clinic import WARDS, catalog, database

from tacit.accounting.convert import budget_within
from tacit.core.catalog import Limits
from tacit.core.codec import decode_release, encode_release
from tacit.core.loss import Loss
from tacit.core.release import Release
from tacit.engines.duckdb import DuckDB
from tacit.errors import BudgetExceeded
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
ROWS = [
    {
        "person": f"p{number % 400}",
        "ward": WARDS[number % 3],
        "age": number % 90,
        "pay": number % 100 + 0.5,
        "cost": 1,
        "smoker": number % 2 == 0,
        "day": None,
    }
    for number in range(800)
]


@pytest.fixture(scope="module")
def engine() -> DuckDB:
    return DuckDB(database(ROWS))


@pytest.fixture
def ledger(new_store: Callable[[str], str], opened: Callable[[str], SqlStore]) -> Ledger:
    made = Ledger(opened(new_store("sqlite")))
    patients = CLINIC.population("patients")
    made.open_budget(patients, budget_within(3, "1e-6"), ("olga",), by="olga")
    return made


def ask(ledger: Ledger, engine: DuckDB, text: str, request: str, rho: str = "0.05") -> Release:
    """What a session will do: one call to each floor, in this order."""
    quote = price(parse(text, CLINIC), CLINIC, Loss.zcdp(rho))
    visits = CLINIC.dataset("visits")
    question = ChargeRequest(
        targets=(Target(quote.population, quote.event),),
        principal="ann",
        request=request,
        plan=quote.question.hash,
        loss=quote.loss,
        policy="1",
        epochs=(f"visits {visits.epoch.label}",),
    )
    paid = ledger.reserve(question, lease_ms=60_000)
    if isinstance(paid, StoredRelease):
        return post_process(decode_release(paid.body), quote.question.post)
    gateway = LiveGateway(SystemEntropy(paid.receipt))
    columns = run(quote, engine, CLINIC, b"salt", gateway)
    release = released_by(quote, columns, paid.receipt)
    return post_process(
        decode_release(ledger.keep(paid, encode_release(release)).body), quote.question.post
    )


def test_a_question_is_answered_near_the_truth(ledger: Ledger, engine: DuckDB) -> None:
    text = "SELECT ward, COUNT(*) AS n, AVG(pay) AS pay FROM visits GROUP BY ward"
    answer = ask(ledger, engine, text, "1")
    assert [column.name for column in answer.columns] == ["ward", "n", "pay"]
    assert answer["ward"].values == WARDS
    assert answer["n"].values[3] != 800
    truths = (267, 267, 266, 0)
    for value, truth in zip(answer["n"].values, truths, strict=True):
        assert isinstance(value, Fraction)
        assert abs(value - truth) < 200  # max_groups=1 keeps one ward a person, and noise
    assert ledger.status("patients").spent == Loss.zcdp("0.05")
    assert ledger.verify("patients").entries == 3


def test_the_same_question_in_other_words_is_free(ledger: Ledger, engine: DuckDB) -> None:
    first = ask(
        ledger,
        engine,
        "SELECT ward, COUNT(*) AS n FROM visits WHERE age > 3 AND smoker GROUP BY ward",
        "1",
    )
    again = ask(
        ledger,
        engine,
        "select count(*) as visits, ward from visits where smoker and 3 < age group by ward",
        "2",
    )
    assert first["n"].values == again["visits"].values
    assert ledger.status("patients").spent == Loss.zcdp("0.05")


def test_what_the_budget_does_not_hold_is_not_run(ledger: Ledger, engine: DuckDB) -> None:
    with pytest.raises(BudgetExceeded, match="does not fit into the budget of 'patients'"):
        ask(ledger, engine, "SELECT COUNT(*) AS n FROM visits", "1", rho="5")
