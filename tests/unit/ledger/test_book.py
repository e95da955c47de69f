"""The rules of a chain: a forger who makes all hashes follow is still held to each of them."""

from dataclasses import replace
from typing import Any

import pytest

from tacit.core.codec import encode_event
from tacit.errors import LedgerBroken
from tacit.ledger.book import Book
from tacit.ledger.charge import IncidentCounts, Units
from tacit.ledger.entries import (
    GENESIS,
    Act,
    AnswerStored,
    Approved,
    CapLowered,
    CapRaised,
    Charged,
    Decision,
    Entry,
    FactsDeclared,
    Failed,
    Frozen,
    Inherited,
    Joined,
    LeastSet,
    Looked,
    MemberRemoved,
    Missed,
    Opened,
    OwnerAdded,
    OwnerRemoved,
    ProposalWithdrawn,
    Proposed,
    QuotaDeclined,
    QuotaRequested,
    QuotaSet,
    Retried,
    StateSealed,
    Thawed,
    encode_act,
    follow,
)
from tacit.testing.mechanism_contract import LEAVES

TENTH, TRUNCATED, IDEALISED = (encode_event(LEAVES[place]) for place in (0, 2, 3))
KEY, OTHER, HASH = "0a" * 32, "0b" * 32, "0c" * 32
ONE, MOST = 10**12, 2**62

OPENED = Opened(
    unit="person",
    neighbours="add or remove one",
    measure="epsilon",
    amount=ONE,
    delta=0,
    conversion_delta="0",
    idealised=0,
    owners=("olga", "omar"),
    by="olga",
    at=1,
)
PAID = Charged(
    principal="ann",
    holders=("ann",),
    request=KEY,
    plan=HASH,
    release=KEY,
    event=TENTH,
    amount=ONE // 10,
    delta=0,
    price_delta="0",
    populations=("patients",),
    nonce="0d" * 16,
    at=2,
)
AGAIN = replace(PAID, request=OTHER)
KEPT = AnswerStored(charge=2, release=KEY, answer=HASH, at=3)
MISSED, LOOKED = Missed(charge=2, at=3), Looked("olga", 4)
RETRIED, FAILED = Retried(charge=2, at=3), Failed(charge=2, at=3)
STOPPED, ALLOWED = Frozen("olga", 2), Thawed("olga", 3)
INHERITED = Inherited("staff", ONE // 10, 0, "olga", 2)
SEALED = StateSealed(KEY, 1, HASH)
JOINED = Joined("ann", "@oncology", "olga", 2)
LEFT = MemberRemoved("ann", "@oncology", "olga", 3)
WANTED = QuotaRequested("ann", "ann", ONE // 2, 0, "a second wave", 2)
GRANTED = QuotaSet("ann", ONE // 2, 0, "olga", 3, request=2)
DECLINED = QuotaDeclined(2, "olga", 3)
RISE = CapRaised(ONE, 0, "why not")
WITHDRAWN = ProposalWithdrawn(2, "omar", 3)
LOWERED = CapLowered(ONE // 2, 0, "", "olga", 3)


def proposed(decision: Decision, by: str = "olga") -> Proposed:
    return Proposed(decision, by, 2)


def chain(*acts: Act | Decision) -> list[Entry]:
    made: list[Entry] = []
    for act in acts:
        previous = made[-1].hash if made else GENESIS
        made.append(follow(previous, "patients", len(made) + 1, encode_act(act)))
    return made


def opened(**fields: Any) -> tuple[Act, ...]:
    return (replace(OPENED, **fields),)


def paid(**fields: Any) -> tuple[Act, ...]:
    return OPENED, replace(PAID, **fields)


SHARED = {"populations": ("patients", "staff")}
ALONE = replace(OPENED, owners=("olga",))
BROKEN: dict[str, list[tuple[Act | Decision, ...]]] = {
    "a chain begins with its opening": [(PAID,), (OPENED, OPENED)],
    "a budget is opened by one of its owners": [opened(by="ann")],
    "each owner is named once": [
        opened(owners=("olga", "olga")),
        (ALONE, proposed(OwnerAdded("olga"))),
    ],
    "a budget is well defined": [
        opened(measure="epsilons"),
        opened(neighbours="nobody"),
        opened(conversion_delta="1/10"),
        opened(conversion_delta="1/0"),
        opened(idealised=2),
        opened(measure="rho with delta"),
    ],
    "a fraction is written in lowest terms": [
        opened(measure="rho with delta", conversion_delta="0.1"),
    ],
    "a limit fits into 64 bits": [
        opened(amount=MOST + 1),
        (OPENED, QuotaSet("ann", MOST + 1, 0, "olga", 2)),
        (OPENED, replace(WANTED, amount=MOST + 1)),
        (ALONE, proposed(CapRaised(MOST, 0, ""))),
    ],
    "a pure loss has no delta": [
        opened(delta=1),
        (OPENED, QuotaSet("ann", 1, 1, "olga", 2)),
        (OPENED, replace(WANTED, delta=1)),
        (ALONE, proposed(CapRaised(1, 1, ""))),
    ],
    "an event has a price": [paid(event="{}"), paid(price_delta="x"), paid(event=TRUNCATED)],
    "a budget for exact noise allows no other noise": [
        (
            replace(OPENED, measure="epsilon with delta"),
            replace(PAID, event=IDEALISED),
        )
    ],
    "a charge is at least the price of its event": [paid(amount=ONE // 10 - 1)],
    "a charge names its populations": [paid(populations=("staff",))],
    "a request is charged once": [(OPENED, PAID, replace(PAID, release=OTHER))],
    "an answered question is not charged again": [(OPENED, PAID, KEPT, AGAIN)],
    "the sum of charges stays within the cap": [
        paid(amount=ONE + 1),
        (OPENED, replace(INHERITED, amount=ONE + 1)),
        (OPENED, PAID, replace(INHERITED, amount=ONE - ONE // 10 + 1)),
        (OPENED, INHERITED, replace(PAID, amount=ONE - ONE // 10 + 1)),
    ],
    "a population inherits from another one": [(OPENED, replace(INHERITED, source="patients"))],
    "an inherited amount is above zero": [(OPENED, replace(INHERITED, amount=0))],
    "nothing is charged while an owner has stopped all charges": [(OPENED, STOPPED, PAID)],
    "charges are stopped and allowed in turn": [
        (OPENED, ALLOWED),
        (OPENED, STOPPED, STOPPED),
        (OPENED, STOPPED, ALLOWED, ALLOWED),
    ],
    "a charge names the current declaration": [paid(declaration=1)],
    "the versions of a state begin with 1": [(OPENED, replace(SEALED, version=0))],
    "the versions of a state are consecutive": [
        (OPENED, SEALED, SEALED),
        (OPENED, SEALED, replace(SEALED, version=3)),
    ],
    "a charge counts for its analyst and their groups": [
        (OPENED, JOINED, PAID),
        (OPENED, JOINED, LEFT, replace(PAID, holders=("ann", "@oncology"))),
        paid(holders=("ann", "@oncology")),
        paid(holders=()),
    ],
    "no quota is exceeded": [(OPENED, QuotaSet("ann", ONE // 20, 0, "olga", 2), PAID)],
    "a charge is in a chain once": [
        (OPENED, replace(PAID, **SHARED), replace(AGAIN, release=OTHER, **SHARED))
    ],
    "a hash is hexadecimal": [
        paid(request="0A" * 32),
        paid(release="key"),
        paid(request="0a "),
    ],
    "an answer belongs to a charge": [
        (OPENED, KEPT),
        (OPENED, PAID, replace(KEPT, charge=3)),
        (OPENED, PAID, replace(KEPT, release=OTHER)),
        (OPENED, PAID, KEPT, KEPT),
    ],
    "an answer is stored once": [(OPENED, PAID, AGAIN, KEPT, replace(KEPT, charge=3))],
    "only an unanswered charge can be late": [(OPENED, MISSED), (OPENED, PAID, KEPT, MISSED)],
    "a charge is late once": [(OPENED, PAID, MISSED, MISSED)],
    "a late charge is not answered": [(OPENED, PAID, MISSED, KEPT)],
    "an owner reviews incidents before the next charge": [
        (OPENED, PAID, MISSED, AGAIN),
        (OPENED, PAID, AGAIN, MISSED, LOOKED, Missed(3, 5), replace(AGAIN, request=HASH)),
    ],
    "an owner reviews late or failed answers": [(OPENED, PAID, LOOKED)],
    "only an unanswered charge can fail": [(OPENED, FAILED), (OPENED, PAID, KEPT, FAILED)],
    "a charge fails once": [(OPENED, PAID, FAILED, FAILED)],
    "a failed charge is not answered": [(OPENED, PAID, FAILED, KEPT)],
    "a failed charge is not retried": [(OPENED, PAID, FAILED, RETRIED)],
    "only an unanswered charge is retried": [(OPENED, RETRIED), (OPENED, PAID, KEPT, RETRIED)],
    "a charge is retried once": [(OPENED, PAID, RETRIED, RETRIED)],
    "the least price is a share of the cap": [
        (OPENED, LeastSet(share, "olga", 9)) for share in ("2", "-1/2", "2/4", "much", "1/0")
    ],
    "a charge is free or at least the least price": [
        (OPENED, LeastSet("1", "olga", 9), PAID),
    ],
    "only an owner governs": [
        (OPENED, PAID, MISSED, replace(LOOKED, by="ann")),
        (OPENED, replace(JOINED, by="ann")),
        (OPENED, JOINED, replace(LEFT, by="ann")),
        (OPENED, WANTED, replace(GRANTED, by="ann")),
        (OPENED, WANTED, replace(DECLINED, by="ann")),
        (OPENED, replace(INHERITED, by="ann")),
        (OPENED, replace(STOPPED, by="ann")),
        (OPENED, STOPPED, replace(ALLOWED, by="ann")),
        (OPENED, QuotaSet("ann", 1, 0, "ann", 2)),
        (OPENED, FactsDeclared(("visits.age: integer",), "ann", 2)),
        (OPENED, proposed(RISE, by="ann")),
        (OPENED, proposed(RISE), Approved(2, "ann", 3)),
        (OPENED, proposed(RISE), replace(WITHDRAWN, by="ann")),
        (OPENED, replace(LOWERED, by="ann")),
    ],
    "a proposal lapses after it was made": [
        (OPENED, replace(proposed(RISE), lapses=1)),
        (OPENED, replace(proposed(RISE), lapses=2)),
    ],
    "a proposal is approved before it lapses": [
        (OPENED, replace(proposed(RISE), lapses=3), Approved(2, "omar", 3)),
        (OPENED, replace(proposed(RISE), lapses=3), Approved(2, "omar", 9)),
    ],
    "a proposal that waits is withdrawn": [
        (OPENED, WITHDRAWN),
        (ALONE, proposed(RISE), replace(WITHDRAWN, by="olga")),
        (OPENED, proposed(RISE), WITHDRAWN, WITHDRAWN),
        (OPENED, proposed(RISE), Approved(2, "omar", 3), WITHDRAWN),
    ],
    "a cap is lowered to less than it was": [
        (OPENED, replace(LOWERED, amount=ONE)),
        (OPENED, replace(LOWERED, amount=2 * ONE)),
        (OPENED, replace(LOWERED, delta=1)),
        (OPENED, LOWERED, LOWERED),
    ],
    "a cap is not lowered below what is spent": [
        (OPENED, PAID, replace(LOWERED, amount=ONE // 10 - 1)),
    ],
    "an analyst joins a group once": [(OPENED, JOINED, JOINED)],
    "only a member is removed from a group": [(OPENED, LEFT), (OPENED, JOINED, LEFT, LEFT)],
    "a requested quota is above zero": [(OPENED, replace(WANTED, amount=0))],
    "an analyst requests a quota for themselves or for a group of theirs": [
        (OPENED, replace(WANTED, holder="bob")),
        (OPENED, replace(WANTED, holder="@oncology")),
        (OPENED, JOINED, LEFT, replace(WANTED, holder="@oncology")),
    ],
    "an analyst has one open request": [
        (OPENED, WANTED, WANTED),
        (OPENED, JOINED, WANTED, replace(WANTED, holder="@oncology")),
    ],
    "an owner decides an open request": [
        (OPENED, GRANTED),
        (OPENED, WANTED, replace(GRANTED, request=1)),
        (OPENED, WANTED, GRANTED, GRANTED),
        (OPENED, DECLINED),
        (OPENED, WANTED, DECLINED, DECLINED),
        (OPENED, WANTED, DECLINED, GRANTED),
    ],
    "a granted quota is for the holder who was named in the request": [
        (OPENED, WANTED, replace(GRANTED, holder="bob"))
    ],
    "an approval has a proposal": [
        (OPENED, proposed(RISE), WITHDRAWN, Approved(2, "omar", 4)),
        (OPENED, Approved(2, "omar", 3)),
        (ALONE, proposed(RISE), Approved(2, "olga", 3)),
    ],
    "a second owner approves": [
        (OPENED, proposed(RISE), Approved(2, "olga", 3)),
        (
            OPENED,
            proposed(RISE, by="omar"),
            proposed(OwnerRemoved("omar")),
            Approved(3, "omar", 4),
            Approved(2, "olga", 5),
        ),
    ],
    "a cap is raised by more than zero": [(ALONE, proposed(CapRaised(0, 0, "")))],
    "only an owner can be removed as owner": [(ALONE, proposed(OwnerRemoved("ann")))],
    "the last owner is not removed": [(ALONE, proposed(OwnerRemoved("olga")))],
    "a decision is part of a proposal": [(OPENED, RISE)],
}


@pytest.mark.parametrize(
    ("rule", "acts"), [(rule, acts) for rule, found in BROKEN.items() for acts in found]
)
def test_each_rule_is_held(rule: str, acts: tuple[Act, ...]) -> None:
    *before, last = chain(*acts)
    book = Book("patients").read_all(before)
    with pytest.raises(
        LedgerBroken, match=f"Entry {len(acts)} of 'patients': .*rule that {rule}"
    ):
        book.read(last)


def test_what_keeps_the_rules_adds_up() -> None:
    rise = (proposed(RISE), Approved(5, "omar", 3))
    book = Book("patients").read_all(chain(OPENED, PAID, AGAIN, JOINED, *rise))
    book.read(follow(book.head, "patients", 7, encode_act(replace(KEPT, charge=3))))
    assert book.cap == Units(2 * ONE, 0)
    assert book.spent == book.spent_by["ann"] == Units(ONE // 5, 0)
    assert book.unanswered == {2: bytes.fromhex(KEY)}
    assert book.kept == {bytes.fromhex(KEY): bytes.fromhex(HASH)}


def test_a_proposal_can_be_approved_until_it_lapses() -> None:
    waits = replace(proposed(RISE), lapses=5)
    for at in (3, 4):
        book = Book("patients").read_all(chain(OPENED, waits, Approved(2, "omar", at)))
        assert (book.cap, book.proposals) == (Units(2 * ONE, 0), {})
    never = Book("patients").read_all(
        chain(OPENED, proposed(RISE), Approved(2, "omar", 10**15))
    )
    assert never.cap == Units(2 * ONE, 0)


def test_a_lowered_cap_limits_what_comes_after() -> None:
    low = replace(LOWERED, amount=ONE // 10)
    book = Book("patients").read_all(chain(OPENED, PAID, low))
    assert (book.cap, book.spent) == (Units(ONE // 10, 0), Units(ONE // 10, 0))
    book = Book("patients").read_all(chain(OPENED, low))
    book.read(follow(book.head, "patients", 3, encode_act(PAID)))
    beyond = follow(book.head, "patients", 4, encode_act(replace(AGAIN, release=OTHER)))
    with pytest.raises(LedgerBroken, match="stays within the cap"):
        book.read(beyond)


def test_a_request_changes_nothing_until_an_owner_grants_it() -> None:
    low = QuotaSet("ann", ONE // 20, 0, "olga", 2)
    wanted = chain(OPENED, low, WANTED)
    book = Book("patients").read_all(wanted)
    assert book.quotas == {"ann": Units(ONE // 20, 0)}
    assert book.quota_requests == {3: WANTED}
    granted = replace(GRANTED, request=3, amount=ONE // 4)  # less than was asked for
    book = Book("patients").read_all(chain(OPENED, low, WANTED, granted, PAID))
    assert book.quotas == {"ann": Units(ONE // 4, 0)}
    assert book.quota_requests == {}
    declined = replace(DECLINED, request=3)
    book = Book("patients").read_all(chain(OPENED, low, WANTED, declined, WANTED))
    assert book.quota_requests == {5: WANTED}
    assert book.quotas == {"ann": Units(ONE // 20, 0)}


def test_whoever_left_a_group_counts_for_it_no_longer() -> None:
    joint = replace(PAID, holders=("ann", "@oncology"))
    book = Book("patients").read_all(chain(OPENED, JOINED, joint, LEFT, AGAIN))
    assert book.spent_by == {"ann": Units(ONE // 5, 0), "@oncology": Units(ONE // 10, 0)}
    assert book.groups == {"ann": set()}


def test_what_was_inherited_is_spent_up_to_the_whole_cap() -> None:
    rest = replace(INHERITED, amount=ONE - ONE // 5)
    book = Book("patients").read_all(chain(OPENED, PAID, INHERITED, rest))
    assert book.spent == book.cap == Units(ONE, 0)
    assert book.inherited == {"staff": Units(ONE - ONE // 10, 0)}
    assert book.own == Units(ONE // 10, 0)


def test_what_failed_elsewhere_is_inherited_by_kind_and_needs_no_second_review() -> None:
    troubled = replace(INHERITED, amount=0, late=1, failed=2, retried=4)
    book = Book("patients").read_all(chain(OPENED, troubled, troubled, PAID))
    assert book.inherited_troubles == {"staff": IncidentCounts(late=2, failed=4, retried=8)}
    assert book.looked == book.marks > 0


def test_charges_go_on_once_they_are_allowed_again() -> None:
    book = Book("patients").read_all(chain(OPENED, STOPPED, ALLOWED, PAID, SEALED))
    assert not book.frozen
    assert book.states == {KEY: (1, HASH)}


def test_what_was_looked_at_is_counted_and_charges_go_on() -> None:
    book = Book("patients").read_all(chain(OPENED, PAID, MISSED, LOOKED, AGAIN))
    assert (book.missed, book.looked) == ({2}, 1)
