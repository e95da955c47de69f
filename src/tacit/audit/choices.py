"""Choices that a seed makes, always the same: what a number stands for can be made again."""

from collections.abc import Callable, Sequence
from hashlib import shake_256
from typing import TypeVar

Item = TypeVar("Item")

FIRST_BYTES = 512


class Choices:
    """A stream of choices; a seed has one, without end."""

    def __init__(self, seed: str) -> None:
        self._hash = shake_256(seed.encode())
        self._bytes = self._hash.digest(FIRST_BYTES)
        self._used = 0

    def below(self, most: int) -> int:
        """A number from 0 on, below ``most``; which is more likely does not matter here."""
        if self._used == len(self._bytes):
            self._bytes = self._hash.digest(2 * len(self._bytes))
        high, low = self._bytes[self._used : self._used + 2]
        self._used += 2
        return (256 * high + low) % most

    def once_in(self, most: int) -> bool:
        """What happens once in so many times."""
        return self.below(most) == 0

    def one(self, items: Sequence[Item]) -> Item:
        """One of several."""
        return items[self.below(len(items))]

    def some(self, least: int, most: int, make: Callable[[int], Item]) -> list[Item]:
        """Several that ``make`` makes, each from its place."""
        return [make(place) for place in range(least + self.below(most - least + 1))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """All of several, in some order."""
        found = list(items)
        for place in range(len(found) - 1, 0, -1):
            other = self.below(place + 1)
            found[place], found[other] = found[other], found[place]
        return found
