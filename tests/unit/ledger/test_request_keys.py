"""An idempotency key belongs to a principal and to the populations of its question.

An owner of one population may issue a token in anybody's name, and must not learn from it which
keys that person has used for questions about other people.
"""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import pytest
from asking import PERSON, TENTH, ask, open_pure
from sqlalchemy import bindparam, select, update

from tacit.core.privacy_unit import Population
from tacit.errors import AnswerLost, KeyReused
from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease, Target
from tacit.ledger.committer import Committer, Waiting
from tacit.ledger.group_write import ChargeWriting, write_group
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store
from tacit.store.tables import requests

STAFF = Population("staff", PERSON)
MINE = ask("a", request="monday")
OTHER = ask("b", request="monday")
"""Another question about the same people, with the same key."""
ELSEWHERE = ask("c", of=STAFF, request="monday")
"""A question about other people, with the same key."""

_HASHES = select(requests.c.request)
_MAKE_OLD = (
    update(requests)
    .where(requests.c.request == bindparam("was"))
    .values(request=bindparam("becomes"))
)


@pytest.fixture
def store(store_address: str, opened: Callable[[str], Store]) -> Store:
    return opened(store_address)


@pytest.fixture
def ledger(store: Store) -> Ledger:
    made = Ledger(store)
    open_pure(made)
    open_pure(made, name="staff")
    return made


def charged(ledger: Ledger, question: ChargeRequest) -> Charge:
    found = ledger.reserve(question, lease_ms=1_000)
    assert isinstance(found, Charge)
    return found


def make_old(store: Store, question: ChargeRequest) -> None:
    """Store the key of ``question`` as version 0.1.0 did."""
    with store.writing() as work:
        old = {
            "was": question.request_key,
            "becomes": sha256(question.request.encode()).digest(),
        }
        assert work.run(_MAKE_OLD, old)


def test_a_key_that_was_used_for_other_people_is_as_good_as_new(ledger: Ledger) -> None:
    ledger.keep(charged(ledger, MINE), b"an answer")
    assert not ledger.is_charged(ELSEWHERE)
    ledger.lease_state(ELSEWHERE)  # does not raise
    assert ledger.find_offers(ELSEWHERE) == ()
    charged(ledger, ELSEWHERE)
    # about the same people it is refused, as before
    for look in (ledger.lease_state, ledger.find_offers, lambda q: charged(ledger, q)):
        with pytest.raises(KeyReused):
            look(OTHER)


def test_a_key_for_two_populations_is_not_the_key_for_one() -> None:
    both = replace(MINE, targets=(*MINE.targets, Target(STAFF, TENTH)))
    assert len({each.request_key for each in (MINE, ELSEWHERE, both)}) == 3
    # nor can a key be written so that it is the key of another population
    assert replace(MINE, request='["staff"],"monday"').request_key != ELSEWHERE.request_key


def test_the_name_of_a_release_of_other_people_is_no_key_of_theirs(ledger: Ledger) -> None:
    """A question without a key has its release's name as one, which others can compute."""
    derived = replace(MINE, request=MINE.release_key.hex())
    charged(ledger, derived)
    probe = replace(ELSEWHERE, request=derived.request)
    ledger.lease_state(probe)
    charged(ledger, probe)


def test_a_key_of_version_0_1_is_found_by_its_question_alone(
    ledger: Ledger, store: Store
) -> None:
    charge = charged(ledger, MINE)
    make_old(store, MINE)
    assert ledger.is_charged(MINE)
    with pytest.raises(AnswerLost):
        Ledger(store, clock=lambda: 10**15).reserve(MINE, lease_ms=1)
    ledger.keep(charge, b"an answer")
    assert isinstance(ledger.reserve(MINE, lease_ms=1_000), StoredRelease)
    # nobody learns from it whether it was used, for whomever it was
    assert not ledger.is_charged(ELSEWHERE)
    charged(ledger, ELSEWHERE)


def test_a_group_finds_keys_of_version_0_1_too(ledger: Ledger, store: Store) -> None:
    """Each is written alone then: the group leaves everything that is not plain."""
    charged(ledger, MINE)
    make_old(store, MINE)
    fresh = [ask(plan, request=f"fresh {plan}") for plan in "xyz"]
    members = [
        ChargeWriting(each, sha256(each.plan).digest()[:16], 10**13, 10**13 + 9)
        for each in (*fresh, MINE, ELSEWHERE)
    ]
    with store.writing() as work:
        assert len(write_group(work, members)) == 3
    committer = Committer(store)
    waiting = [Waiting(each) for each in members]
    committer._write_all(waiting)
    kinds = [type(each.outcome) for each in waiting]
    assert kinds[3:] == [AnswerLost, Charge]


def test_an_old_key_and_a_new_one_of_the_same_people_do_not_mix(
    ledger: Ledger, store: Store
) -> None:
    """Version 0.1.0 would have refused the second; nothing is charged twice in either case."""
    charged(ledger, MINE)
    make_old(store, MINE)
    charged(ledger, OTHER)
    with pytest.raises(KeyReused):  # the newest use of a key counts
        ledger.reserve(MINE, lease_ms=1_000)
    with store.reading() as work:
        assert len(work.all(_HASHES, {})) == 2
