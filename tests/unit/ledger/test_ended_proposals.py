"""A proposal ends with its owner, and with the trust in sign-ins that may have signed it."""

from collections.abc import Callable

import pytest
from asking import population
from signing import ONE, TWO, as_owner, key_of, open_signed, propose_key

from tacit.core.loss import Budget, Loss
from tacit.errors import LedgerBroken, NotPermitted, UnknownName
from tacit.ledger import govern
from tacit.ledger.entries import OwnerAdded, OwnerRemoved, ProposalWithdrawn, decode_act
from tacit.ledger.ledger import Ledger
from tacit.ledger.owner_acts import ActSigner, SignInsEnded, SignInsTrusted, sign_in_of
from tacit.store.store import Store

ISSUER = "https://id.clinic.example"
SERVER = key_of("the server")


@pytest.fixture
def ledger(new_store: Callable[[str], str], opened: Callable[[str], Store]) -> Ledger:
    return Ledger(opened(new_store("sqlite")))


@pytest.fixture
def two(ledger: Ledger) -> Ledger:
    """A population of olga and omar, each with a key."""
    return open_signed(ledger)


@pytest.fixture
def trusting(two: Ledger) -> Ledger:
    """Both owners also trust the sign-ins of one server."""
    return trust(two)


def signed_in(ledger: Ledger) -> Ledger:
    """The ledger as an owner uses it who signed in at the server."""
    return ledger.signed_by(ActSigner(SERVER.signing, sign_in_of(ISSUER, "a token")))


def trust(ledger: Ledger) -> Ledger:
    decision = SignInsTrusted(SERVER.key, ISSUER)
    place = as_owner(ledger, "olga").propose("patients", decision, by="olga").seq
    as_owner(ledger, "omar").approve("patients", place, by="omar")
    return ledger


def end_trust(ledger: Ledger) -> None:
    ended = SignInsEnded(SERVER.key)
    place = as_owner(ledger, "olga").propose("patients", ended, by="olga").seq
    as_owner(ledger, "omar").approve("patients", place, by="omar")


def remove_and_add_again(ledger: Ledger, owner: str) -> None:
    """With the approval of the two others: ``olga`` proposes, and ``oda`` approves."""
    for decision in (OwnerRemoved(owner), OwnerAdded(owner)):
        place = as_owner(ledger, "olga").propose("patients", decision, by="olga").seq
        as_owner(ledger, "oda").approve("patients", place, by="oda")


def with_third_owner(ledger: Ledger) -> None:
    place = as_owner(ledger, "olga").propose("patients", OwnerAdded("oda"), by="olga").seq
    as_owner(ledger, "omar").approve("patients", place, by="omar")
    key = propose_key(ledger, "oda").seq
    as_owner(ledger, "olga").approve("patients", key, by="olga")


def cap(ledger: Ledger) -> Loss:
    return ledger.status("patients").cap


def withdrawn(ledger: Ledger) -> set[int]:
    found = [decode_act(entry.body) for entry in ledger.entries("patients")]
    return {act.proposal for act in found if isinstance(act, ProposalWithdrawn)}


def test_a_proposal_of_a_sign_in_ends_with_the_trust(trusting: Ledger) -> None:
    rise = signed_in(trusting).raise_cap("patients", ONE, "a thief's", by="olga").seq
    end_trust(trusting)
    assert withdrawn(trusting) == {rise}
    assert trusting.waiting_proposals("patients") == {}
    with pytest.raises(UnknownName, match="No proposal"):
        as_owner(trusting, "omar").approve("patients", rise, by="omar")
    assert cap(trusting) == Loss.pure(9)
    trusting.verify("patients")


def test_while_the_trust_lasts_the_same_proposal_is_approved(trusting: Ledger) -> None:
    """The lie: nothing else is wrong with it."""
    rise = signed_in(trusting).raise_cap("patients", ONE, "mine", by="olga").seq
    as_owner(trusting, "omar").approve("patients", rise, by="omar")
    assert cap(trusting) == Loss.pure(10)


def test_trust_that_is_given_again_brings_no_proposal_back(trusting: Ledger) -> None:
    rise = signed_in(trusting).raise_cap("patients", ONE, "a thief's", by="olga").seq
    end_trust(trusting)
    trust(trusting)
    with pytest.raises(UnknownName, match="No proposal"):
        signed_in(trusting).approve("patients", rise, by="omar")
    again = signed_in(trusting).raise_cap("patients", ONE, "mine", by="olga").seq
    signed_in(trusting).approve("patients", again, by="omar")
    trusting.verify("patients")


def test_an_owner_who_is_added_again_regains_no_proposal(two: Ledger) -> None:
    with_third_owner(two)
    rise = as_owner(two, "omar").raise_cap("patients", ONE, "before", by="omar").seq
    key = propose_key(two, "omar", "omar's second key").seq
    remove_and_add_again(two, "omar")
    assert withdrawn(two) == {rise, key}
    for place in (rise, key):
        with pytest.raises(UnknownName, match="No proposal"):
            as_owner(two, "olga").approve("patients", place, by="olga")
    for name in ("omar", "omar's second key"):
        with pytest.raises(NotPermitted, match="omar has no key"):
            two.signed_by(key_of(name)).set_quota("patients", "ann", ONE, by="omar")
    two.verify("patients")


def test_an_owner_without_a_key_regains_no_proposal(trusting: Ledger) -> None:
    """Who acts by sign-ins alone, and proposed a first key, was never in the table of keys."""
    with_third_owner(trusting)
    olga, oda = as_owner(trusting, "olga"), as_owner(trusting, "oda")
    place = olga.propose("patients", OwnerAdded("eve"), by="olga").seq
    oda.approve("patients", place, by="oda")
    rise = signed_in(trusting).raise_cap("patients", ONE, "before", by="eve").seq
    key = propose_key(trusting, "eve").seq
    remove_and_add_again(trusting, "eve")
    for left in (rise, key):
        with pytest.raises(UnknownName, match="No proposal"):
            olga.approve("patients", left, by="olga")
    assert trusting.owner_keys("patients").key_of("eve") is None
    trusting.verify("patients")


def test_without_keys_a_removed_owner_leaves_no_proposal_either(ledger: Ledger) -> None:
    three = (*TWO, "oda")
    ledger.open_budget(population(), Budget(Loss.pure(9)), three, by="olga")
    rise = ledger.raise_cap("patients", ONE, "before", by="omar").seq
    for decision in (OwnerRemoved("omar"), OwnerAdded("omar")):
        place = ledger.propose("patients", decision, by="olga").seq
        ledger.approve("patients", place, by="oda")
    with pytest.raises(UnknownName, match="No proposal"):
        ledger.approve("patients", rise, by="oda")
    ledger.verify("patients")


def test_the_proposals_of_others_go_on_when_an_owner_leaves(two: Ledger) -> None:
    with_third_owner(two)
    rise = as_owner(two, "oda").raise_cap("patients", ONE, "mine", by="oda").seq
    remove_and_add_again(two, "omar")
    as_owner(two, "olga").approve("patients", rise, by="olga")
    assert cap(two) == Loss.pure(10)
    two.verify("patients")


@pytest.mark.parametrize("removed", [False, True])
def test_a_writer_that_leaves_such_a_proposal_writes_a_chain_that_does_not_verify(
    trusting: Ledger,
    monkeypatch: pytest.MonkeyPatch,
    removed: bool,  # noqa: FBT001
) -> None:
    """The lie: the rules of the writing path do not decide alone."""
    with_third_owner(trusting)
    signed_in(trusting).raise_cap("patients", ONE, "left", by="omar")
    monkeypatch.setattr(govern, "withdraw_ended", lambda *_, **__: None)
    if removed:
        remove_and_add_again(trusting, "omar")
    else:
        end_trust(trusting)
    monkeypatch.undo()
    with pytest.raises(LedgerBroken, match="a proposal ends with its owner"):
        trusting.book("patients")
