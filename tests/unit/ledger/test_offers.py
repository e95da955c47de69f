"""Stored answers serve the same question at a smaller loss, and nothing else."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from asking import ask, open_pure

from tacit.core.loss import Loss
from tacit.errors import KeyReused
from tacit.ledger.charge import Charge, ChargeRequest, Offer
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store

ASKED = replace(ask("a"), question=b"a", loss=Loss.pure("0.5"))


@pytest.fixture
def ledger(store_address: str, opened: Callable[[str], Store]) -> Ledger:
    made = Ledger(opened(store_address))
    open_pure(made)
    return made


def store(ledger: Ledger, question: ChargeRequest) -> bytes:
    paid = ledger.reserve(question, lease_ms=1_000)
    assert isinstance(paid, Charge)
    ledger.keep(paid, question.release_key)
    return question.release_key


def test_an_answer_is_offered_under_its_question_without_the_loss(ledger: Ledger) -> None:
    key = store(ledger, ASKED)
    weaker = replace(ASKED, request="b", loss=Loss.pure("0.1"))
    assert weaker.release_key != key
    [offer] = ledger.find_offers(weaker)
    assert (offer.release_key, offer.loss) == (key, Loss.pure("0.5"))
    assert ledger.stored_body(offer.release_key) == key


@pytest.mark.parametrize(
    "other",
    [
        replace(ASKED, request="b", question=b"b"),
        replace(ASKED, request="b", policy="2"),
        replace(ASKED, request="b", epochs=("visits 2026-W47",)),
        replace(ASKED, request="b", epochs=()),
    ],
)
def test_another_question_finds_nothing(ledger: Ledger, other: ChargeRequest) -> None:
    store(ledger, ASKED)
    assert other.subject != ASKED.subject
    assert ledger.find_offers(other) == ()


def test_another_population_has_another_subject() -> None:
    other = ask("a", of=replace(ASKED.targets[0].population, name="staff"))
    other = replace(other, question=b"a")
    assert other.subject != ASKED.subject


def test_a_charge_that_has_no_answer_offers_nothing(ledger: Ledger) -> None:
    paid = ledger.reserve(ASKED, lease_ms=1_000)
    assert isinstance(paid, Charge)
    assert ledger.find_offers(ASKED) == ()
    ledger.keep(paid, b"")
    assert len(ledger.find_offers(ASKED)) == 1


def test_streams_and_fits_offer_nothing(ledger: Ledger) -> None:
    store(ledger, replace(ASKED, question=b""))
    assert ledger.find_offers(ASKED) == ()


def test_the_earliest_offer_stays_the_first(ledger: Ledger) -> None:
    """The order is that of the entries, not that of losses, keys or charges."""
    first = replace(ASKED, request="1", loss=Loss.pure("0.3"))
    charged = ledger.reserve(first, lease_ms=1_000)
    assert isinstance(charged, Charge)
    before = store(ledger, replace(ASKED, request="2", loss=Loss.pure("0.4")))
    seen = ledger.find_offers(ASKED)
    ledger.keep(charged, b"later")
    store(ledger, replace(ASKED, request="3", loss=Loss.pure("0.2")))
    assert [offer.release_key for offer in seen] == [before]
    assert ledger.find_offers(ASKED)[:1] == seen
    assert len(ledger.find_offers(ASKED)) == 3


def test_finer_subjects_are_looked_up_too(ledger: Ledger) -> None:
    store(ledger, ASKED)
    other = replace(ASKED, request="b", question=b"b")
    assert len(ledger.find_offers(other, [ASKED.subject])) == 1
    assert ledger.find_offers(other, [bytes(32)]) == ()


def test_a_reused_key_is_refused_before_anything_is_offered(ledger: Ledger) -> None:
    store(ledger, ASKED)
    with pytest.raises(KeyReused, match="was used for another question"):
        ledger.find_offers(replace(ASKED, loss=Loss.pure("0.1")))
    assert ledger.find_offers(ASKED)


@pytest.mark.parametrize(
    ("stored", "asked", "serves"),
    [
        (Loss.pure("0.5"), Loss.pure("0.5"), True),
        (Loss.pure("0.5"), Loss.pure("0.500000000001"), False),
        (Loss.pure("0.5"), Loss.zcdp("0.5"), False),
        (Loss.approximate("0.5", "1e-6"), Loss.approximate("0.1", "1e-6"), True),
        (Loss.approximate("0.5", "1e-6"), Loss.approximate("0.1", "1e-5"), False),
        (Loss.approximate("0.5", "1e-6"), Loss.approximate("0.6", "1e-8"), False),
    ],
)
def test_an_offer_serves_what_is_not_more_exact(
    stored: Loss, asked: Loss, *, serves: bool
) -> None:
    assert Offer(b"", 1, b"", stored).serves(asked) is serves


def test_losses_are_compared_in_units(ledger: Ledger) -> None:
    store(ledger, replace(ASKED, loss=Loss.pure(Fraction(1, 3))))
    [offer] = ledger.find_offers(replace(ASKED, request="b"))
    assert offer.loss.amount < Fraction(1, 3)
    assert offer.serves(Loss.pure(Fraction(1, 3)))  # equal in whole units
    assert not offer.serves(Loss.pure("0.333333333334"))
