"""A database as a vector: how often each element of the universe occurs."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from tacit.core.multiset import Multiset
from tacit.errors import InvalidValue

Element = TypeVar("Element", bound=Hashable)


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
