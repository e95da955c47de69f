"""Forged acts of owners: a forger who hashes anew is refused without any anchor.

The forger can write the whole chain, and knows the format. What they lack is an owner's key.
Up to the last signature of an owner, every change is seen; each kind has its own message.
"""

import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from asking import answer, ask
from conftest import Bar
from signing import ONE, as_owner, key_of, open_signed, propose_key, write_signed_history
from tampering import Chain, Tampering, _edited, hashed_anew

from tacit.errors import LedgerBroken
from tacit.ledger.chain import Anchor, Head, take_anchor
from tacit.ledger.entries import Entry, QuotaSet, decode_act, encode_act, follow
from tacit.ledger.ledger import Ledger
from tacit.ledger.owner_acts import Attested
from tacit.ledger.verify import export, read_export, verify
from tacit.store.connect import open_store

EDITS = int(os.environ.get("TACIT_TAMPERINGS", "10000"))


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Entry], Anchor]:
    """The exported chain of a real store, and its anchor. A signature is its last entry."""
    store = open_store(f"sqlite:///{tmp_path_factory.mktemp('signed')}/ledger.db")
    write_signed_history(Ledger(store))
    chain, anchor = read_export(export(store)).chains["patients"], take_anchor(store)
    store.close()
    return chain, anchor


@pytest.fixture(scope="module")
def chain(evidence: tuple[list[Entry], Anchor]) -> list[Entry]:
    return evidence[0]


def refusal(chain: list[Entry], anchor: Anchor | None = None) -> str:
    """Why a chain is refused; empty if it is believed."""
    try:
        verify("patients", chain, anchor)
    except LedgerBroken as error:
        return str(error)
    return ""


def place_of(chain: list[Entry], words: str, number: int = 0) -> int:
    """The place in the list of an entry whose text has these words."""
    return [place for place, entry in enumerate(chain) if words in entry.body][number]


def signed_with(chain: list[Entry], place: int, name: str, body: str | None = None) -> Chain:
    """The chain with the act at ``place`` as ``body``, signed by another key; all rehashed."""
    changed = list(chain)
    changed[place] = replace(chain[place], body=chain[place].body if body is None else body)
    act = hashed_anew(changed)[place]
    given = key_of(name).attest(act.seq, act.hash)
    changed[place + 1] = replace(chain[place + 1], body=encode_act(given))
    return hashed_anew(changed)


def test_the_chain_is_believed_and_its_signatures_are_counted(chain: list[Entry]) -> None:
    assert refusal(chain) == ""
    book = verify("patients", chain)
    assert len(book.signatures.signed) == sum('"attested"' in each.body for each in chain) >= 12
    assert '"attested"' in chain[-1].body


# ------------------------------------------------------------------ each with its message

QUOTA = '"kind":"quota set"'


def larger(body: str) -> str:
    """A quota of another amount."""
    act = decode_act(body)
    assert isinstance(act, QuotaSet)
    return encode_act(replace(act, amount=act.amount + 1))


def byte_changed(chain: Chain) -> Chain:
    at = place_of(chain, QUOTA)
    return [*chain[:at], replace(chain[at], body=larger(chain[at].body)), *chain[at + 1 :]]


def own_hash_follows(chain: Chain) -> Chain:
    at = place_of(chain, QUOTA)
    return [
        *chain[:at],
        follow(chain[at - 1].hash, "patients", at + 1, larger(chain[at].body)),
        *chain[at + 1 :],
    ]


def signature_copied(chain: Chain) -> Chain:
    at = place_of(chain, QUOTA) + 1
    before = json.loads(chain[place_of(chain, '"attested"', 1)].body)
    body = json.dumps(before | {"entry": str(at)}, sort_keys=True, separators=(",", ":"))
    return hashed_anew([*chain[:at], replace(chain[at], body=body), *chain[at + 1 :]])


def later_signature_copied(chain: Chain) -> Chain:
    """Not seen as a copy, because it stands before the one that it was copied from."""
    at = place_of(chain, QUOTA) + 1
    later = json.loads(chain[place_of(chain, '"least set"') + 1].body)
    body = json.dumps(later | {"entry": str(at)}, sort_keys=True, separators=(",", ":"))
    return hashed_anew([*chain[:at], replace(chain[at], body=body), *chain[at + 1 :]])


def bit_flipped(chain: Chain) -> Chain:
    at = place_of(chain, QUOTA) + 1
    given = decode_act(chain[at].body)
    assert isinstance(given, Attested)
    bits = int(given.signature, 16) ^ (1 << 77)
    body = encode_act(replace(given, signature=f"{bits:0128x}"))
    return hashed_anew([*chain[:at], replace(chain[at], body=body), *chain[at + 1 :]])


def removed(chain: Chain) -> Chain:
    at = place_of(chain, QUOTA) + 1
    return hashed_anew([*chain[:at], *chain[at + 1 :]])


def duplicated(chain: Chain) -> Chain:
    at = place_of(chain, QUOTA) + 1
    return hashed_anew([*chain[: at + 1], *chain[at:]])


def of_a_charge(chain: Chain) -> Chain:
    at = place_of(chain, '"kind":"charged"')
    charge = chain[at]
    given = key_of("olga").attest(charge.seq, charge.hash)
    signature = replace(charge, body=encode_act(given))
    return hashed_anew([*chain[: at + 1], signature, *chain[at + 1 :]])


def of_a_freeze(chain: Chain) -> Chain:
    at = place_of(chain, '"kind":"frozen"')
    given = key_of("olga").attest(chain[at].seq, chain[at].hash)
    signature = replace(chain[at], body=encode_act(given))
    return hashed_anew([*chain[: at + 1], signature, *chain[at + 1 :]])


def with_the_key_before(chain: Chain) -> Chain:
    return signed_with(chain, place_of(chain, '"default quota set"'), "olga")


def with_a_name_changed(chain: Chain) -> Chain:
    at = place_of(chain, '"least set"')
    return signed_with(chain, at, "omar", chain[at].body.replace("omar", "olga"))


def charge_changed(chain: Chain) -> Chain:
    """A charge costs more, and no owner did it; the next owner's signature shows it."""
    at = place_of(chain, '"kind":"charged"', 2)
    stored = json.loads(chain[at].body)
    stored["amount"] = str(int(stored["amount"]) + 1)
    body = json.dumps(stored, sort_keys=True, separators=(",", ":"))
    return hashed_anew([*chain[:at], replace(chain[at], body=body), *chain[at + 1 :]])


def act_and_signature_removed(chain: Chain) -> Chain:
    at = place_of(chain, QUOTA)
    return hashed_anew([*chain[:at], *chain[at + 2 :]])


FORGED: dict[Callable[[Chain], Chain], str] = {
    byte_changed: "the hash of the entry does not follow from the entry before and the text",
    own_hash_follows: "the hash of the entry does not follow from the entry before and",
    lambda chain: signed_with(chain, place_of(chain, QUOTA), "omar"): (
        "is an act of olga, and it was signed with the key of omar"
    ),
    lambda chain: signed_with(chain, place_of(chain, QUOTA), "mallory"): (
        "is an act of olga, and it was signed with a key that no owner has"
    ),
    lambda chain: hashed_anew(byte_changed(chain)): "the signature does not fit entry",
    with_the_key_before: "was signed with a key that olga no longer has",
    with_a_name_changed: "is an act of olga, and it was signed with the key of omar",
    signature_copied: "a copy of the signature of entry",
    later_signature_copied: "is an act of olga, and it was signed with the key of omar",
    bit_flipped: "the signature does not fit entry",
    removed: "is missing: an act of olga is followed by its signature",
    lambda chain: chain[:-1]: "is missing: an act of omar is followed by its signature",
    duplicated: "is signed twice: an act has one signature",
    of_a_charge: "has a signature, and needs none at this place",
    of_a_freeze: "has a signature, and needs none at this place",
    charge_changed: "the act or an entry before it was changed",
    act_and_signature_removed: "the act or an entry before it was changed",
}


@pytest.mark.parametrize("forge", FORGED)
def test_a_forgery_is_refused_with_its_own_message(
    chain: list[Entry], forge: Callable[[Chain], Chain]
) -> None:
    assert FORGED[forge] in refusal(forge(list(chain)))


def test_a_charge_after_the_last_signature_is_not_covered_by_it(
    tmp_path: Path,
) -> None:
    """The lie, and why anchors are needed: the forger lowers what was spent at the end."""
    store = open_store(f"sqlite:///{tmp_path}/ledger.db")
    ledger = Ledger(store)
    write_signed_history(ledger)
    answer(ledger, ask("the last"))
    chain, anchor = read_export(export(store)).chains["patients"], take_anchor(store)
    store.close()
    at = place_of(chain, '"kind":"charged"', -1)
    assert refusal(chain[:at]) == ""
    assert "the chain ends here" in refusal(chain[:at], anchor)


def test_another_copy_of_a_ledger_does_not_take_a_signature(
    chain: list[Entry], tmp_path: Path
) -> None:
    """Two copies of one ledger went on apart; an approval is not carried over."""
    store = open_store(f"sqlite:///{tmp_path}/ledger.db")
    other = open_signed(Ledger(store))
    rise = as_owner(other, "olga").raise_cap("patients", ONE, "here", by="olga")
    as_owner(other, "omar").approve("patients", rise.seq, by="omar")
    there = read_export(export(store)).chains["patients"]
    store.close()
    given, at = decode_act(there[-1].body), place_of(chain, '"kind":"approved"', 2)
    assert isinstance(given, Attested)
    body = encode_act(replace(given, entry=chain[at].seq))
    moved = [*chain[: at + 1], replace(chain[at + 1], body=body), *chain[at + 2 :]]
    assert "the signature does not fit entry" in refusal(hashed_anew(moved))


# ------------------------------------------------------------------ random edits

KINDS: dict[str, Tampering] = {}


def kind(name: str) -> Callable[[Tampering], Tampering]:
    def add(tampering: Tampering) -> Tampering:
        KINDS[name] = tampering
        return tampering

    return add


def places(chain: Chain, words: str) -> list[int]:
    return [place for place, entry in enumerate(chain) if words in entry.body]


@kind("a byte of an entry")
def _(chain: Chain, chance: Random) -> Chain:
    at = chance.randrange(len(chain))
    body = list(chain[at].body)
    body[chance.randrange(len(body))] = chr(chance.randrange(32, 127))
    chain[at] = replace(chain[at], body="".join(body))
    return hashed_anew(chain)


@kind("a field of an entry")
def _(chain: Chain, chance: Random) -> Chain:
    at = chance.randrange(len(chain))
    chain[at] = replace(chain[at], body=_edited(chain[at].body, chance))
    return hashed_anew(chain)


@kind("a bit of a signature")
def _(chain: Chain, chance: Random) -> Chain:
    at = chance.choice(places(chain, '"attested"'))
    given = decode_act(chain[at].body)
    assert isinstance(given, Attested)
    bits = int(given.signature, 16) ^ (1 << chance.randrange(512))
    chain[at] = replace(chain[at], body=encode_act(replace(given, signature=f"{bits:0128x}")))
    return hashed_anew(chain)


@kind("a signature of another entry")
def _(chain: Chain, chance: Random) -> Chain:
    at, other = chance.sample(places(chain, '"attested"'), 2)
    mine, given = decode_act(chain[at].body), decode_act(chain[other].body)
    assert isinstance(mine, Attested)
    assert isinstance(given, Attested)
    chain[at] = replace(chain[at], body=encode_act(replace(given, entry=mine.entry)))
    return hashed_anew(chain)


@kind("an act that another key signed")
def _(chain: Chain, chance: Random) -> Chain:
    at = chance.choice(places(chain, '"attested"'))
    owner = decode_act(chain[at].body)
    assert isinstance(owner, Attested)
    names = ("olga", "omar", "olga's second key", "mallory")
    name = chance.choice([each for each in names if key_of(each).key != owner.key])
    body = chain[at - 1].body
    changed = _edited(body, chance) if chance.random() < 0.5 else body
    return signed_with(chain, at - 1, name, changed)


@kind("a signature removed")
def _(chain: Chain, chance: Random) -> Chain:
    del chain[chance.choice(places(chain, '"attested"'))]
    return hashed_anew(chain)


@kind("a signature written twice")
def _(chain: Chain, chance: Random) -> Chain:
    at = chance.choice(places(chain, '"attested"'))
    chain.insert(chance.randrange(len(chain) + 1), chain[at])
    return hashed_anew(chain)


@kind("an act and its signature removed")
def _(chain: Chain, chance: Random) -> Chain:
    at = chance.choice(places(chain, '"attested"')[:-1])
    return hashed_anew([*chain[: at - 1], *chain[at + 1 :]])


@kind("an act and its signature moved")
def _(chain: Chain, chance: Random) -> Chain:
    at = chance.choice(places(chain, '"attested"')[:-1])
    pair, rest = chain[at - 1 : at + 1], [*chain[: at - 1], *chain[at + 1 :]]
    to = chance.choice([place for place in range(1, len(rest) - 1) if place != at - 1])
    return hashed_anew([*rest[:to], *pair, *rest[to:]])


@kind("an act written again with a signature of its own")
def _(chain: Chain, chance: Random) -> Chain:
    """A forger with the key of one owner acts in the name of the other."""
    at = chance.choice(places(chain, '"by":"omar"'))
    chain[at:at] = [chain[at], chain[at]]
    return signed_with(hashed_anew(chain), at, chance.choice(("olga", "olga's second key")))


@kind("an entry removed")
def _(chain: Chain, chance: Random) -> Chain:
    del chain[chance.randrange(len(chain))]
    return hashed_anew(chain)


@kind("two entries swapped")
def _(chain: Chain, chance: Random) -> Chain:
    first, second = chance.sample(range(len(chain)), 2)
    chain[first], chain[second] = chain[second], chain[first]
    return hashed_anew(chain)


def edited(chain: list[Entry], number: int) -> tuple[str, Chain]:
    """The random edit number ``number``, and what it makes of the chain."""
    name = list(KINDS)[number % len(KINDS)]
    chance, changed = Random(number), list(chain)  # noqa: S311 - a lie needs no secret
    while changed == list(chain):
        changed = KINDS[name](list(chain), chance)
    return name, changed


def test_every_random_edit_is_refused_though_all_hashes_follow(
    evidence: tuple[list[Entry], Anchor], bar: Bar
) -> None:
    chain, anchor = evidence
    made, alone, anchored = Counter[str](), Counter[str](), Counter[str]()
    for number in range(EDITS):
        name, changed = edited(chain, number)
        made[name] += 1
        alone[name] += refusal(changed) != ""
        anchored[name] += refusal(changed, anchor) != ""
    for name in KINDS:
        bar(
            f"refused without an anchor, {name}",
            f"{alone[name]} of {made[name]}",
            "all",
            alone[name] == made[name],
        )
    seen = anchored.total()
    bar("refused with the anchored head", f"{seen} of {EDITS}", "all", seen == EDITS)
    assert seen == alone.total() == EDITS


def test_a_forger_without_signatures_to_break_is_believed(chain: list[Entry]) -> None:
    """The lie: the same edits of a chain that nobody signed are mostly believed."""
    words = ('"attested"', '"key set"', '"proposed"', '"approved"')
    bare = hashed_anew([each for each in chain if not any(word in each.body for word in words)])
    assert refusal(bare) == ""
    at = place_of(bare, QUOTA)
    changed = [*bare[:at], replace(bare[at], body=larger(bare[at].body)), *bare[at + 1 :]]
    assert refusal(hashed_anew(changed)) == ""
    anchor = Anchor((Head("patients", bare[-1].seq, bare[-1].hash),))
    assert refusal(hashed_anew(changed), anchor) != ""


def test_a_key_that_was_proposed_by_nobody_signs_nothing(tmp_path: Path) -> None:
    """A proposal of a key that was not approved gives no right, whatever it signs."""
    store = open_store(f"sqlite:///{tmp_path}/ledger.db")
    ledger = open_signed(Ledger(store))
    propose_key(ledger, "omar", "mallory")
    chain = read_export(export(store)).chains["patients"]
    store.close()
    body = encode_act(QuotaSet("ann", 1, 0, "omar", 1))
    forged = [*chain, replace(chain[-1], body=body), chain[-1]]
    why = refusal(signed_with(hashed_anew(forged), len(chain), "mallory"))
    assert "is an act of omar, and it was signed with a key that no owner has" in why
