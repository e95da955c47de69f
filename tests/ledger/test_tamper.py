"""Tampering with the log: all of it is seen with the anchored head, and some without."""

import os
from collections import Counter
from pathlib import Path

import pytest
from conftest import Bar
from history import write_history
from tampering import KINDS, tampered

from tacit.errors import LedgerBroken
from tacit.ledger.chain import Anchor, Head, take_anchor
from tacit.ledger.chain_acts import Checkpointed, Restored
from tacit.ledger.entries import (
    ACTS,
    CapLowered,
    DefaultQuotaSet,
    Described,
    Entry,
    Failed,
    Frozen,
    Inherited,
    LeastSet,
    MemberRemoved,
    ProposalWithdrawn,
    QuotaDeclined,
    QuotaRequested,
    Retried,
    StateSealed,
    Thawed,
    decode_act,
)
from tacit.ledger.ledger import Ledger
from tacit.ledger.owner_acts import Attested, KeySet, SignInsEnded, SignInsTrusted
from tacit.ledger.verify import export, read_export, verify
from tacit.store.connect import open_store

TAMPERINGS = int(os.environ.get("TACIT_TAMPERINGS", "10000"))

PAGE = (Path(__file__).parents[2] / "docs/privacy/ledger.md").read_text(encoding="utf-8")

UNSEEN = {
    "the end cut off",
    "the whole chain rewritten",
    "a field edited, all after it rehashed",
    "an entry and what refers to it deleted, all after it rehashed",
    "an entry written twice, all after it rehashed",
    "an entry of another place inserted, all after it rehashed",
    "an edited entry inserted, all after it rehashed",
    "two entries swapped, all after it rehashed",
}
"""The kinds of which some, and sometimes all, are believed where there is no anchor."""


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Entry], Anchor]:
    """The exported chain of a real store, and its anchor."""
    store = open_store(f"sqlite:///{tmp_path_factory.mktemp('tamper')}/ledger.db")
    write_history(Ledger(store))
    chain, anchor = read_export(export(store)).chains["patients"], take_anchor(store)
    store.close()
    return chain, anchor


def believed(chain: list[Entry], anchor: Anchor | None) -> bool:
    try:
        verify("patients", chain, anchor)
    except LedgerBroken:
        return False
    return True


def test_the_history_holds_every_kind_of_act(evidence: tuple[list[Entry], Anchor]) -> None:
    chain, anchor = evidence
    assert believed(chain, anchor)
    assert 60 <= len(chain) <= 100
    acts = [decode_act(entry.body) for entry in chain]
    decisions = [act.decision for act in acts if hasattr(act, "decision")]
    newer = {
        CapLowered,
        Checkpointed,
        DefaultQuotaSet,
        Described,
        Failed,
        Frozen,
        Inherited,
        LeastSet,
        MemberRemoved,
        ProposalWithdrawn,
        QuotaDeclined,
        QuotaRequested,
        Restored,
        Retried,
        StateSealed,
        Thawed,
        Attested,
        KeySet,
        SignInsEnded,
        SignInsTrusted,
    }
    assert {type(act) for act in acts + decisions} == set(ACTS.values()) - newer


def test_all_tampering_is_seen_with_the_anchor(
    evidence: tuple[list[Entry], Anchor], bar: Bar
) -> None:
    chain, anchor = evidence
    made, alone, anchored = Counter[str](), Counter[str](), Counter[str]()
    for number in range(TAMPERINGS):
        kind, changed = tampered(chain, number)
        made[kind] += 1
        anchored[kind] += not believed(changed, anchor)
        alone[kind] += not believed(changed, None)
    seen = anchored.total()
    bar(
        "tamperings seen with the anchored head",
        f"{seen} of {TAMPERINGS}",
        "all",
        seen == TAMPERINGS,
    )
    for kind in KINDS:
        measured = f"{alone[kind]} of {made[kind]}"
        row = f"| {kind} | {made[kind]} of {made[kind]} | {measured} |\n"
        on_page = TAMPERINGS != 10_000 or row in PAGE
        bar(f"seen without an anchor, {kind}", measured, "told on the page", on_page)
    # the lie: without the anchor, exactly the kinds that the page names are believed
    assert {kind for kind in KINDS if alone[kind] < made[kind]} == UNSEEN


def test_an_anchor_speaks_for_all_up_to_its_entry_and_for_nothing_after(
    evidence: tuple[list[Entry], Anchor],
) -> None:
    chain, _ = evidence
    middle = chain[len(chain) // 2]
    anchor = Anchor((Head("patients", middle.seq, middle.hash),))
    tamperings = [tampered(chain, number)[1] for number in range(1000)]
    touched = [
        changed for changed in tamperings if changed[: middle.seq] != chain[: middle.seq]
    ]
    later = [changed for changed in tamperings if changed[: middle.seq] == chain[: middle.seq]]
    assert not any(believed(changed, anchor) for changed in touched)
    assert [believed(changed, anchor) for changed in later] == [
        believed(changed, None) for changed in later
    ]
    assert any(believed(changed, anchor) for changed in later)
