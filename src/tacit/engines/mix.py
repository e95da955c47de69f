"""The order in which a unit's own rows and groups are kept: an integer that every engine finds.

Bounding is sound for every order that is a function of the unit's own rows, so that no secrecy
is asked of this mix, and no more than that it looks random: products and shifts of 31 bits,
which overflow nowhere.
"""

from collections.abc import Sequence
from hashlib import md5, sha256

from tacit.core.keys import Key

WORD = 2**32 - 1
"""What is taken of a part: its lowest bits, or the first of the hash of a text."""

MOST = 2**31 - 1
"""The greatest mix: it fits into four bytes, signed."""

SHIFT = 16
FACTORS = (927_646_739, 668_265_263, 1_013_904_223)
"""Odd, below 2^30: their product with the sum of a mix and a part is below 2^63."""


def start(salt: bytes) -> int:
    """The mix of nothing."""
    return int.from_bytes(sha256(salt).digest()[:4]) & MOST


def mixed(salt: bytes, parts: Sequence[Key | None]) -> int:
    """The mix of a salt and some values.

    Each is added, and multiplies what is there by an odd number of its own: were it only added,
    most units would order the same two groups alike, and some groups would hardly be kept.

    Example:
        >>> mixed(b"salt", ["ann", 3]) == mixed(b"salt", ["ann", 4])
        False
    """
    first = state = start(salt)
    for value in map(word, parts):
        own = 2 * _folded(_folded(first + value, FACTORS[1]), FACTORS[2]) + 1
        state = _folded(_folded(state + value, FACTORS[0]), own)
    return state


def _folded(value: int, factor: int) -> int:
    return (value * factor >> SHIFT) & MOST


def word(part: Key | None) -> int:
    """What is mixed of a value."""
    match part:
        case None:
            return 0
        case str():
            digest = md5(part.encode(), usedforsecurity=False).hexdigest()
            return int(digest[:8], 16)
        case _:
            return part & WORD
