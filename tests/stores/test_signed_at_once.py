"""Owners act and analysts ask at once: each signature follows its act."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from asking import answer, ask
from signing import TWO, as_owner, key_of, open_signed, propose_key

from tacit.core.loss import Loss
from tacit.errors import Conflict, LedgerBroken, NotPermitted, UnknownName
from tacit.ledger import owner_keys
from tacit.ledger.chain import append
from tacit.ledger.entries import decode_act
from tacit.ledger.ledger import Ledger
from tacit.ledger.owner_acts import Attested
from tacit.store.store import Store

AT_ONCE, ACTS = 6, 24
KINDS = ["sqlite", "postgresql"]


@pytest.fixture(params=KINDS)
def ledger(
    request: pytest.FixtureRequest,
    new_store: Callable[[str], str],
    opened: Callable[[str], Store],
) -> Ledger:
    return open_signed(Ledger(opened(new_store(request.param))))


def repeated(act: Callable[[], object]) -> object:
    """Try again where another writer was first."""
    while True:
        try:
            return act()
        except Conflict:
            continue


def test_acts_and_charges_at_once_are_each_signed_in_their_place(ledger: Ledger) -> None:
    before = ledger.chain_ends()["patients"]

    def work(number: int) -> object:
        if number % 3 == 2:
            return answer(ledger, ask(f"question {number}"))
        owner = TWO[number % 3]
        amount = Loss.pure(5 + number)
        mine = as_owner(ledger, owner)
        return repeated(lambda: mine.set_quota("patients", f"a{number}", amount, by=owner))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(work, range(ACTS)))
    ledger.verify("patients")
    chain = ledger.entries("patients", before)
    signed = [act for each in chain if isinstance(act := decode_act(each.body), Attested)]
    assert len(signed) == ACTS * 2 // 3
    assert len(chain) == ACTS * 2


def test_a_key_is_approved_while_its_owner_acts_and_every_act_has_the_key_of_its_time(
    ledger: Ledger,
) -> None:
    new = propose_key(ledger, "olga", "olga's second key").seq
    old = as_owner(ledger, "olga")
    second = ledger.signed_by(key_of("olga's second key"))

    def work(number: int) -> str:
        if number == AT_ONCE // 2:
            omar = as_owner(ledger, "omar")
            repeated(lambda: omar.approve("patients", new, by="omar"))
            return "approved"
        for mine, key in ((old, "old"), (second, "new")):
            try:
                repeated(
                    lambda mine=mine: mine.set_quota(  # type: ignore[misc]
                        "patients", f"a{number}", Loss.pure(5), by="olga"
                    )
                )
            except NotPermitted:
                continue
            return key
        return "neither"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = list(pool.map(work, range(AT_ONCE)))
    assert done.count("approved") == 1
    ledger.verify("patients")
    with pytest.raises(UnknownName):
        as_owner(ledger, "omar").approve("patients", new, by="omar")


def test_a_signature_in_a_unit_of_work_of_its_own_comes_apart_from_its_act(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lie: a writer who signs later lets a charge come between."""
    later: list[Attested] = []
    real = append

    def keep(work: object, population: str, act: object) -> object:
        if isinstance(act, Attested):
            later.append(act)
            return None
        return real(work, population, act)  # type: ignore[arg-type]

    monkeypatch.setattr(owner_keys, "append", keep)
    as_owner(ledger, "olga").set_quota("patients", "ann", Loss.pure(5), by="olga")
    answer(ledger, ask("between"))
    monkeypatch.undo()
    with ledger._store.writing() as work:
        append(work, "patients", later[0])
    with pytest.raises(LedgerBroken, match="is followed by its signature"):
        ledger.book("patients")
