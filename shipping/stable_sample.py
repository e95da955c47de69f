"""Draw a sample by hashes, so that a seed gives the same draw on every machine and version.

Each item is ranked by the hash of the seed and the item's own text. When the tree changes a
little, most of a sample stays the same, since the rank of an item does not depend on others.
"""

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import TypeVar

Item = TypeVar("Item")


def rank(seed: str, text: str) -> bytes:
    """Return the place of an item in the order of a seed."""
    return sha256(f"{seed}\n{text}".encode()).digest()


def sample(
    items: Iterable[Item], count: int, *, seed: str, text: Callable[[Item], str]
) -> list[Item]:
    """Draw ``count`` items, or all of them where there are fewer."""
    return sorted(items, key=lambda item: rank(seed, text(item)))[:count]
