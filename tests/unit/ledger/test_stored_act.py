"""Acts as canonical text: one text an act, one act a text, and nothing else is read."""

import json
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tacit.errors import LedgerBroken
from tacit.ledger import entries as acts
from tacit.ledger.entries import (
    ACTS,
    Act,
    AnswerStored,
    CapRaised,
    Decision,
    Joined,
    OwnerAdded,
    Proposed,
    decode_act,
    encode_act,
)
from tacit.ledger.owner_acts import ActSigner

NUMBERS = st.integers(0, 10**19 - 1)
DECISIONS = st.one_of(
    st.builds(CapRaised, NUMBERS, NUMBERS, st.text()), st.builds(OwnerAdded, st.text())
)


def made(kind: type) -> st.SearchStrategy[Any]:
    parts = {str: st.text(), int: NUMBERS, tuple[str, ...]: st.lists(st.text()).map(tuple)}
    hints = get_type_hints(kind)
    given_ = {field.name: parts.get(hints[field.name], DECISIONS) for field in fields(kind)}
    return st.builds(kind, **given_)


ANY = st.one_of(*(made(kind) for kind in ACTS.values()))
ADDED = '{"kind":"owner added","owner":"ann"}'
KEPT = encode_act(AnswerStored(1, "00", "ff", 5))


@given(ANY)
def test_an_act_comes_back_as_it_went(act: Act | Decision) -> None:
    text = encode_act(act)
    assert decode_act(text) == act
    assert text.isascii()
    assert "\n" not in text


@given(ANY, ANY)
def test_different_acts_have_different_texts(a: Act | Decision, b: Act | Decision) -> None:
    assert (encode_act(a) == encode_act(b)) == (a == b)


def test_every_kind_of_act_has_a_stored_name() -> None:
    kinds = {kind for kind in vars(acts).values() if isinstance(kind, type)}
    others = {acts.Entry, acts.Signature, ActSigner}
    assert set(ACTS.values()) == {kind for kind in kinds if is_dataclass(kind)} - others


NOT_CANONICAL = {
    "spaces": ADDED.replace(":", ": "),
    "another order": '{"owner":"ann","kind":"owner added"}',
    "a letter escaped": ADDED.replace("ann", r"\u0061nn"),
    "a name twice": ADDED.replace("}", ',"owner":"ann"}'),
    "a newline": ADDED + "\n",
    "letters as they are": '{"kind":"owner added","owner":"Ångström"}',
    "a text for a list": encode_act(Joined("a", "@b", "c", 1)).replace('"a"', '["a"]'),
}
NOT_AN_ENTRY = {
    "nothing": "",
    "no object": "[]",
    "a number": "17",
    "no kind": '{"owner":"ann"}',
    "an unknown kind": ADDED.replace("added", "adored"),
    "a kind that is a list": '{"kind":[],"owner":"ann"}',
    "a field more": ADDED.replace("}", ',"x":"y"}'),
    "a field less": '{"kind":"owner added"}',
    "a number for a name": ADDED.replace('"ann"', "17"),
    "a number that is none": KEPT.replace('"5"', '"five"'),
    "a leading zero": KEPT.replace('"5"', '"05"'),
    "a number below nothing": KEPT.replace('"5"', '"-5"'),
    "a number as a number": KEPT.replace('"5"', "5"),
    "digits of another script": KEPT.replace('"5"', '"\u0665"'),
    "too many digits": KEPT.replace('"5"', f'"{10**19}"'),
    "an act for a decision": json.dumps(
        {"at": "1", "by": "o", "decision": json.loads(KEPT), "kind": "proposed"},
        separators=(",", ":"),
    ),
    "a text for a decision": '{"at":"1","by":"o","decision":"x","kind":"proposed"}',
    "too deep": "[" * 100_000,
    "not finite": "NaN",
}


@pytest.mark.parametrize("what", NOT_CANONICAL)
def test_a_text_that_is_not_canonical_is_refused(what: str) -> None:
    with pytest.raises(LedgerBroken):
        decode_act(NOT_CANONICAL[what])


@pytest.mark.parametrize("what", NOT_AN_ENTRY)
def test_a_text_that_is_no_entry_is_refused(what: str) -> None:
    with pytest.raises(LedgerBroken, match="ledger entry cannot be decoded"):
        decode_act(NOT_AN_ENTRY[what])


@given(st.text() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
@example("null")
def test_nothing_but_an_act_is_read(text: str) -> None:
    with pytest.raises(LedgerBroken):
        decode_act(text)


def test_a_decision_stands_in_its_proposal() -> None:
    proposed = Proposed(CapRaised(1, 0, "the answer of May was lost"), "olga", 7)
    assert decode_act(encode_act(proposed)) == proposed
