"""One link of a population's chain."""

from dataclasses import dataclass
from hashlib import sha256

GENESIS = bytes(32)
"""What the first entry follows."""

FORMAT = b"tacit entry 1\n"
"""Which way of hashing this is; another way gets another name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What happened, as canonical text, and the hash that ties it to all that came before."""

    population: str
    seq: int
    body: str
    hash: bytes


def follow(previous: bytes, population: str, seq: int, body: str) -> Entry:
    """The entry of ``body`` after the one whose hash is ``previous``.

    Guarantee: whoever knows the hash of an entry knows, up to a collision of SHA-256, the
    place and the text of every entry up to it.

    Example:
        >>> follow(GENESIS, "patients", 1, "{}").hash.hex()[:16]
        '68d1608efa4f8714'
    """
    name = population.encode()
    place = seq.to_bytes(8, "big") + len(name).to_bytes(4, "big") + name
    return Entry(
        population, seq, body, sha256(FORMAT + previous + place + body.encode()).digest()
    )
