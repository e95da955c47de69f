"""Databases as in the theory: multisets, histograms, and distances between them.

The theory of differential privacy describes a database as a multiset of elements, or as the
vector of their multiplicities. Neighbouring databases are defined by distances between these.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, Self, TypeVar, assert_never

from tacit.core import Neighbours
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
            raise InvalidValue("The multiplicities of a multiset must be at least 1.")
        if len({element for element, _ in self.counts}) != len(self.counts):
            raise InvalidValue(
                "Each element of a multiset must be listed once, with its multiplicity."
            )

    @classmethod
    def of(cls, elements: Iterable[Element]) -> Self:
        """Return the multiset of ``elements``, with repetitions."""
        return cls(frozenset(Counter(elements).items()))

    @property
    def size(self) -> int:
        """The number of elements, counted with their multiplicities."""
        return sum(count for _, count in self.counts)

    def count(self, element: Element) -> int:
        """Return the multiplicity of ``element``."""
        return dict(self.counts).get(element, 0)

    def minus(self, other: "Multiset[Element]") -> "Multiset[Element]":
        """Return the multiset difference: multiplicities are subtracted, down to 0."""
        return Multiset(
            frozenset((Counter(dict(self.counts)) - Counter(dict(other.counts))).items())
        )


# ------------------------------------------------------------------ distances


def symmetric_distance(left: Multiset[Element], right: Multiset[Element]) -> int:
    """Return the number of elements to add or remove: the L1 distance of the histograms.

    Example:
        >>> symmetric_distance(Multiset.of("aab"), Multiset.of("abc"))
        2
    """
    return left.minus(right).size + right.minus(left).size


def replace_distance(left: Multiset[Element], right: Multiset[Element]) -> int | None:
    """Return the number of elements to replace, or None if the sizes differ.

    Example:
        >>> replace_distance(Multiset.of("aab"), Multiset.of("abc"))
        1
    """
    return left.minus(right).size if left.size == right.size else None


def edit_distance(left: Multiset[Element], right: Multiset[Element]) -> int:
    """Return the number of elements to add, remove or replace.

    Example:
        >>> edit_distance(Multiset.of("aab"), Multiset.of("abcc"))
        2
    """
    return max(left.minus(right).size, right.minus(left).size)


def are_neighbours(
    left: Multiset[Element], right: Multiset[Element], neighbours: Neighbours
) -> bool:
    """Return whether two databases are equal or neighbours under the given relation.

    Example:
        >>> are_neighbours(Multiset.of("ab"), Multiset.of("abb"), Neighbours.ADD_REMOVE)
        True
    """
    match neighbours:
        case Neighbours.ADD_REMOVE:
            return symmetric_distance(left, right) <= 1
        case Neighbours.REPLACE_ONE:
            return replace_distance(left, right) in {0, 1}
        case _:
            assert_never(neighbours)


# ------------------------------------------------------------------ histograms


@dataclass(frozen=True, slots=True)
class Universe(Generic[Element]):
    """All elements that a database can contain, in a public order."""

    elements: tuple[Element, ...]

    def __post_init__(self) -> None:
        if len(set(self.elements)) != len(self.elements):
            raise InvalidValue("The elements of a universe must be distinct.")


@dataclass(frozen=True, slots=True)
class Histogram(Generic[Element]):
    """A database as a vector: ``counts[i]`` is the multiplicity of the i-th element.

    Guarantee: `of` and `multiset` are inverse to each other.

    Example:
        >>> eyes = Universe(("blue", "brown"))
        >>> Histogram.of(Multiset.of(["brown", "brown"]), eyes).counts
        (0, 2)
    """

    universe: Universe[Element]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.counts) != len(self.universe.elements) or any(
            count < 0 for count in self.counts
        ):
            raise InvalidValue(
                "A histogram must have one count of at least 0 for each element of its "
                "universe."
            )

    @classmethod
    def of(cls, multiset: Multiset[Element], universe: Universe[Element]) -> Self:
        """Return the histogram of ``multiset``, whose elements must be in ``universe``."""
        counts = tuple(multiset.count(element) for element in universe.elements)
        if sum(counts) != multiset.size:
            raise InvalidValue(
                "The multiset contains elements outside the universe. Add them to the universe."
            )
        return cls(universe, counts)

    @property
    def multiset(self) -> Multiset[Element]:
        """This database as a multiset."""
        pairs = zip(self.universe.elements, self.counts, strict=True)
        return Multiset(frozenset(pair for pair in pairs if pair[1]))

    @property
    def size(self) -> int:
        """The number of elements of the database, which is the L1 norm."""
        return sum(self.counts)
