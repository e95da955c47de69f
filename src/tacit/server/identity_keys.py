"""The public keys of an OpenID provider, fetched in the background and served while it fails.

Tokens are checked with the keys that were fetched last; no request waits for the provider in a
thread. A thread fetches the keys every ten minutes. A token with the id of an unknown key makes
it fetch sooner, because the provider may have a new key, but not more often than every ten
seconds, however many such tokens are sent. If the provider fails, the thread tries again after
a pause that doubles each time, and the keys that were fetched before stay in use for a day.

Keys that are weak, malformed or for another purpose are left out. If none is left, the fetch
failed, and the keys before it stay.
"""

import json
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable
from http.client import HTTPException, HTTPMessage
from threading import Condition, Thread
from typing import IO, Any
from urllib.request import HTTPRedirectHandler, Request, build_opener

from joserfc.errors import JoseError
from joserfc.jwk import KeySet

KINDS = ("RSA", "EC")
CURVES = ("P-256", "P-384")
RSA_BITS = range(2048, 8193)
"""Lengths of an RSA modulus. Shorter keys are weak, and longer ones are slow to check."""

EXPONENTS = range(2**16 + 1, 2**256, 2)
"""Exponents of an RSA key, as FIPS 186-5 allows them."""

FETCH_SECONDS, LARGEST = 5.0, 2**20
WHOLE_SECONDS = 20.0
"""Seconds for the whole document: a provider may send it byte by byte."""

FRESH_SECONDS, PAUSE_SECONDS = 600.0, 10.0
"""Seconds between two fetches, and at least so many if a token has an unknown key."""

STALE_SECONDS = 24 * 3600.0
"""How long fetched keys are used while the provider cannot be reached."""

FIRST_RETRY, LONGEST_RETRY = 1.0, 300.0
"""Seconds before the first fetch after a failure, and the most before any."""

Log = Callable[[dict[str, Any]], None]


class Straight(HTTPRedirectHandler):
    """A handler that follows no redirect, so that keys come from the configured address."""

    def redirect_request(  # noqa: PLR0913, PLR0917 - as urllib calls it
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        """Return None, which stops the redirect."""


def fetch_document(address: str) -> bytes:
    """Return the document that the provider publishes at ``address``.

    Raise `TimeoutError` if it takes too long, and `ValueError` if it is too large.
    """
    ends, document = time.monotonic() + WHOLE_SECONDS, b""
    with build_opener(Straight()).open(address, timeout=FETCH_SECONDS) as response:
        while part := response.read1(2**16):
            document += part
            if len(document) > LARGEST:
                raise ValueError("The document is too large.")
            if time.monotonic() > ends:
                raise TimeoutError
    return document


def usable_keys(document: bytes) -> KeySet:
    """Return the keys in a JWKS document that may sign tokens; raise `ValueError` if none may.

    Guarantee: each key has an id, is an RSA key of at least 2048 bits with an ordinary
    exponent, or a key on one of `CURVES`, and is published for signatures.

    Example:
        >>> usable_keys(b'{"keys": [7, {"kty": "oct", "k": "c2VjcmV0"}]}')
        Traceback (most recent call last):
        ...
        ValueError: The provider publishes no key that may be used.
    """
    try:
        published = json.loads(document)["keys"]
        found = [key for key in published if _is_usable(key)]
        if found:
            return KeySet.import_key_set({"keys": found})
    except (JoseError, KeyError, TypeError, ValueError, RecursionError):
        pass
    raise ValueError("The provider publishes no key that may be used.")


def _is_usable(key: Any) -> bool:
    if not isinstance(key, dict) or key.get("kty") not in KINDS:
        return False
    if not isinstance(key.get("kid"), str) or key.get("use", "sig") != "sig":
        return False
    if key["kty"] == "EC":
        return key.get("crv") in CURVES and _imports(key)
    modulus, exponent = _number(key.get("n")), _number(key.get("e"))
    return modulus.bit_length() in RSA_BITS and exponent in EXPONENTS and _imports(key)


def _number(text: Any) -> int:
    """Return the number that a part of a key encodes; 0 if it encodes none."""
    try:
        return int.from_bytes(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (TypeError, ValueError):
        return 0


def _imports(key: dict[str, Any]) -> bool:
    """Return whether the key is valid: for example, its point is on the curve."""
    try:
        KeySet.import_key_set({"keys": [key]}).keys[0].get_op_key("verify")
    except (JoseError, ValueError, TypeError, KeyError):
        return False
    return True


def _kind_of(error: BaseException) -> str:
    """Return the name of the class of an error, and of the reason that an URLError has.

    Texts are left out: they may contain what the provider sent.

    Example:
        >>> from urllib.error import URLError
        >>> _kind_of(URLError(ConnectionRefusedError(111, "refused")))
        'URLError: ConnectionRefusedError'
    """
    reason = getattr(error, "reason", None)
    names = [type(error).__name__]
    return ": ".join(names + [type(reason).__name__] * isinstance(reason, BaseException))


class IdentityKeys:
    """The keys of one provider, which a thread fetches again and again.

    `key_set` returns at once. `ask_for_fetch` is called if a token has an unknown key.
    """

    def __init__(
        self,
        address: str,
        log: Log = lambda _: None,
        fetch: Callable[[str], bytes] = fetch_document,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._address = address
        self._log = log
        self._fetch = fetch
        self._clock = clock
        self._keys: KeySet | None = None
        self._fetched = float("-inf")
        self._tried = float("-inf")
        self._failures = 0
        self._rounds = 0
        self._fetching = False
        self._wanted = False
        self._ended = False
        self._changed = Condition()
        self._thread: Thread | None = None

    def key_set(self) -> KeySet | None:
        """Return the keys that were fetched last; None if there are none, or they are stale."""
        if self._clock() - self._fetched > STALE_SECONDS:
            return None
        return self._keys

    @property
    def rounds(self) -> int:
        """The number of fetches that have ended, with or without keys."""
        return self._rounds

    def ask_for_fetch(self) -> bool:
        """Ask for a fetch; return whether one will come soon.

        One that began less than five seconds ago counts: it may bring the key. None comes soon
        if the last one is less than ten seconds ago, or if the provider fails.
        """
        with self._changed:
            if self._fetching and self._clock() - self._tried < FETCH_SECONDS:
                return True
            if self._keys is not None and self._due_when_wanted() > self._clock():
                return False
            self._wanted = True
            self._changed.notify_all()
            return self._due_when_wanted() <= self._clock() + FETCH_SECONDS

    def start(self) -> None:
        """Start the thread that fetches keys."""
        if self._thread is None:
            self._thread = Thread(target=self._watch, name="tacit identity keys", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop the thread; nobody waits for a fetch that hangs."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def refresh(self) -> None:
        """Fetch the keys once. If this fails, the keys before it stay."""
        keys, failed = None, ""
        with self._changed:
            self._tried, self._fetching = self._clock(), True
        try:
            keys = usable_keys(self._fetch(self._address))
        except (OSError, ValueError, HTTPException) as error:
            failed = _kind_of(error)
        with self._changed:
            self._wanted = self._fetching = False
            self._rounds += 1
            if failed:
                self._failures += 1
            else:
                self._keys, self._fetched, self._failures = keys, self._clock(), 0
            self._changed.notify_all()
        if failed:
            self._log({"identity": "keys could not be fetched", "failed": failed})

    def _due_when_wanted(self) -> float:
        if self._failures:
            return self._tried + self._back_off()
        return self._tried + PAUSE_SECONDS

    def _due(self) -> float:
        """Return the time of the next fetch."""
        if self._failures:
            return self._tried + self._back_off()
        return self._tried + (PAUSE_SECONDS if self._wanted else FRESH_SECONDS)

    def _back_off(self) -> float:
        return min(FIRST_RETRY * 2.0 ** min(self._failures - 1, 20), LONGEST_RETRY)

    def _watch(self) -> None:
        while True:
            with self._changed:
                while not self._ended and (rest := self._due() - self._clock()) > 0:
                    self._changed.wait(rest)
                if self._ended:
                    return
            self.refresh()
