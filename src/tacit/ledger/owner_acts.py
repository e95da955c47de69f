"""Signed acts of owners: decisions about keys, signatures as entries, and who makes them.

Owners sign what they do with Ed25519 keys of their own. An owner's act is an entry like any
other. The signature is a second entry, which follows the act in the same unit of work:

    7  {"kind": "approved", "proposal": "5", "by": "olga", ...}
    8  {"kind": "attested", "entry": "7", "key": "d75a...", "signature": "e556..."}

It signs the *hash* of entry 7. This hash covers the act, its number, the name of the population
and every entry before it. A signature is therefore worthless at any other place, in another
chain and after another history, so that nothing can be replayed. An owner who signs entry 7
also confirms the history up to it: nobody can change an earlier entry later without this key,
even if they compute all hashes again.

An owner who signs in at an identity provider needs no key file. The server, which checked the
sign-in, signs the same hash with the key of its installation, together with the provider's
name and a hash of the provider's token. Such a signature counts only if the owners have decided
to trust this installation, because it is the server that vouches for the owner.

`tacit.ledger.owner_keys` has the rules: which acts need a signature, and by which key.
"""

import re
from dataclasses import dataclass, field
from hashlib import sha256

from tacit.store import SigningKey, is_signed

# ------------------------------------------------------------------ kinds of entries


@dataclass(frozen=True, slots=True)
class KeySet:
    """The decision that an owner signs with ``key``, and no longer with the key before it."""

    owner: str
    key: str


@dataclass(frozen=True, slots=True)
class SignInsTrusted:
    """The decision to accept sign-ins at ``issuer`` for which an installation vouches.

    ``key`` is the public key of the installation of Tacit that serves the ledger.
    """

    key: str
    issuer: str


@dataclass(frozen=True, slots=True)
class SignInsEnded:
    """The decision to accept no more sign-ins for which the installation ``key`` vouches."""

    key: str


@dataclass(frozen=True, slots=True)
class Attested:
    """The signature of the act in entry ``entry``, which is the entry before this one.

    Without ``sign_in``, ``key`` is the owner's own. With it, ``key`` belongs to an
    installation, which vouches that the owner signed in: ``sign_in`` is the issuer, a space,
    and a hash of the issuer's token.
    """

    entry: int
    key: str
    signature: str
    sign_in: str = ""


# ------------------------------------------------------------------ signatures

ACT, SIGN_IN = b"tacit owner act 1\n", b"tacit sign-in 1\n"
"""The first bytes of the two signed messages, which no other signed message begins with."""

KEY = re.compile(r"[0-9a-f]{64}")
SIGNATURE = re.compile(r"[0-9a-f]{128}")


SMALL_ORDER = frozenset(
    (
        "00" * 32,
        "01" + "00" * 31,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ec" + "ff" * 30 + "7f",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "7f",
    )
)
"""Points of small order, without the sign bit. Anybody can sign for them, without a secret.

An owner with such a key could later deny every act.
"""


def is_key(text: str) -> bool:
    """Return whether ``text`` is a public key: 64 lower-case digits, and not of small order.

    Example:
        >>> is_key("d7" * 32), is_key("D7" * 32), is_key("00" * 32)
        (True, False, False)
    """
    if not KEY.fullmatch(text):
        return False
    without_sign = f"{int(text[-2:], 16) & 0x7F:02x}"
    return text[:-2] + without_sign not in SMALL_ORDER


def fingerprint(key: str) -> str:
    """Return a short form of a public key, which people can compare by telephone.

    Example:
        >>> fingerprint("d7" * 32)
        'e2be-22e4-f8b6-488b-4fb9'
    """
    digits = sha256(bytes.fromhex(key)).hexdigest()[:20]
    return "-".join(digits[place : place + 4] for place in range(0, 20, 4))


def fits(given: Attested, entry_hash: bytes) -> bool:
    """Return whether the signature in ``given`` is one of the entry with hash ``entry_hash``.

    It is written in one way only, so that no byte of it can be changed.
    """
    if not (is_key(given.key) and SIGNATURE.fullmatch(given.signature)):
        return False
    if not given.sign_in.isascii():
        return False
    message = _message(entry_hash, given.sign_in)
    return is_signed(message, bytes.fromhex(given.signature), bytes.fromhex(given.key))


def _message(entry_hash: bytes, sign_in: str) -> bytes:
    """Return the signed bytes. The hash has a fixed length, so that nothing is ambiguous."""
    return SIGN_IN + entry_hash + sign_in.encode() if sign_in else ACT + entry_hash


def sign_in_of(issuer: str, token: str) -> str:
    """Return the text about a sign-in at ``issuer`` with ``token``, as a signature names it.

    The token is a secret, so that only its hash is written down.

    Example:
        >>> sign_in_of("https://id.example", "eyJh.eyJz.c2ln")[:30]
        'https://id.example 7b6f9a38fba'
    """
    return f"{issuer} {sha256(token.encode()).hexdigest()}"


@dataclass(frozen=True, slots=True)
class ActSigner:
    """A signer of acts: an owner's own key, or an installation that vouches for a sign-in.

    Example:
        >>> signer = ActSigner(SigningKey(bytes(32)))
        >>> given = signer.attest(7, b"the hash of entry seven, of 32 b")
        >>> fits(given, b"the hash of entry seven, of 32 b"), fits(given, bytes(32))
        (True, False)
    """

    signing: SigningKey = field(repr=False)
    sign_in: str = ""

    @property
    def key(self) -> str:
        """The public key in hexadecimal."""
        return self.signing.public.hex()

    def attest(self, entry: int, entry_hash: bytes) -> Attested:
        """Return the signature of the act in entry ``entry``, which has this hash."""
        signature = self.signing.sign(_message(entry_hash, self.sign_in))
        return Attested(entry, self.key, signature.hex(), self.sign_in)
