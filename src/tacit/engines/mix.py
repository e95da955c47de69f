"""The order in which a unit's own rows and groups are kept: an integer that every engine finds.

Bounding is sound for every order that is a function of the unit's own rows, so that no secrecy
is asked of this mix, and no more than that it looks random: products and shifts of 31 bits,
which overflow nowhere.
"""

from collections.abc import Sequence
from hashlib import md5, sha256
from itertools import cycle

from tacit.core.keys import Key

WORD = 2**32 - 1
"""What is taken of a part: its lowest bits, or the first of the hash of a text."""

MOST = 2**31 - 1
"""The greatest mix: it fits into four bytes, signed."""

SHIFT = 16
FACTORS = (927_646_739, 1_013_904_223, 668_265_263)
"""Odd, below 2^30: their product with the sum of a mix and a part is below 2^63."""

LAST = 374_761_393


def start(salt: bytes) -> int:
    """The mix of nothing."""
    return int.from_bytes(sha256(salt).digest()[:4]) & MOST


def mixed(salt: bytes, parts: Sequence[Key | None]) -> int:
    """The mix of a salt and some values.

    Example:
        >>> mixed(b"salt", ["ann", 3]) == mixed(b"salt", ["ann", 4])
        False
    """
    state = start(salt)
    for part, factor in zip(parts, cycle(FACTORS), strict=False):
        state = ((state + word(part)) * factor >> SHIFT) & MOST
    return (state * LAST >> SHIFT) & MOST


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
