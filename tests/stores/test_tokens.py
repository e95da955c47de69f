"""Tokens: shown once, kept as hashes, refused in one wording."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import select

from tacit.errors import NotPermitted
from tacit.store.store import SqlStore
from tacit.store.tables import tokens
from tacit.store.tokens import AccessToken, Tokens

ANN = AccessToken("ann", "analyst", '{"populations":["patients"]}', expires=1_000)
REFUSED = "This token is not valid. Ask an owner for a new token."


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def one_file(place: Path, opened: Callable[[str], SqlStore]) -> SqlStore:
    return opened(f"sqlite:///{place}")


@pytest.fixture
def door(one_file: SqlStore) -> Tokens:
    return Tokens(one_file)


def refusal(door: Tokens, token: str, now: int = 0) -> str:
    with pytest.raises(NotPermitted) as refused:
        door.admit(token, now)
    return str(refused.value)


def test_a_token_lets_in_whom_it_was_issued_for(store: SqlStore) -> None:
    door = Tokens(store)
    bob = replace(ANN, principal="bob")
    first, second = door.issue(ANN), door.issue(bob)
    assert door.admit(first, 999) == ANN
    assert door.admit(second, 999) == bob


def test_tokens_are_long_and_never_the_same(door: Tokens) -> None:
    issued = {door.issue(ANN) for _ in range(20)}
    assert len(issued) == 20
    assert {len(token) for token in issued} == {len("tacit_") + 43}
    assert all(token.startswith("tacit_") for token in issued)


def test_only_the_hash_of_a_token_is_kept(
    door: Tokens, one_file: SqlStore, place: Path
) -> None:
    token = door.issue(ANN)
    with one_file.reading() as work:
        assert work.all(select(tokens.c.hash), {}) == [(sha256(token.encode()).digest(),)]
    files = [file.read_bytes() for file in place.parent.iterdir() if file.is_file()]
    assert any(sha256(token.encode()).digest() in file for file in files)
    assert not any(token.removeprefix("tacit_").encode() in file for file in files)


def test_what_is_kept_lets_nobody_in(door: Tokens) -> None:
    token = door.issue(ANN)
    stolen = sha256(token.encode()).hexdigest()
    assert refusal(door, stolen) == refusal(door, "tacit_" + stolen) == REFUSED


def test_every_token_that_is_not_valid_is_refused_in_one_wording(door: Tokens) -> None:
    expired, revoked = door.issue(ANN), door.issue(ANN)
    door.revoke(revoked)
    unknown = expired[:-1] + ("A" if expired[-1] != "A" else "B")
    assert refusal(door, expired, now=ANN.expires) == REFUSED
    assert refusal(door, revoked) == REFUSED
    assert refusal(door, unknown) == refusal(door, "") == refusal(door, "\udc80") == REFUSED
    assert door.admit(expired, ANN.expires - 1) == ANN


def test_revoking_one_token_leaves_the_others(door: Tokens) -> None:
    first, second = door.issue(ANN), door.issue(ANN)
    door.revoke(first)
    door.revoke(first)
    assert refusal(door, first) == REFUSED
    assert door.admit(second, 0) == ANN
