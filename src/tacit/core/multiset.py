"""A database as the theory sees it: a multiset of elements of a universe."""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from tacit.errors import InvalidValue

Element = TypeVar("Element", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Multiset(Generic[Element]):
    """Elements with their multiplicities, without order.

    Example:
        >>> heights = Multiset.of(["5'2", "6'1", "5'8", "5'8", "6'0"])
        >>> heights.size, heights.count("5'8")
        (5, 2)
    """

    counts: frozenset[tuple[Element, int]]

    def __post_init__(self) -> None:
        if any(count < 1 for _, count in self.counts):
            raise InvalidValue("Multiplicities in a multiset are at least 1.")
        if len({element for element, _ in self.counts}) != len(self.counts):
            raise InvalidValue(
                "Each element of a multiset is listed once, with its multiplicity."
            )

    @classmethod
    def of(cls, elements: Iterable[Element]) -> Self:
        """The multiset of ``elements``, each as often as it stands there."""
        return cls(frozenset(Counter(elements).items()))

    @property
    def size(self) -> int:
        """How many elements there are, each counted as often as it occurs."""
        return sum(count for _, count in self.counts)

    def count(self, element: Element) -> int:
        """How often ``element`` occurs."""
        return dict(self.counts).get(element, 0)

    def minus(self, other: "Multiset[Element]") -> "Multiset[Element]":
        """What is left after taking away the elements of ``other``, one for one."""
        return Multiset(
            frozenset((Counter(dict(self.counts)) - Counter(dict(other.counts))).items())
        )
