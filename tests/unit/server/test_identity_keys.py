"""Keys of an identity provider: weak ones are left out, and those of a failing one stay."""

import json
import warnings
from typing import Any

import pytest
from joserfc.jwk import ECKey, OctKey, RSAKey

from tacit.server import identity_keys
from tacit.server.identity_keys import (
    FETCH_SECONDS,
    FRESH_SECONDS,
    LONGEST_RETRY,
    PAUSE_SECONDS,
    STALE_SECONDS,
    IdentityKeys,
    usable_keys,
)


def made(key: Any, **other: Any) -> dict[str, Any]:
    key.ensure_kid()
    found: dict[str, Any] = key.as_dict(private=False) | other
    return found


GOOD = made(ECKey.generate_key("P-256"))
STRONG = made(RSAKey.generate_key(2048))
with warnings.catch_warnings(action="ignore"):
    WEAK = made(RSAKey.generate_key(1024))
BAD = {
    "RSA of 1024 bits": WEAK,
    "RSA with the exponent 1": {**STRONG, "e": "AQ"},
    "RSA with an even exponent": {**STRONG, "e": "AQAA"},
    "RSA of 100,000 bits": {**STRONG, "n": "_" * 17_000},
    "RSA without a modulus": {name: part for name, part in STRONG.items() if name != "n"},
    "RSA whose modulus is a number": {**STRONG, "n": 7},
    "another curve": made(ECKey.generate_key("P-521")),
    "a point that is not on the curve": {**GOOD, "x": GOOD["y"]},
    "a shared secret": made(OctKey.generate_key(256)),
    "for encryption": {**GOOD, "use": "enc"},
    "without an id": {name: part for name, part in GOOD.items() if name != "kid"},
    "an id that is no text": {**GOOD, "kid": 7},
    "a number": 7,
    "a list": [GOOD],
    "nothing": None,
}


def document(*keys: Any) -> bytes:
    return json.dumps({"keys": keys}).encode()


@pytest.mark.parametrize("name", BAD)
def test_weak_and_malformed_keys_are_left_out(name: str) -> None:
    found = usable_keys(document(BAD[name], GOOD, STRONG))
    assert [key.kid for key in found.keys] == [GOOD["kid"], STRONG["kid"]]
    with pytest.raises(ValueError, match="no key"):
        usable_keys(document(BAD[name]))


@pytest.mark.filterwarnings("ignore:Key size")
def test_a_check_that_takes_every_length_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity_keys, "RSA_BITS", range(1, 10**6))  # the lie
    weak = BAD["RSA of 1024 bits"]
    assert len(usable_keys(document(weak)).keys) == 1


@pytest.mark.parametrize(
    "sent", [b"", b"no", b"[]", b"7", b'{"keys": 7}', b'{"keys": {}}', b"[" * 10**5, b"\xff"]
)
def test_a_document_without_keys_is_refused(sent: bytes) -> None:
    with pytest.raises(ValueError, match="no key"):
        usable_keys(sent)


class Provider:
    """A provider and a clock, both in the hands of a test."""

    def __init__(self) -> None:
        self.now = 0.0
        self.told: bytes | None = document(GOOD)
        self.fetched = 0
        self.log: list[dict[str, Any]] = []
        self.keys = IdentityKeys("https://id", self.log.append, self.fetch, lambda: self.now)

    def fetch(self, _: str) -> bytes:
        self.fetched += 1
        if self.told is None:
            raise TimeoutError("a canary")
        return self.told

    def run_until(self, end: float) -> int:
        """Do what the thread does, and return how often it fetched."""
        before = self.fetched
        while self.now < end:
            if self.keys._due() <= self.now:
                self.keys.refresh()
            self.now += 0.5
        return self.fetched - before


def test_a_failing_provider_is_asked_less_and_less_and_its_keys_stay() -> None:
    at = Provider()
    assert at.keys.key_set() is None
    assert at.run_until(60) == 1
    at.told = None
    assert at.run_until(FRESH_SECONDS + 600) <= 12
    assert at.keys.key_set() is not None
    assert at.keys._back_off() == LONGEST_RETRY
    assert "canary" not in str(at.log)
    assert {line["failed"] for line in at.log} == {"TimeoutError"}
    at.run_until(STALE_SECONDS + 60)
    assert at.keys.key_set() is None  # a key that was withdrawn does not stay for ever
    at.told = document(GOOD)
    at.run_until(at.now + LONGEST_RETRY + 1)
    assert at.keys.key_set() is not None


def test_weak_keys_do_not_replace_good_ones() -> None:
    at = Provider()
    at.run_until(1)
    at.told = document(BAD["RSA of 1024 bits"], 7)
    at.run_until(FRESH_SECONDS + 10)
    known = at.keys.key_set()
    assert known is not None
    assert [key.kid for key in known.keys] == [GOOD["kid"]]


def test_unknown_keys_cause_one_fetch_in_ten_seconds() -> None:
    at = Provider()
    at.run_until(1)
    fetched = 0
    for _ in range(1000):
        at.keys.ask_for_fetch()
        fetched += at.run_until(at.now + 0.5)
    assert 40 <= fetched <= 500 / PAUSE_SECONDS + 1


def test_a_fetch_that_goes_on_is_waited_for_and_one_that_hangs_is_not() -> None:
    """The first request of a server comes while the first keys are on their way."""
    at = Provider()
    seen: list[bool] = []

    def asked_meanwhile(after: float) -> bytes:
        at.now += after
        seen.append(at.keys.ask_for_fetch())
        return document(GOOD)

    for after in (0.0, FETCH_SECONDS - 0.1, FETCH_SECONDS + 0.1):
        at.keys._fetch = lambda _, after=after: asked_meanwhile(after)  # type: ignore[misc]
        at.keys.refresh()
    assert seen == [True, True, False]
    assert at.keys.ask_for_fetch() is False  # it has ended, and another comes in ten seconds
