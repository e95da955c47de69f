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
"""Odd, below 2^30: their product with the sum of a start and a part is below 2^63."""


def start(salt: bytes, place: int) -> int:
    """What the part at ``place`` is added to."""
    return int.from_bytes(sha256(b"%d|%b" % (place, salt)).digest()[:4]) & MOST


def mixed(salt: bytes, parts: Sequence[Key | None]) -> int:
    """The mix of a salt and some values.

    Each adds to a number, and to an odd factor that the number is multiplied by: were they only
    added, most units would order the same two groups alike, and some would hardly be kept. No
    sum is nested in another, so that statements stay shallow.

    Example:
        >>> mixed(b"salt", ["ann", 3]) == mixed(b"salt", ["ann", 4])
        False
    """
    number = factor = 0
    for place, value in enumerate(map(word, parts)):
        number += _folded(start(salt, 2 * place) + value, FACTORS[0])
        own = _folded(start(salt, 2 * place + 1) + value, FACTORS[1])
        factor += _folded(own, FACTORS[2])
    return _folded(number & MOST, 2 * (factor & MOST) + 1)


def fold_of(salt: bytes, unit: Key, folds: int) -> int:
    """Which of so many folds a unit is in, from 0 on."""
    return mixed(fold_salt(salt), [unit]) % folds


def fold_salt(salt: bytes) -> bytes:
    """Another than that of the rows: which of them are kept says nothing about folds."""
    return b"fold|" + salt


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
