"""A certificate says which entries of the chain it speaks about, also of a joint charge."""

import pytest
from asking import answer, ask, open_pure
from history import charged, joint, write_history

from tacit.certify import verify_certificate
from tacit.certify.certificate import Certificate, issue
from tacit.ledger.ledger import Ledger
from tacit.store import SigningKey
from tacit.store.store import Store

KEY = SigningKey(bytes(32))


@pytest.fixture
def ledger(store: Store) -> Ledger:
    found = Ledger(store)
    write_history(found)
    return found


def certified(ledger: Ledger, receipt: bytes, *, placed: bool = True) -> Certificate:
    return issue(ledger.charge_facts(receipt), KEY, made=5, placed=placed)


def test_a_certificate_names_its_entry_the_declaration_and_the_newest(ledger: Ledger) -> None:
    declared = ledger.declare("staff", ("shifts.hours: integer",), by="olga").seq
    entry = ledger.chain_ends()["patients"] + 1
    receipt = answer(ledger, ask("one more")).receipt
    newest = ledger.chain_ends()["patients"]
    made = certified(ledger, receipt)
    chain = verify_certificate(made.text).content["chain"]
    assert (chain["entry"], chain["newest_entry"]) == (entry, newest)
    assert f"charged in entry {entry} of the chain of patients. " in chain["in_words"]
    assert f"after entry {newest}, the newest one" in chain["in_words"]
    assert "too:" not in chain["in_words"]
    assert chain["in_words"] in made.page
    assert f"{newest}, {chain['newest_hash']}" in made.page
    # sums move on, and so does the entry after which they are
    answer(ledger, ask("the next"))
    later = certified(ledger, receipt).content["chain"]
    assert (later["entry"], later["newest_entry"]) == (entry, newest + 2)
    assert declared > 0


def test_an_analyst_of_a_server_gets_no_newest_entry(ledger: Ledger) -> None:
    receipt = answer(ledger, ask("one more")).receipt
    texts = []
    for number in range(2):
        made = certified(ledger, receipt, placed=False)
        content = verify_certificate(made.text).content
        assert content["chain"]["newest_entry"] is content["chain"]["newest_hash"] is None
        assert "of the time when the certificate was made" in content["chain"]["in_words"]
        assert "Newest entry" not in made.page
        texts.append(made.text)
        if not number:
            charge = charged(ledger, ask("somebody else's", principal="bob"))
            before = certified(ledger, receipt, placed=False).text
            ledger.keep(charge, b"an answer")
            # whether the other answer is stored is not seen, and with the place it is
            assert certified(ledger, receipt, placed=False).text == before
            assert "Newest entry" in certified(ledger, receipt).page
    assert texts[0] != texts[1]  # the sum has grown by the charge, as every status shows


def test_each_part_of_a_joint_charge_has_a_certificate(store: Store) -> None:
    ledger = Ledger(store)
    for name in ("patients", "staff"):
        open_pure(ledger, name=name)
    paid = charged(ledger, joint("a joint question"))
    for part, other in zip(paid.entries, ("staff", "patients"), strict=True):
        made = certified(ledger, part.hash)
        content = verify_certificate(made.text).content
        assert content["population"]["name"] == part.population
        assert content["release"]["receipt"] == part.hash.hex()
        assert content["release"]["populations"] == ["patients", "staff"]
        assert f"It is about {other} too" in content["chain"]["in_words"]
        assert content["loss"]["this"]["epsilon"] == "0.1"
        assert "patients, staff" in made.page
