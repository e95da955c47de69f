"""A database as the theory sees it: a multiset of elements of a universe."""

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


# ------------------------------------------------------------------ distance
# How far two databases lie apart: the three distances that neighbours are defined by.


def symmetric_distance(left: Multiset[Element], right: Multiset[Element]) -> int:
    """How many elements are added and removed on the way: the L1 distance of the histograms.

    Example:
        >>> symmetric_distance(Multiset.of("aab"), Multiset.of("abc"))
        2
    """
    return left.minus(right).size + right.minus(left).size


def replace_distance(left: Multiset[Element], right: Multiset[Element]) -> int | None:
    """How many elements are replaced on the way.

    None where the sizes differ and no replacing leads there.

    Example:
        >>> replace_distance(Multiset.of("aab"), Multiset.of("abc"))
        1
    """
    return left.minus(right).size if left.size == right.size else None


def edit_distance(left: Multiset[Element], right: Multiset[Element]) -> int:
    """How many elements are added, removed or replaced on the way.

    Example:
        >>> edit_distance(Multiset.of("aab"), Multiset.of("abcc"))
        2
    """
    return max(left.minus(right).size, right.minus(left).size)


def are_neighbours(
    left: Multiset[Element], right: Multiset[Element], neighbours: Neighbours
) -> bool:
    """Whether one step of the relation leads from one database to the other, or none does.

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


# ------------------------------------------------------------------ histogram
# A database as a vector: how often each element of the universe occurs.


@dataclass(frozen=True, slots=True)
class Universe(Generic[Element]):
    """All elements that a database could hold, in a public order."""

    elements: tuple[Element, ...]

    def __post_init__(self) -> None:
        if len(set(self.elements)) != len(self.elements):
            raise InvalidValue("The elements of a universe are distinct.")


@dataclass(frozen=True, slots=True)
class Histogram(Generic[Element]):
    """``counts[i]`` is the multiplicity of the i-th element of the universe.

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
                "A histogram has one count of at least 0 for each element of its universe."
            )

    @classmethod
    def of(cls, multiset: Multiset[Element], universe: Universe[Element]) -> Self:
        """The histogram of ``multiset``, whose elements all belong to ``universe``."""
        counts = tuple(multiset.count(element) for element in universe.elements)
        if sum(counts) != multiset.size:
            raise InvalidValue("The multiset holds elements outside the universe.")
        return cls(universe, counts)

    @property
    def multiset(self) -> Multiset[Element]:
        """The same database, as a multiset."""
        pairs = zip(self.universe.elements, self.counts, strict=True)
        return Multiset(frozenset(pair for pair in pairs if pair[1]))

    @property
    def size(self) -> int:
        """The L1 norm: how many elements the database holds."""
        return sum(self.counts)
